"""The refusals of a cluster as errors of ours: one sentence and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codenav.core.errors import IndexUnavailable, StorageFull
from codenav.core.system.terminal_text import flattened, neutral

if TYPE_CHECKING:
    from elastic_transport import ObjectApiResponse
    from elasticsearch import ApiError, TransportError

PRODUCT = "x-elastic-product"
"""The header of every answer of an Elasticsearch but 401 and 403."""
CLOSED = "index_closed_exception"
"""The type of the error where an index is closed."""
_REASON = 240
"""Maximum characters of a server's own words that are shown."""


class Refused(IndexUnavailable):
    """The cluster did not do what it was asked for."""

    def __init__(
        self, message: str, *, hint: str | None = None, status: int = 0, kind: str = "", passes: bool = False
    ) -> None:
        super().__init__(message, hint=hint)
        self.status, self.kind = status, kind
        """Status and type of the server's error; 0 and empty where no answer came."""
        self.passes = passes
        """True if the same request may succeed a little later: overload, a node that is gone, an election."""


def read_error(body: Any) -> tuple[str, str]:
    """The type and reason of the error in an answer; both empty where there is none.

    The deepest cause is the one that says something: `search_phase_execution_exception` never does.
    """
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, str):
        return "", error
    causes = [part(error)]
    failed = causes[0].get("failed_shards")
    if isinstance(failed, list) and failed:
        causes.append(part(failed[0], "reason"))
    while deeper := part(causes[-1], "caused_by"):
        causes.append(deeper)
    reasons = [str(cause["reason"]) for cause in causes if cause.get("reason")]
    return str(causes[0].get("type", "")), ": ".join(dict.fromkeys(reasons))


def is_elasticsearch(answer: ApiError | ObjectApiResponse[Any]) -> bool:
    """True if an Elasticsearch answered; a 401 or 403, which bear no mark, is known by the form of its error."""
    marked = answer.meta.headers.get(PRODUCT) == "Elasticsearch"
    return marked or (answer.meta.status in (401, 403) and bool(read_error(answer.body)[0]))


def foreign(status: int, *, where: str) -> Refused:
    """The error for an answer of something other than an Elasticsearch, or in front of it."""
    if status == 413:
        return _too_large(where)
    if status in (429, 502, 503, 504):
        message = f"a proxy answers at {where} in the place of Elasticsearch: status {status}"
        return Refused(message, status=status, passes=True)
    return Refused(
        f"what answers at {where} is no Elasticsearch (status {status}, without its mark)",
        hint="check the URL; OpenSearch is not supported",
    )


def refused(status: int, body: Any, *, where: str, user: str) -> Refused | StorageFull:
    """The error for an answer of an Elasticsearch, or for a document of a bulk request, that is none of 2xx."""
    kind, reason = read_error(body)
    said = _short(reason).rstrip(";") or f"status {status}"
    message, hint = f"Elasticsearch at {where} refused: {said}", "codenav doctor"
    match status, kind:
        case 401, _:
            who = f"the password of {user}" if user else "the API key, or asks for a user and a password"
            message = f"Elasticsearch at {where} does not accept {who}"
            hint = "set CODENAV_ELASTICSEARCH_USER and CODENAV_ELASTICSEARCH_PASSWORD, or CODENAV_ELASTICSEARCH_API_KEY"
        case 429, "cluster_block_exception":
            return StorageFull(
                f"the disk of the Elasticsearch at {where} is nearly full, and it lets nobody write: {said}",
                hint="free space on its nodes (see cluster.routing.allocation.disk.watermark.flood_stage)",
            )
        case 403, "cluster_block_exception" | "index_create_block_exception":
            return StorageFull(
                f"the cluster at {where} is read-only for this index: {said}",
                hint="clear the block (index.blocks.*, cluster.blocks.*) and try again",
            )
        case 403, _:
            message = f"Elasticsearch at {where} does not let {user or 'this API key'} do that: {said}"
            hint = "the role needs `monitor` on the cluster and `all` on the indexes codenav-*"
            hint += ", to search `read` and `view_index_metadata` on them"
        case 429, _:
            message, hint = f"Elasticsearch at {where} is overloaded: {said}", "try again later, or give it more memory"
        case 503, "master_not_discovered_exception" | "cluster_block_exception":
            message = f"the cluster at {where} has no master: {said}"
        case 503, _:
            message = f"the cluster at {where} is red: a shard of this index has no copy that answers ({said})"
            hint = "bring the missing node back, or remove the index: codenav sources remove SOURCE"
        case 413, _:
            return _too_large(where)
        case 400, kind if kind == CLOSED:
            index = neutral(str(part(body, "error").get("index", "")))
            message = f"the index {index} at {where} is closed"
            hint = f"open it: curl -X POST '{where.partition(' and ')[0]}/{index}/_open'"
    return Refused(message, hint=hint, status=status, kind=kind, passes=status in (429, 502, 503, 504))


def _too_large(where: str) -> Refused:
    return Refused(
        f"what answers at {where} takes no request of this size",
        hint="raise http.max_content_length of Elasticsearch, or the limit of the proxy in front of it",
        status=413,
    )


def unreachable(error: TransportError, *, where: str, seconds: float, ca_file: str) -> Refused:
    """The error for a connection that did not come about or broke, or for an answer that cannot be read."""
    from elasticsearch import ConnectionTimeout, SerializationError, SSLError

    said, hint = error.message, "codenav doctor; is the server running, and is the URL right?"
    message = f"the connection to {where} broke"
    if isinstance(error, ConnectionTimeout):
        message, hint = f"{where} did not answer within {seconds:g} s", "is the server overloaded or hanging?"
    elif isinstance(error, SerializationError):
        if "mimetype" in said:
            return foreign(200, where=where)
        message = f"an answer of Elasticsearch at {where} cannot be read: it is no complete JSON"
    elif isinstance(error, SSLError) and "CERTIFICATE_VERIFY_FAILED" in said:
        by = f"by the authority in {ca_file}" if ca_file else "by an authority that this machine knows"
        message = f"the certificate of {where} is not signed {by}: {_reason_of(said)}"
        hint = "pass the authority's certificate: --set elasticsearch.ca_file=FILE"
    elif isinstance(error, SSLError):
        message, hint = f"{where} does not speak TLS", "write http:// if the server is meant to be unprotected"
    elif any(part in said for part in ("Name or service", "resolve", "getaddrinfo", "nodename")):
        message, hint = f"there is no host of the name in {where}", "check --set elasticsearch.url for a typo"
    elif "refused" in said:
        message = f"nothing listens at {where}"
    elif where.startswith("http://"):
        hint = "is it running? A server that speaks TLS wants https://"
    return Refused(message, hint=hint, passes=True)


def _reason_of(text: str) -> str:
    return _short(text.partition("CERTIFICATE_VERIFY_FAILED]")[2].partition("(_ssl")[0].strip() or "not trusted")


def _short(text: str) -> str:
    return flattened(neutral(text), _REASON)


def part(value: Any, *keys: str) -> dict[str, Any]:
    """The object along these keys of an answer; empty where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
