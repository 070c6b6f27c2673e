"""The way to a cluster: its nodes, who we are there, what is tried again, and whether it is an Elasticsearch at all."""

from __future__ import annotations

import base64
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import quote, unquote, urlencode, urlsplit

from codenav.config import StoreOptions
from codenav.errors import IndexUnavailable, NotFound, UsageError
from codenav.retrieval.elastic import codec, faults
from codenav.text import neutral, shown_url

MAJORS = (8, 9)
"""Versions of the server that are known to work."""
REQUEST_SECONDS = 30.0
"""Of one request that reads."""
WRITE_SECONDS = 300.0
"""Of one request that writes, merges or copies."""
READ_PATIENCE = 15.0
"""Seconds in which a read is tried again where the cluster has several nodes: one that was killed is found out, and
a copy on another one takes over. With one node nothing is gained by waiting."""
LEAST_PATIENCE = 1.0
"""Seconds in which a server that answers is asked again: for a moment after an index was removed its shards fail."""
BUILD_PATIENCE = 60.0
"""Seconds in which a step of a build is tried again: a node that restarts is back in 10 to 25 s."""
_LONGEST_PAUSE = 2.0
_MEDIA = "application/vnd.elasticsearch+json"
_HEADERS = {"accept": f"{_MEDIA}; compatible-with=8", "content-type": f"{_MEDIA}; compatible-with=8"}
"""A server of version 9 then speaks as 8 does."""
_PORTS = "write the port: 9200 as a rule, 443 for many hosted ones"
_AS_IN = "as in --elasticsearch-url http://localhost:9200"


@dataclass(frozen=True)
class Answer:
    """What a server said."""

    status: int
    body: bytes

    @property
    def ok(self) -> bool:
        """Whether it did what was asked."""
        return 200 <= self.status < 300

    def json(self) -> dict[str, Any]:
        """The object in the body; empty where there is none.

        Raises:
            IndexUnavailable: it is cut, or no JSON.
        """
        try:
            return faults.mapping(codec.loads(self.body)) if self.body else {}
        except ValueError as error:
            raise IndexUnavailable("an answer of Elasticsearch cannot be read: it is no complete JSON") from error


@dataclass(frozen=True)
class Node:
    """One URL."""

    scheme: str
    host: str
    port: int
    prefix: str
    user: str
    password: str


class Connection:
    """The nodes of one cluster; safe to use from several threads. Nothing is sent before the first call."""

    def __init__(self, options: StoreOptions, *, patience: float = BUILD_PATIENCE) -> None:
        """`patience`: seconds in which a step of a build is tried again.

        Raises:
            UsageError: a URL or a file that cannot be right, or two ways to say who we are.
        """
        urls = [url.strip() for url in options.elasticsearch_url.split(",") if url.strip()]
        if not urls:
            raise UsageError(
                "no Elasticsearch is configured",
                hint="pass --elasticsearch-url URL, or start one: codenav elasticsearch up",
            )
        self.nodes = list(dict.fromkeys(map(node_of, urls)))
        self.where = " and ".join(shown_url(url) for url in dict.fromkeys(urls))
        self.patience = patience
        self.user, authorization = _identity(options, self.nodes)
        self._ca_file = options.elasticsearch_ca_file
        self._headers = {**_HEADERS, **authorization}
        context = _tls(self._ca_file)
        self._transport = _transport(self.nodes, context)
        self._lock = threading.Lock()
        self._checked = False

    def __repr__(self) -> str:
        return f"Connection({self.where!r})"

    def read(self, method: str, path: str, body: Any = None, *, accept: tuple[int, ...] = (), **params: Any) -> Answer:
        """A request that changes nothing. Raises as `write`."""
        patience = READ_PATIENCE if len(self.nodes) > 1 else 0.0
        return self._call(method, path, body, params, accept, REQUEST_SECONDS, patience)

    def write(self, method: str, path: str, body: Any = None, *, accept: tuple[int, ...] = (), **params: Any) -> Answer:
        """A request of a build. It may be sent again, so the second time must do no harm.

        `body` is an object, or bytes as they are; statuses in `accept` are answers, all others outside of 2xx errors.

        Raises:
            Unreachable, Refused: as IndexUnavailable, after `patience` where it may pass.
            StorageFull: a disk of the cluster is full.
        """
        return self._call(method, path, body, params, accept, WRITE_SECONDS, self.patience)

    def refuse(self, answer: Answer) -> NoReturn:
        """Raise the error for an answer that was accepted and is none after all."""
        raise faults.refused(answer.status, answer.body, where=self.where, user=self.user)

    def check(self) -> None:
        """Find out once whether this is an Elasticsearch that we know.

        Raises:
            IndexUnavailable: it is not, or it refuses us.
        """
        with self._lock:
            if self._checked:
                return
            answer = self.read("GET", "/_nodes/_local", filter_path="nodes.*.version", accept=(403,))
            nodes = faults.mapping(answer.json().get("nodes")) if answer.ok else {}
            for node in nodes.values():
                self._known(str(faults.mapping(node).get("version", "")))
            self._checked = True

    def close(self) -> None:
        """Release connections; safe to call twice."""
        self._transport.close()

    def _known(self, version: str) -> None:
        major = int(version.partition(".")[0]) if version.partition(".")[0].isdigit() else 0
        if major not in MAJORS:
            age = "newer than what is known" if major > MAJORS[-1] else "too old"
            raise IndexUnavailable(
                f"Elasticsearch {neutral(version)} at {self.where} is {age}: {' or '.join(map(str, MAJORS))} is needed",
                hint="codenav elasticsearch up starts one",
            )

    def _call(
        self,
        method: str,
        path: str,
        body: Any,
        params: Mapping[str, Any],
        accept: tuple[int, ...],
        seconds: float,
        patience: float,
    ) -> Answer:
        target = f"{path}?{urlencode({key: _param(value) for key, value in params.items()})}" if params else path
        data = body if body is None or isinstance(body, bytes) else codec.dumps(body)
        begun, pause = time.monotonic(), 0.02
        # One more than there are nodes: a connection that was kept open may be stale.
        at_once = len(self.nodes) + 1
        while True:
            answer, fault, lost = self._once(method, target, data, accept, seconds)
            if answer is not None:
                return answer
            at_once -= 1
            if lost and at_once > 0:
                continue
            if time.monotonic() + pause > begun + (patience if lost else max(patience, LEAST_PATIENCE)):
                raise fault
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _once(
        self, method: str, target: str, data: bytes | None, accept: tuple[int, ...], seconds: float
    ) -> tuple[Answer | None, Exception, bool]:
        """The answer, or what to raise when patience ends, and whether another node may answer at once."""
        from elastic_transport import ConnectionTimeout, TransportError

        try:
            meta, raw = self._transport.perform_request(
                method, target, headers=self._headers, body=data, request_timeout=seconds
            )
        except TransportError as error:
            fault = faults.unreachable(error, where=self.where, seconds=seconds, ca_file=self._ca_file)
            timed_out = isinstance(error, ConnectionTimeout)
            if timed_out and len(self.nodes) == 1:
                raise fault from error
            return None, fault, True
        status, content = meta.status, raw or b""
        if not faults.is_elasticsearch(status, meta.headers, content):
            fault_seen = faults.foreign(status, where=self.where)
            if faults.transient(status, ""):
                return None, fault_seen, False
            raise fault_seen
        answer = Answer(status, content)
        if answer.ok or status in accept:
            return answer, IndexUnavailable(""), False
        refusal = faults.refused(status, content, where=self.where, user=self.user)
        if not faults.transient(status, faults.read_error(content)[0]):
            raise refusal
        return None, refusal, False


