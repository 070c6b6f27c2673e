"""What a cluster refuses, as errors of ours: one sentence and what to do about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from codenav.errors import IndexUnavailable, StorageFull
from codenav.text import neutral

PRODUCT = "x-elastic-product"
"""Header of every answer of an Elasticsearch but 401 and 403."""
_REASON = 240
"""Characters of a server's own words that are shown."""


class Refused(IndexUnavailable):
    """The server answered with an error; what it says of itself is in `status`, `type` and `reason`."""

    def __init__(self, message: str, *, hint: str | None, status: int, type: str, reason: str) -> None:
        super().__init__(message, hint=hint)
        self.status, self.type, self.reason = status, type, reason


class Unreachable(IndexUnavailable):
    """No answer came: nothing listens, the connection broke or the time was up."""

    hint = "codenav doctor; is the server running, and is the URL right?"


def read_error(body: bytes) -> tuple[str, str]:
    """Type and reason of an Elasticsearch error; both empty where it is none.

    The deepest cause is the one that says something: `search_phase_execution_exception` never does.
    """
    try:
        error = json.loads(body)["error"]
    except (ValueError, KeyError, TypeError):
        return "", ""
    if isinstance(error, str):
        return "", error
    if not isinstance(error, Mapping):
        return "", ""
    causes: list[Any] = [error]
    failed = error.get("failed_shards")
    if isinstance(failed, list) and failed and isinstance(failed[0], Mapping):
        causes.append(failed[0].get("reason"))
    while isinstance(causes[-1], Mapping) and isinstance(causes[-1].get("caused_by"), Mapping):
        causes.append(causes[-1]["caused_by"])
    reasons = [str(cause["reason"]) for cause in causes if isinstance(cause, Mapping) and cause.get("reason")]
    return str(error.get("type", "")), ": ".join(dict.fromkeys(reasons))


def is_elasticsearch(status: int, headers: Mapping[str, str], body: bytes) -> bool:
    """Whether an Elasticsearch answered; of a 401 or 403, which bear no mark, by the form of the error."""
    return headers.get(PRODUCT) == "Elasticsearch" or (status in (401, 403) and bool(read_error(body)[0]))


def refused(status: int, body: bytes, *, where: str, user: str) -> IndexUnavailable | StorageFull:
    """The error for an answer of an Elasticsearch that is none of 2xx."""
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
        case 429, _:
            message, hint = f"Elasticsearch at {where} is overloaded: {said}", "try again later, or give it more memory"
        case 503, "master_not_discovered_exception" | "cluster_block_exception":
            message = f"the cluster at {where} has no master: {said}"
        case 503, _:
            message = f"the cluster at {where} is red: a shard of this index has no copy that answers ({said})"
            hint = "bring the missing node back, or remove the index: codenav sources remove SOURCE"
        case 413, _:
            message = f"Elasticsearch at {where} takes no request of this size"
            hint = "raise http.max_content_length of the server"
    return Refused(message, hint=hint, status=status, type=kind, reason=reason)


def foreign(status: int, *, where: str) -> IndexUnavailable:
    """The error where something else than an Elasticsearch answers, or something stands in front of it."""
    if status in (502, 503, 504):
        return IndexUnavailable(f"a proxy answers at {where} in the place of Elasticsearch: status {status}")
    return IndexUnavailable(
        f"what answers at {where} is no Elasticsearch (status {status}, without its mark)",
        hint="check the URL; OpenSearch is not supported",
    )


def unreachable(error: BaseException, *, where: str, seconds: float, ca_file: str) -> IndexUnavailable:
    """The error for a connection that did not come about or broke."""
    said, name = str(getattr(error, "message", error)), type(error).__name__
    if name == "ConnectionTimeout":
        return Unreachable(f"{where} did not answer within {seconds:g} s", hint="is the server overloaded or hanging?")
    if name == "SerializationError":
        return foreign(200, where=where)
    if name == "TlsError":
        if "CERTIFICATE_VERIFY_FAILED" in said:
            by = f"by the authority in {ca_file}" if ca_file else "by an authority that this machine knows"
            return Unreachable(
                f"the certificate of {where} is not signed {by}: {_reason_of(said)}",
                hint="pass the authority's certificate: --elasticsearch-ca-file FILE",
            )
        return Unreachable(f"{where} does not speak TLS", hint="write http:// if the server is meant to be unprotected")
    if any(part in said for part in ("Name or service", "resolve", "getaddrinfo", "nodename")):
        return Unreachable(f"there is no host of the name in {where}", hint="check --elasticsearch-url for a typo")
    if "refused" in said:
        return Unreachable(f"nothing listens at {where}")
    if where.startswith("http://"):
        hint = "is it running? A server that speaks TLS wants https://"
        return Unreachable(f"the connection to {where} broke", hint=hint)
    return Unreachable(f"the connection to {where} broke")


def transient(status: int, kind: str) -> bool:
    """Whether the same request may succeed a little later: overload, a node that is gone, an election."""
    if status == 429:
        return kind != "cluster_block_exception"
    return status in (502, 503, 504)


def _reason_of(text: str) -> str:
    return _short(text.partition("CERTIFICATE_VERIFY_FAILED]")[2].partition("(_ssl")[0].strip() or "not trusted")


def _short(text: str) -> str:
    line = neutral(" ".join(text.split()))
    return line if len(line) <= _REASON else line[: _REASON - 1] + "…"


def mapping(value: Any) -> dict[str, Any]:
    """A part of an answer that must be an object; empty where it is none."""
    return value if isinstance(value, dict) else {}
