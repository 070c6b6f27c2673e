"""One request to a chat server: a body of JSON or a `Fault`, within a number of seconds, whatever the server does."""

from __future__ import annotations

import json
import queue
import socket
import ssl
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from codenav.models.faults import Fault, Kind, classify, classify_told, is_page
from codenav.models.streams import is_stream, joined
from codenav.text import shown_url

if TYPE_CHECKING:
    from openai import OpenAI

CONNECT = 10.0
"""Seconds to open a connection; a server that is up accepts within milliseconds."""

LARGEST = 32 * 1024 * 1024
"""Bytes of a response; an answer of 100,000 tokens has under 1 MB."""

Body = dict[str, Any]


class Transport:
    """The connection to one server. Usable from several threads."""

    def __init__(self, base_url: str, key: str, *, secret: bool) -> None:
        """`secret` says whether `key` is a real one, which no message may show."""
        self.url = shown_url(base_url)
        self._base_url, self._key, self._secret = base_url, key, secret
        self._client: OpenAI | None = None
        self._lock = threading.Lock()

    def chat(self, parameters: Mapping[str, Any], *, sent: Collection[str], seconds: float) -> Body | Fault:
        """The answer to a chat-completions request; `sent` names its optional parameters."""

        def send(client: OpenAI, timeout: Any, stop: threading.Event) -> Body | Fault:
            created = client.chat.completions.with_streaming_response.create(**parameters, timeout=timeout)
            with created as response:
                content = _read(response.iter_bytes(), stop)
            return self._parsed(content, sent)

        return self._bounded(send, sent, seconds)

    def models(self, *, seconds: float) -> list[str] | Fault:
        """The names of the models that the server lists."""

        def send(client: OpenAI, timeout: Any, stop: threading.Event) -> Body | Fault:
            with client.models.with_streaming_response.list(timeout=timeout) as response:
                content = _read(response.iter_bytes(), stop)
            return self._decoded(content)

        body = self._bounded(send, (), seconds)
        if isinstance(body, Fault):
            return body
        listed = body.get("data")
        if not isinstance(listed, list):
            return self._no_api("answers, but lists no models")
        return [item["id"] for item in listed if isinstance(item, dict) and isinstance(item.get("id"), str)]

    def close(self) -> None:
        """Release connections; safe to call twice. A later request opens a new one."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _connected(self) -> OpenAI:
        from openai import OpenAI

        with self._lock:
            if self._client is None:
                self._client = OpenAI(base_url=self._base_url, api_key=self._key, max_retries=0)
            return self._client

    def _bounded(
        self, send: Callable[[OpenAI, Any, threading.Event], Body | Fault], sent: Collection[str], seconds: float
    ) -> Body | Fault:
        """Run `send` in a thread and wait that long.

        The client's own timeout is per read: name resolution, and a server that sends a byte now and then, would
        outlast it. An abandoned thread ends with its next byte or its next timeout.
        """
        import openai

        outcome: queue.SimpleQueue[Body | Fault | BaseException] = queue.SimpleQueue()
        stop = threading.Event()
        client = self._connected()
        timeout = openai.Timeout(seconds, connect=min(CONNECT, seconds))

        def work() -> None:
            try:
                outcome.put(send(client, timeout, stop))
            except BaseException as error:
                outcome.put(error)

        threading.Thread(target=work, name="codenav-model", daemon=True).start()
        try:
            result = outcome.get(timeout=seconds)
        except queue.Empty:
            return self._masked(self._silent(seconds))
        finally:
            stop.set()
        if isinstance(result, BaseException):
            result = self._fault(result, sent, seconds)
        return self._masked(result) if isinstance(result, Fault) else result

    def _silent(self, seconds: float) -> Fault:
        return Fault(Kind.SILENT, f"no answer from {self.url} within {seconds:.3g} s")

    def _fault(self, error: BaseException, sent: Collection[str], seconds: float) -> Fault:
        """What an exception of the client means; one that is not about the connection is raised again."""
        import openai

        if isinstance(error, _TooLarge):
            return Fault(Kind.FAILED, f"an answer of over {LARGEST // 2**20} MB")
        if isinstance(error, openai.APIStatusError):
            return classify(error.status_code, error.response.text, headers=error.response.headers, sent=sent)
        names = {type(item).__name__ for item in _chain(error)}
        if "ConnectTimeout" in names:
            return Fault(
                Kind.UNREACHABLE, f"cannot reach {self.url}: no connection within {min(CONNECT, seconds):.3g} s"
            )
        if isinstance(error, openai.APITimeoutError) or "ReadTimeout" in names or "WriteTimeout" in names:
            return self._silent(seconds)
        if "ConnectError" in names or "ProxyError" in names:
            return Fault(Kind.UNREACHABLE, f"cannot reach {self.url}: {_reason(error)}")
        # openai 2 lets the errors of httpx through while a body is read, 3 wraps them.
        if isinstance(error, openai.APIConnectionError) or type(error).__module__.partition(".")[0] in (
            "httpx",
            "httpx2",
        ):
            return Fault(Kind.TRANSIENT, f"the connection to {self.url} broke off")
        raise error

    def _parsed(self, content: bytes, sent: Collection[str]) -> Body | Fault:
        body = self._decoded(content)
        if isinstance(body, Fault):
            return body
        if body.get("choices"):
            return body
        if body.get("error"):
            return classify_told(body["error"], sent=sent)
        if "choices" in body:
            return Fault(Kind.TRANSIENT, "an answer without choices")
        return self._no_api("answers, but not as a chat-completions server")

    def _decoded(self, content: bytes) -> Body | Fault:
        text = content.decode("utf-8", "replace")
        if is_page(text):
            return self._no_api("answers with a web page, not as a chat-completions server")
        try:
            body = joined(text) if is_stream(text) else json.loads(text)
        except (ValueError, RecursionError):
            return Fault(Kind.TRANSIENT, "an answer that is not JSON" if text.strip() else "an empty response")
        return body if isinstance(body, dict) else self._no_api("answers, but not as a chat-completions server")

    def _no_api(self, what: str) -> Fault:
        return Fault(Kind.NO_API, f"{self.url} {what}")

    def _masked(self, fault: Fault) -> Fault:
        if not self._secret:
            return fault
        return replace(fault, message=fault.message.replace(self._key, "***"))


class _TooLarge(Exception):
    """A response of over LARGEST bytes."""


def _read(chunks: Iterator[bytes], stop: threading.Event) -> bytes:
    content = bytearray()
    for chunk in chunks:
        content += chunk
        if len(content) > LARGEST:
            raise _TooLarge
        if stop.is_set():
            break
    return bytes(content)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _reason(error: BaseException) -> str:
    """Why there is no connection, from the system's own error where there is one."""
    for item in _chain(error):
        if isinstance(item, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted ({item.verify_message})"
        if isinstance(item, ssl.SSLError):
            return f"TLS failed ({item.reason or item})"
        if isinstance(item, socket.gaierror):
            return f"unknown host ({item.strerror})"
        if isinstance(item, OSError):
            return (item.strerror or str(item)).lower()
    return " ".join(str(list(_chain(error))[-1]).split())