def node_of(url: str) -> Node:
    """A URL taken apart.

    Raises:
        UsageError: it is no base URL.
    """
    shown = neutral(url.rpartition("@")[2])
    try:
        shown = neutral(shown_url(url)) if "://" in url else shown
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"{shown} is no URL: {error}", hint=_AS_IN) from None
    if parts.scheme not in ("http", "https"):
        raise UsageError(f"{shown} is no URL of an Elasticsearch: it must begin with http:// or https://", hint=_AS_IN)
    if not parts.hostname or parts.query or parts.fragment or any(char.isspace() for char in url):
        raise UsageError(f"{shown} is no base URL of an Elasticsearch", hint=_AS_IN)
    if port is None:
        raise UsageError(f"{shown} names no port", hint=_PORTS)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return Node(parts.scheme, parts.hostname, port, parts.path.rstrip("/"), user, password)


def quoted(name: str) -> str:
    """A name as a part of a path."""
    return quote(name, safe="")


def _param(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _identity(options: StoreOptions, nodes: list[Node]) -> tuple[str, dict[str, str]]:
    """Who we are, in words and as a header."""
    user, password = options.elasticsearch_user, options.elasticsearch_password
    if not user:
        user, password = next(((node.user, node.password) for node in nodes if node.user), ("", password))
    if options.elasticsearch_api_key:
        if user:
            raise UsageError("an API key and a user were given for Elasticsearch", hint="give one of them")
        return "", {"authorization": f"ApiKey {_header(options.elasticsearch_api_key)}"}
    if password and not user:
        raise UsageError("a password was given for Elasticsearch, but no user", hint="--elasticsearch-user NAME")
    if not user:
        return "", {}
    pair = base64.b64encode(f"{user}:{password}".encode()).decode()
    return neutral(user), {"authorization": f"Basic {pair}"}


def _header(value: str) -> str:
    if not value.isascii() or not value.isprintable() or " " in value:
        raise UsageError("the API key for Elasticsearch is not in its encoded form", hint="id:key in base64")
    return value


def _tls(ca_file: str) -> ssl.SSLContext:
    """With the authority of the file, or those of the system."""
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except FileNotFoundError:
        raise NotFound(
            f"no such file: {ca_file}", hint="--elasticsearch-ca-file FILE takes a certificate in PEM"
        ) from None
    except OSError as error:
        # An SSLError is one too.
        raise UsageError(
            f"{ca_file} holds no certificate that can be read: {error.strerror or error}", hint="it must be in PEM"
        ) from error


def _transport(nodes: list[Node], context: ssl.SSLContext) -> Any:
    from elastic_transport import JsonSerializer, NodeConfig, Transport

    class Raw(JsonSerializer):
        """Bytes in, bytes out."""

        mimetype = _MEDIA

        def dumps(self, data: Any) -> bytes:
            return bytes(data)

        def loads(self, data: bytes) -> Any:
            return data

    configs = [
        NodeConfig(
            node.scheme,
            node.host,
            node.port,
            path_prefix=node.prefix,
            ssl_context=context if node.scheme == "https" else None,
        )
        for node in nodes
    ]
    raw = Raw()
    kinds = (_MEDIA, "application/json", "text/plain", "text/html")
    return Transport(
        configs, max_retries=0, serializers=dict.fromkeys(kinds, raw), meta_header=False, max_dead_node_backoff=5.0
    )
