"""Requests to a chat server: each gives a JSON body or a `Fault` within its time limit, whatever the server does."""

from __future__ import annotations

import ipaddress
import json
import queue
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from codenav.agents.models.faults import Fault, Kind, classify, classify_told, is_page
from codenav.agents.models.streams import Stream
from codenav.core.cancelling import current_scope
from codenav.core.errors import Cancelled
from codenav.core.messages import Hear
from codenav.core.system.connection_faults import causes, reason_of
from codenav.core.system.terminal_text import shown_url

if TYPE_CHECKING:
    from openai import OpenAI

CONNECT = 10.0
"""Seconds to open a connection; a server that is up accepts within milliseconds."""

LARGEST = 32 * 1024 * 1024
"""The most bytes of a response; an answer of 100,000 tokens has under 1 MB."""

Body = dict[str, Any]


BEYOND = ("grammar",)
"""Parameters that OpenAI's own servers do not have."""


class Transport:
    """A connection to one server. Usable from several threads."""

    def __init__(self, base_url: str, key: str, *, secret: bool) -> None:
        """`secret`: True if `key` is a real key, which no message may show."""
        self.url = shown_url(base_url)
        self.local = is_loopback(urlsplit(base_url).hostname or "")
        """True if the server is on this machine."""
        self._base_url, self._key, self._secret = base_url, key, secret
        self._client: OpenAI | None = None
        self._lock = threading.Lock()

    def chat(
        self, parameters: Mapping[str, Any], *, sent: Collection[str], seconds: float, into: Stream, hear: Hear
    ) -> Body | Fault:
        """The answer to a chat-completions request; `sent` names its optional parameters.

        The data is read `into` a stream as it arrives, and stays there whatever happens; `hear` is called with the
        text.
        """

        def send(client: OpenAI, timeout: Any) -> Any:
            plain = {name: value for name, value in parameters.items() if name not in BEYOND}
            more = {name: parameters[name] for name in BEYOND if name in parameters}
            create = client.chat.completions.with_streaming_response.create
            return create(**plain, extra_body=more, timeout=timeout)

        fault = self._received(send, sent, seconds, into, hear)
        return self._masked(fault or self._answered(into, sent))

    def models(self, *, seconds: float) -> list[str] | Fault:
        """The names of the models that the server lists."""
        listed = self.listing(seconds=seconds)
        return listed if isinstance(listed, Fault) else [item["id"] for item in listed]

    def listing(self, *, seconds: float) -> list[dict[str, Any]] | Fault:
        """The models that the server lists, as it describes them; each has an `id`."""

        def send(client: OpenAI, timeout: Any) -> Any:
            return client.models.with_streaming_response.list(timeout=timeout)

        into = Stream()
        body = self._masked(self._received(send, (), seconds, into, lambda heard: None) or self._decoded(into))
        if isinstance(body, Fault):
            return body
        listed = body.get("data")
        if not isinstance(listed, list):
            return self._no_api("answers, but lists no models")
        return [item for item in listed if isinstance(item, dict) and isinstance(item.get("id"), str)]

    def close(self) -> None:
        """Release connections; safe to call twice. A later request opens a new one."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _connected(self) -> OpenAI:
        from openai import DefaultHttpxClient, OpenAI

        with self._lock:
            if self._client is None:
                # Proxies of the environment are for other machines.
                http = DefaultHttpxClient(trust_env=False) if self.local else None
                self._client = OpenAI(base_url=self._base_url, api_key=self._key, max_retries=0, http_client=http)
            return self._client

    def _received(
        self, send: Callable[[OpenAI, Any], Any], sent: Collection[str], seconds: float, into: Stream, hear: Hear
    ) -> Fault | None:
        """Send a request in a thread, and wait `seconds` for the whole response; None if it has arrived.

        The client's own timeout is per read: name resolution, or a server that sends a byte now and then, would
        outlast it. An abandoned thread ends at its next byte or its next timeout.
        """
        import openai

        # A response in pieces; None is its end.
        arrived: queue.SimpleQueue[bytes | BaseException | None] = queue.SimpleQueue()
        stop = threading.Event()
        client = self._connected()
        timeout = openai.Timeout(seconds, connect=min(CONNECT, seconds))
        deadline = time.monotonic() + seconds

        def work() -> None:
            try:
                with send(client, timeout) as response:
                    for chunk in response.iter_bytes():
                        if stop.is_set():
                            return
                        arrived.put(chunk)
                arrived.put(None)
            except BaseException as error:
                arrived.put(error)

        try:
            with current_scope().waking(lambda: arrived.put(Cancelled())):
                threading.Thread(target=work, name="codenav-model", daemon=True).start()
                return self._read(arrived, sent, seconds, deadline, into, hear)
        finally:
            stop.set()

    def _read(
        self,
        arrived: queue.SimpleQueue[bytes | BaseException | None],
        sent: Collection[str],
        seconds: float,
        deadline: float,
        into: Stream,
        hear: Hear,
    ) -> Fault | None:
        """Read a response as it arrives; None where it has come whole."""
        size = 0
        while not into.done:
            left = deadline - time.monotonic()
            if left <= 0 and size:
                return self._silent(seconds, into)
            try:
                chunk = arrived.get(timeout=max(0.0, left))
            except queue.Empty:
                return self._silent(seconds, into)
            if isinstance(chunk, Cancelled):
                raise chunk
            if isinstance(chunk, BaseException):
                return self._fault(chunk, sent, seconds, into)
            size += len(chunk or b"")
            if size > LARGEST:
                return Fault(Kind.FAILED, f"an answer of over {LARGEST // 2**20} MB")
            try:
                heard = into.feed(chunk)
            except (ValueError, RecursionError):
                return Fault(Kind.TRANSIENT, "an answer that is not JSON")
            if heard.text or heard.reasoning:
                hear(heard)
        return None

    def _silent(self, seconds: float, into: Stream) -> Fault:
        what = "the answer was not complete" if into.began else f"no answer from {self.url}"
        return Fault(Kind.SILENT, f"{what} within {seconds:.3g} s")

    def _fault(self, error: BaseException, sent: Collection[str], seconds: float, into: Stream) -> Fault:
        """The fault for an exception of the client; one that is not about the connection is raised again."""
        import openai

        if isinstance(error, openai.APIStatusError):
            return classify(error.status_code, error.response.text, headers=error.response.headers, sent=sent)
        names = {type(item).__name__ for item in causes(error)}
        if "ConnectTimeout" in names:
            return Fault(
                Kind.UNREACHABLE, f"cannot reach {self.url}: no connection within {min(CONNECT, seconds):.3g} s"
            )
        if isinstance(error, openai.APITimeoutError) or "ReadTimeout" in names or "WriteTimeout" in names:
            return self._silent(seconds, into)
        if "ConnectError" in names or "ProxyError" in names:
            why = reason_of(error) or " ".join(str(list(causes(error))[-1]).split())
            return Fault(Kind.UNREACHABLE, f"cannot reach {self.url}: {why}")
        # While a body is read, openai 2 lets the errors of httpx through and openai 3 wraps them.
        if isinstance(error, openai.APIConnectionError) or type(error).__module__.partition(".")[0] in (
            "httpx",
            "httpx2",
        ):
            return Fault(Kind.TRANSIENT, f"the connection to {self.url} broke off")
        raise error

    def _answered(self, into: Stream, sent: Collection[str]) -> Body | Fault:
        body = self._decoded(into)
        if isinstance(body, Fault):
            return body
        if body.get("choices"):
            return body
        if body.get("error"):
            return classify_told(body["error"], sent=sent)
        if "choices" in body:
            return Fault(Kind.TRANSIENT, "an answer without choices")
        return self._no_api("answers, but not as a chat-completions server")

    def _decoded(self, into: Stream) -> Body | Fault:
        if into.is_stream:
            return into.whole
        text = into.text
        if is_page(text):
            return self._no_api("answers with a web page, not as a chat-completions server")
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            return Fault(Kind.TRANSIENT, "an answer that is not JSON" if text.strip() else "an empty response")
        return body if isinstance(body, dict) else self._no_api("answers, but not as a chat-completions server")

    def _no_api(self, what: str) -> Fault:
        return Fault(Kind.NO_API, f"{self.url} {what}")

    def _masked(self, outcome: Body | Fault) -> Body | Fault:
        if not self._secret or not isinstance(outcome, Fault):
            return outcome
        return replace(outcome, message=outcome.message.replace(self._key, "***"))


def is_loopback(host: str) -> bool:
    """True for the names and addresses of this machine itself."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
