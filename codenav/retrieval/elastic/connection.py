"""The connection to a cluster: its nodes, our identity there, what is tried again, and if it is an Elasticsearch."""

from __future__ import annotations

import ssl
import threading
import time
import warnings
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit

from codenav.core.config import StoreOptions
from codenav.core.errors import IndexUnavailable, NotFound, StorageFull, UsageError
from codenav.core.system.terminal_text import neutral, shown_url
from codenav.retrieval import documents
from codenav.retrieval.elastic import faults
from codenav.retrieval.elastic.faults import Refused, part

if TYPE_CHECKING:
    from elastic_transport import ObjectApiResponse
    from elasticsearch import Elasticsearch

MAJORS = (8, 9)
"""Major versions of the server that are known to work. The client of version 8 speaks to both."""
REQUEST_SECONDS = 30.0
"""Timeout of one request that reads."""
WRITE_SECONDS = 300.0
"""Timeout of one request that writes, merges or copies."""
READ_PATIENCE = 15.0
"""Seconds in which a read is tried again where the cluster has several nodes: one that was killed is found out, and
a copy on another one takes over. With one node nothing is gained by waiting."""
LEAST_PATIENCE = 1.0
"""Seconds in which a server that answers is asked again: for a moment after an index was removed its shards fail."""
BUILD_PATIENCE = 60.0
"""Seconds in which a step of a build is tried again: a node that restarts is back in 10 to 25 s."""
TOLD_AFTER, TOLD_AGAIN = 2.0, 30.0
"""Seconds for which something is tried again before a notice, and least seconds between two notices."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 2.0
"""Seconds between two tries; each pause is twice as long as the one before."""
_PORTS = "write the port: 9200 as a rule, 443 for many hosted ones"
_AS_IN = "as in --set elasticsearch.url=http://localhost:9200"

Ask = Callable[["Elasticsearch"], "ObjectApiResponse[Any] | None"]
"""A function that sends one request, or several that may be sent again together."""


class Connection:
    """The nodes of one cluster; safe to use from several threads. Nothing is sent before the first call."""

    def __init__(
        self, options: StoreOptions, *, patience: float = BUILD_PATIENCE, notice: Callable[[str], None] | None = None
    ) -> None:
        """`patience`: seconds in which a step of a build is tried again; `notice` gets a line if that takes long.

        Raises:
            UsageError: a URL or a file that cannot be right, or two ways to say who we are.
        """
        urls = list(dict.fromkeys(url.strip() for url in options.elasticsearch_url.split(",") if url.strip()))
        if not urls:
            raise UsageError(
                "no Elasticsearch is configured",
                hint="pass --set elasticsearch.url=URL, or start one: codenav elasticsearch up",
            )
        nodes = [node_of(url) for url in urls]
        self.where = " and ".join(map(shown_url, urls))
        self.patience = patience
        self._notice, self._told = notice, -TOLD_AGAIN
        self.user, identity = _identity(options, nodes)
        self._ca_file = options.elasticsearch_ca_file
        self._several = len(nodes) > 1
        self._client = _client(nodes, _tls(nodes, self._ca_file), identity)
        self._reading = self._client.options(request_timeout=REQUEST_SECONDS)
        self._writing = self._client.options(request_timeout=WRITE_SECONDS)
        self._lock = threading.RLock()
        self._checked = False

    def __repr__(self) -> str:
        return f"Connection({self.where!r})"

    def read(self, ask: Ask, *, empty: Collection[int] = ()) -> dict[str, Any]:
        """Send a request that changes nothing, or little, and return its answer. As `write`, but for less time."""
        patience = READ_PATIENCE if self._several else 0.0
        return self._patiently(ask, self._reading, empty, REQUEST_SECONDS, patience)

    def write(self, ask: Ask, *, empty: Collection[int] = ()) -> dict[str, Any]:
        """Send a request of a build and return its answer. It may be sent again, so the second time must do no harm.

        An error with a status in `empty` is an answer without content.

        Raises:
            Refused: as IndexUnavailable, after `patience` where it may pass.
            StorageFull: a disk of the cluster is full, or we have no right to write.
        """
        try:
            return self._patiently(ask, self._writing, empty, WRITE_SECONDS, self.patience)
        except Refused as error:
            if error.status == 403:
                raise StorageFull(str(error), hint=error.hint) from error
            raise

    def check(self) -> None:
        """Check, once, that this is an Elasticsearch that we know.

        Raises:
            IndexUnavailable: it is not, or it refuses us.
        """
        with self._lock:
            if not self._checked:
                for version in self.versions():
                    self._known(version)
            self._checked = True

    def versions(self) -> list[str]:
        """The version of the node that answers; none where we may not ask. Raises as `read`."""
        # Not `info`: the minimal distribution has no root page, and rights on indexes alone do not open it either.
        answer = self.read(lambda es: es.nodes.info(node_id="_local", filter_path="nodes.*.version"), empty=(403,))
        return [str(part(node).get("version", "")) for node in part(answer, "nodes").values()]

    def close(self) -> None:
        """Release connections; safe to call twice."""
        self._client.close()

    def _known(self, version: str) -> None:
        major = int(version.partition(".")[0]) if version.partition(".")[0].isdigit() else 0
        if major not in MAJORS:
            age = "newer than what is known" if major > MAJORS[-1] else "too old"
            raise IndexUnavailable(
                f"Elasticsearch {neutral(version)} at {self.where} is {age}: {' or '.join(map(str, MAJORS))} is needed",
                hint="codenav elasticsearch up starts one",
            )

    def _patiently(
        self, ask: Ask, client: Elasticsearch, empty: Collection[int], seconds: float, patience: float
    ) -> dict[str, Any]:
        from elasticsearch import ApiError, ConnectionTimeout, TransportError

        fault: Refused | StorageFull
        begun, pause = time.monotonic(), _FIRST_PAUSE
        while True:
            try:
                answer = ask(client)
                if answer is None:
                    return {}
                # The client looks for the mark in its first answer alone.
                if not faults.is_elasticsearch(answer):
                    raise faults.foreign(answer.meta.status, where=self.where)
                return part(answer.body)
            except ApiError as error:
                fault = faults.foreign(error.status_code, where=self.where)
                if faults.is_elasticsearch(error):
                    if error.status_code in empty:
                        return {}
                    fault = faults.refused(error.status_code, error.body, where=self.where, user=self.user)
            except TransportError as error:
                fault = faults.unreachable(error, where=self.where, seconds=seconds, ca_file=self._ca_file)
                if isinstance(error, ConnectionTimeout) and not self._several:
                    raise fault from error
            except Refused as error:
                fault = error
            if not isinstance(fault, Refused) or not fault.passes:
                raise fault
            least = LEAST_PATIENCE if fault.status else 0.0
            if time.monotonic() + pause > begun + max(patience, least):
                raise fault
            self._tell(fault, waited=time.monotonic() + pause - begun, patience=max(patience, least))
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _tell(self, fault: Refused, *, waited: float, patience: float) -> None:
        now = time.monotonic()
        with self._lock:
            due = waited > TOLD_AFTER and now - self._told > TOLD_AGAIN
            self._told = now if due else self._told
        if due and self._notice:
            self._notice(f"{fault}; waiting for it, {patience:.0f} s at most")


def node_of(url: str) -> SplitResult:
    """The parts of a URL of a node.

    Raises:
        UsageError: it is no base URL.
    """
    shown = neutral(url.rpartition("@")[2])
    try:
        shown = neutral(shown_url(url)) if "://" in url else shown
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"{shown} is not a URL: {error}", hint=_AS_IN) from None
    if parts.scheme not in ("http", "https"):
        raise UsageError(
            f"{shown} is not the URL of an Elasticsearch server: it must begin with http:// or https://", hint=_AS_IN
        )
    if not parts.hostname or parts.query or parts.fragment or any(char.isspace() for char in url):
        raise UsageError(f"{shown} is not the base URL of an Elasticsearch server", hint=_AS_IN)
    if port is None:
        raise UsageError(f"{shown} names no port", hint=_PORTS)
    return parts


def _identity(options: StoreOptions, nodes: list[SplitResult]) -> tuple[str, dict[str, Any]]:
    """The user in words, and the identity as the client takes it."""
    user, password = options.elasticsearch_user, options.elasticsearch_password
    named = next((node for node in nodes if node.username), None)
    if not user and named:
        user, password = unquote(named.username or ""), unquote(named.password or "")
    if key := options.elasticsearch_api_key:
        if user:
            raise UsageError("an API key and a user were given for Elasticsearch", hint="give one of them")
        if not key.isascii() or not key.isprintable() or " " in key:
            raise UsageError("the API key for Elasticsearch is not in its encoded form", hint="id:key in base64")
        return "", {"api_key": key}
    if password and not user:
        raise UsageError("a password was given for Elasticsearch, but no user", hint="--set elasticsearch.user=NAME")
    return neutral(user), {"basic_auth": (user, password)} if user else {}


def _tls(nodes: list[SplitResult], ca_file: str) -> ssl.SSLContext | None:
    """The TLS context with the authority of the file or of the system, which takes 20 ms to read; None for http."""
    if not ca_file and all(node.scheme == "http" for node in nodes):
        return None
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except FileNotFoundError:
        raise NotFound(
            f"no such file: {ca_file}", hint="--set elasticsearch.ca_file=FILE takes a certificate in PEM"
        ) from None
    except OSError as error:
        # An SSLError is an OSError, too.
        raise UsageError(
            f"{ca_file} holds no certificate that can be read: {error.strerror or error}", hint="it must be in PEM"
        ) from error


def _client(nodes: list[SplitResult], context: ssl.SSLContext | None, identity: dict[str, Any]) -> Elasticsearch:
    from elastic_transport import NodeConfig
    from elasticsearch import Elasticsearch, ElasticsearchWarning, JsonSerializer

    class Json(JsonSerializer):
        """JSON by orjson where it can, else by the standard library."""

        def json_dumps(self, data: Any) -> bytes:
            return documents.dumps(data)

        def json_loads(self, data: bytes) -> Any:
            return documents.loads(data)

    # Warnings of the server about its own deprecations do not concern users of codenav.
    warnings.filterwarnings("ignore", category=ElasticsearchWarning, module=__package__)
    return Elasticsearch(
        [
            NodeConfig(
                node.scheme,
                node.hostname or "",
                node.port or 0,
                path_prefix=node.path.rstrip("/"),
                ssl_context=context if node.scheme == "https" else None,
            )
            for node in nodes
        ],
        serializers={"application/json": Json()},
        # One more than there are nodes: a connection that was kept open may be stale.
        max_retries=len(nodes),
        retry_on_timeout=len(nodes) > 1,
        retry_on_status=(),
        max_dead_node_backoff=5.0,
        meta_header=False,
        **identity,
    )
