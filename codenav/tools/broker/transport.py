"""HTTP of the broker: bounded answers, bounded time, no write sent twice, no way to another server."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx2

from codenav import __version__
from codenav.core.errors import CodeNavError, UsageError
from codenav.core.options import ToolOptions
from codenav.core.system.connection_faults import causes, reason_of
from codenav.core.system.repeats import BUSY, asked_seconds
from codenav.core.system.terminal_text import flattened, neutral, shown_url
from codenav.tools.addresses import at_address, origin, public_address
from codenav.tools.broker.flights import Failed, Flight, OutOfTime, Refused
from codenav.tools.broker.request import Request

ANSWER_BYTES = 8 << 20
"""Most bytes of an answer's body, unpacked."""
CONNECT_SECONDS = 10.0
MOST_REDIRECTS = 5
SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
_LOOPBACK = ("all://localhost", "all://127.0.0.1", "all://[::1]")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request, whole."""

    status: int
    headers: Mapping[str, str]
    """By names in lower case."""
    body: bytes
    url: str
    tries: int = 1


class Http:
    """Connections to the servers of tools. Thread-safe; nothing is opened before the first request."""

    def __init__(self, *, call_seconds: float = ToolOptions.tool_timeout, answer_bytes: int = ANSWER_BYTES) -> None:
        self.call_seconds, self._most = call_seconds, answer_bytes
        self._clients: dict[tuple[bool, str], httpx2.Client] = {}
        self._lock = threading.Lock()

    def send(
        self, request: Request, flight: Flight, *, idempotent: bool, servers: Collection[str] | None, public: bool
    ) -> Answer:
        """Send a request, and again where that is safe and may help.

        `servers`: redirects within these are followed; with None a redirect is an answer. `public`: the host must not
        be in a private network.

        Raises:
            Failed: no answer came within the time and bounds; the message says why.
            Refused: the host is in a private network.
        """
        address = flight.run(lambda: _public_address(request.url)) if public else None
        idempotent = idempotent or request.method in SAFE
        allowed = {origin(server) for server in servers or ()}
        tries, redirects = 0, 0
        while True:
            tries += 1
            sent = threading.Event()
            try:
                answer = self._once(request, flight, sent, reuse=idempotent, address=address)
            except _Lost as lost:
                repeated = lost.again and (idempotent or not sent.is_set())
                if not (repeated and flight.rest(tries)):
                    raise Failed(f"{lost}{_doubt(sent, idempotent)}", tries=tries) from None
            except OutOfTime:
                where = shown_url(_without_query(request.url))
                told = f"no whole answer from {where} within the time of the call{_doubt(sent, idempotent)}"
                raise Failed(told, tries=tries) from None
            else:
                target = _redirect(request, answer) if servers is not None else None
                if target is not None:
                    redirects += 1
                    request = _followed(request, answer, target, allowed, redirects, tries)
                    continue
                asked = asked_seconds(answer.headers.get("retry-after", ""))
                if not (idempotent and answer.status in BUSY and flight.rest(tries, asked)):
                    return replace(answer, tries=tries)

    def close(self) -> None:
        """Close all connections. Safe to call twice."""
        with self._lock:
            clients, self._clients = self._clients, {}
        for client in clients.values():
            client.close()

    def _client(self, reuse: bool, host: str) -> httpx2.Client:
        """Return the client for requests that may be repeated, or the one with a fresh connection for each request.

        A connection that the server closes at the same moment loses a request, which then cannot be sent again.
        """
        with self._lock:
            if (reuse, host) not in self._clients:
                limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20 if reuse else 0)
                self._clients[reuse, host] = httpx2.Client(
                    limits=limits,
                    # A proxy would connect to the name once more; authorities of the environment count anyway.
                    trust_env=not host,
                    verify=httpx2.create_ssl_context(),
                    # Proxies of the environment are for other machines.
                    mounts=dict.fromkeys(_LOOPBACK, httpx2.HTTPTransport(limits=limits)),
                    headers={"User-Agent": f"codenav/{__version__}", "Accept-Encoding": "gzip"},
                )
            return self._clients[reuse, host]

    def _once(
        self, request: Request, flight: Flight, sent: threading.Event, *, reuse: bool, address: str | None
    ) -> Answer:
        """Send a request once. `sent` is set before its first byte leaves. Raises _Lost, OutOfTime, Failed.

        `address` is that of the host where it was looked at: a name can have another one a moment later.
        """
        # A connection to an address may be for one host only, which TLS has verified.
        client = self._client(reuse, _host(request) if address else "")
        url, named, extensions = request.url, [], {}
        if address:
            url, named = at_address(url, address), [(b"Host", _host(request).encode("idna"))]
            extensions["sni_hostname"] = urlsplit(request.url).hostname or ""

        def trace(event: str, details: Mapping[str, Any]) -> None:
            if event.endswith("send_request_headers.started"):
                if flight.stopped.is_set():
                    raise httpx2.ConnectError("the call is over")
                sent.set()

        def work() -> Answer:
            seconds = max(flight.left, 0.01)
            made = client.build_request(
                request.method,
                url,
                headers=named + [(name.encode("ascii"), value.encode("latin-1")) for name, value in request.headers],
                content=request.body,
                timeout=httpx2.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds)),
                extensions={"trace": trace, **extensions},
            )
            response = client.send(made, stream=True, follow_redirects=False)
            try:
                headers = {name.lower(): value for name, value in response.headers.items()}
                body = b"".join(self._pieces(response, flight))
            except httpx2.DecodingError:
                raise Failed("the answer says that it is packed, and is not", status=response.status_code) from None
            finally:
                response.close()
            return Answer(response.status_code, headers, body, request.url)

        try:
            return flight.run(work)
        except (Failed, OutOfTime, _Lost):
            raise
        except httpx2.TimeoutException as error:
            if isinstance(error, httpx2.ConnectTimeout):
                raise _Lost(f"no connection to {_host(request)} within {CONNECT_SECONDS:g} s") from None
            raise OutOfTime from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            connecting = isinstance(error, httpx2.ConnectError | httpx2.ProxyError)
            what = f"cannot reach {_host(request)}" if connecting else f"the connection to {_host(request)} broke off"
            again = isinstance(error, httpx2.TransportError) and not _is_final(error)
            why = reason_of(error) or flattened(str(error) or type(error).__name__, 200)
            raise _Lost(f"{what}: {why}", again=again) from None

    def _pieces(self, response: httpx2.Response, flight: Flight) -> Iterator[bytes]:
        """Yield the body, unpacked. An answer that is too large is not read to its end."""
        packed = response.headers.get("content-encoding", "").strip().lower()
        if packed not in ("", "identity", "gzip", "x-gzip", "deflate"):
            # Other packings grow without bound in one piece.
            raise Failed(f"the answer is packed as {packed[:30]}, which nobody asked for", status=response.status_code)
        size = 0
        for piece in response.iter_bytes():
            if flight.stopped.is_set():
                return
            size += len(piece)
            if size > self._most:
                raise Failed(
                    f"the answer (status {response.status_code}) has over {self._most / (1 << 20):g} MiB and was"
                    " cut off; ask for less, by a limit, a page or fields",
                    status=response.status_code,
                )
            yield piece


class _Lost(Exception):
    """A request without an answer. `again`: the next one may get one."""

    def __init__(self, message: str, *, again: bool = True) -> None:
        super().__init__(flattened(neutral(message), 300))
        self.again = again


def _doubt(sent: threading.Event, idempotent: bool) -> str:
    """Return what is to be said of a request that was sent, may have had an effect, and got no answer."""
    return "" if idempotent or not sent.is_set() else "; the request was sent, and may have been carried out"


def _redirect(request: Request, answer: Answer) -> str | None:
    if answer.status not in (301, 302, 303, 307, 308) or "location" not in answer.headers:
        return None
    return urljoin(request.url, answer.headers["location"])


def _followed(
    request: Request, answer: Answer, target: str, allowed: Collection[Any], redirects: int, tries: int
) -> Request:
    """Return the request that a redirect asks for. Raises Failed where it is not followed."""
    try:
        inside = origin(target) in allowed
    except UsageError:
        inside = False
    status = answer.status
    if not inside:
        where = shown_url(_without_query(target))
        raise Failed(
            f"the answer sends on to {where[:200]}, which is no server of this source: not followed; "
            "--server names another server",
            status=status,
            tries=tries,
        )
    if redirects > MOST_REDIRECTS:
        raise Failed(f"over {MOST_REDIRECTS} redirects in a row", status=status, tries=tries)
    target = target.partition("#")[0]
    if request.method in SAFE or status in (307, 308):
        return Request(request.method, target, request.headers, request.body)
    headers = [pair for pair in request.headers if pair[0].lower() != "content-type"]
    return Request("GET", target, headers, None)


def _public_address(url: str) -> str | None:
    try:
        return public_address(url)
    except UsageError as error:
        raise Refused(
            f"{error}; --set allow_private=yes lets a specification name such a server, --server names one"
        ) from None
    except CodeNavError as error:
        raise Failed(f"{error}") from None


def _host(request: Request) -> str:
    return urlsplit(request.url).netloc.rpartition("@")[2]


def _without_query(url: str) -> str:
    return url.partition("?")[0].partition("#")[0]


def _is_final(error: BaseException) -> bool:
    """True for what no second try changes: certificates, TLS, names that do not exist."""
    return any(
        isinstance(item, ssl.SSLError) or (isinstance(item, socket.gaierror) and item.errno != socket.EAI_AGAIN)
        for item in causes(error)
    )
