"""A real HTTP server on loopback that speaks OpenAI's chat completions and plays scripts, including faults.

    with ChatServer([Search("betweenness"), Fault(503), Done("42")]) as server:
        model = ChatModel("any", base_url=server.url)

By hand: `python tests/chat_server.py SCRIPT --port 8000`, where SCRIPT is a file of `<action>` elements.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from codenav.agents.models.scripted import read_script, sent_back
from codenav.core.actions import Action
from codenav.core.usage import estimate_tokens


@dataclass(frozen=True)
class Answer:
    """An ordinary answer with an unusual property."""

    text: str | list[Any] | None = ""
    finish: str | None = "stop"
    message: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of the message: `reasoning_content`, `reasoning`, `tool_calls`, `refusal`."""
    usage: Mapping[str, Any] | None = None
    """The usage in place of the estimate; `{}` omits it."""

    @classmethod
    def calling(cls, name: str, arguments: str, *, text: str | None = None) -> Answer:
        """A native tool call in place of text."""
        call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}
        return cls(text, "tool_calls", {"tool_calls": [call]})

    @classmethod
    def acting(cls, action: Action) -> Answer:
        """An action as a native tool call."""
        return cls.calling(action.type, json.dumps({"thought": action.thought, "content": action.content}))


@dataclass(frozen=True)
class Fault:
    """Any response; by default an error in OpenAI's form."""

    status: int = 500
    message: str = "the server had an error"
    code: str | int | None = None
    type: str | None = None
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | bytes | Mapping[str, Any] | None = None
    """The body in place of the error: bytes or text as they are, a mapping as JSON."""
    content_type: str = "application/json"
    cut_after: int | None = None
    """Bytes of the body after which the connection breaks; -1: before the status line."""
    drip: float = 0.0
    """Seconds between two bytes of the body."""

    def payload(self) -> bytes:
        """The bytes of the body."""
        body = self.body
        if body is None:
            body = {"error": {"message": self.message, "type": self.type, "param": self.param, "code": self.code}}
        if isinstance(body, Mapping):
            return json.dumps(body).encode()
        return body.encode() if isinstance(body, str) else body


class Hang:
    """No response at all until the server is released or stopped."""


@dataclass(frozen=True)
class Begun:
    """A streamed answer that begins and does not end."""

    text: str = ""
    reasoning: str = ""
    usage: Mapping[str, Any] | None = None
    """The usage sent with the last piece."""
    breaks: bool = False
    """True: the connection breaks; else nothing follows, and the stream ends when the server is released or stopped."""


def stream(*events: object, done: bool = True) -> Fault:
    """A stream of server-sent events, from a server that was not asked to stream. A `str` is sent as it is."""
    lines = [f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n" for event in events]
    return Fault(200, body="".join(lines) + "data: [DONE]\n\n" * done, content_type="text/event-stream")


Reply = str | Action | Answer | Fault | Hang | Begun
Entry = Reply | Callable[[dict[str, Any]], Reply]
"""An entry of a script; a function gets the body of the request."""
Script = Sequence[Entry] | Callable[[dict[str, Any]], Reply]
"""A list is played once, in order; a function answers every request."""


@dataclass(frozen=True)
class Received:
    """A request that the server received."""

    method: str
    path: str
    headers: Mapping[str, str]
    """The headers, with names in lower case."""
    body: dict[str, Any]


class ChatServer:
    """A server that plays `script`; `conversation` gives requests that mention a text a script of their own.

    `key`: the only accepted key; None accepts any. `models`: the names listed, and with `strict` the only names
    answered. `refuses`: parameters that are refused until a request comes without them. `streams`: stream if asked to;
    else such a request gets one body all the same. `calls`: write an action as a native call where tools are offered.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        key: str | None = None,
        models: Iterable[str] = ("test-model",),
        strict: bool = False,
        refuses: Iterable[str] = (),
        streams: bool = True,
        calls: bool = False,
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.script: Script = script
        self.key, self.models, self.strict, self.refuses = key, list(models), strict, list(refuses)
        self.streams, self.calls = streams, calls
        self.requests: list[Received] = []
        """All requests, in the order of their arrival."""
        self.released = threading.Event()
        """When set, whatever hangs or drips goes on."""
        self.received = threading.Condition()
        """Notified at each request."""
        self._played: dict[str, int] = {}
        self._conversations: dict[str, Script] = {}
        self._server = _Server(("127.0.0.1", port), self)
        self._scheme = "https" if tls else "http"
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), name="chat-server")

    @property
    def url(self) -> str:
        """The base URL, as `--base-url` takes it."""
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def chats(self) -> list[dict[str, Any]]:
        """The bodies of all chat requests."""
        return [request.body for request in self.requests if request.path.endswith("/chat/completions")]

    def conversation(self, mention: str, script: Script) -> None:
        """Answer requests with a message that contains `mention` from this script."""
        self._conversations[mention] = script

    def wait_for(self, count: int, *, timeout: float = 30.0) -> None:
        """Return when that many requests have arrived; fail after `timeout` seconds."""
        with self.received:
            if not self.received.wait_for(lambda: len(self.requests) >= count, timeout):
                raise AssertionError(f"{len(self.requests)} of {count} requests came within {timeout} s")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.disconnect()
        self._server.server_close()
        self._thread.join()

    def record(self, request: Received) -> None:
        """Remember a request."""
        with self.received:
            self.requests.append(request)
            self.received.notify_all()

    def reply(self, request: Received) -> Reply:
        """The response to a request."""
        if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            given = request.headers.get("authorization", "").removeprefix("Bearer ")
            return Fault(401, f"Incorrect API key provided: {given}.", "invalid_api_key", "invalid_request_error")
        if request.path == "/v1/models" and request.method == "GET":
            listed = [{"id": name, "object": "model", "created": 0, "owned_by": "test"} for name in self.models]
            return Fault(200, body={"object": "list", "data": listed})
        if request.path != "/v1/chat/completions" or request.method != "POST":
            return Fault(404, body="404 page not found", content_type="text/plain")
        return self._chat(request.body)

    def _chat(self, body: dict[str, Any]) -> Reply:
        name = body.get("model")
        if not isinstance(name, str) or not body.get("messages"):
            return Fault(400, "you must provide a model and messages", None, "invalid_request_error")
        if self.strict and name not in self.models:
            text = f"The model `{name}` does not exist or you do not have access to it."
            return Fault(404, text, "model_not_found", "invalid_request_error")
        for parameter in self.refuses:
            if parameter in body:
                text = f"Unsupported parameter: '{parameter}' is not supported with this model."
                return Fault(400, text, "unsupported_parameter", "invalid_request_error", parameter)
        return self._next(body)

    def _next(self, body: dict[str, Any]) -> Reply:
        said = [message["content"] for message in body["messages"] if isinstance(message.get("content"), str)]
        mention = next((key for key in self._conversations if any(key in text for text in said)), "")
        script = self._conversations.get(mention, self.script)
        if callable(script):
            return script(body)
        with self.received:
            number = self._played[mention] = self._played.get(mention, 0) + 1
        if number > len(script):
            last = script[-1] if script else ""
            if isinstance(last, Action | str) and sent_back(last, said):
                return last
            return Fault(400, f"the script has no answer {number}", None, "invalid_request_error")
        entry = script[number - 1]
        return entry(body) if callable(entry) else entry


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], chat: ChatServer) -> None:
        super().__init__(address, _Handler)
        self.chat = chat
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def disconnect(self) -> None:
        """End the connections that clients keep alive."""
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do nothing: tests make clients that go away in the middle."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body leave in one packet; separately, the second waits 40 ms for the client's delayed acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        self._serve({})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        self._serve(json.loads(raw))

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: tests read `ChatServer.requests`."""

    def _serve(self, body: dict[str, Any]) -> None:
        chat = self.server.chat
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Received(self.command, self.path, headers, body)
        chat.record(request)
        reply = chat.reply(request)
        if isinstance(reply, Hang):
            chat.released.wait()
            reply = Fault(503, "released")
        if isinstance(reply, Begun):
            self._begin(reply)
        elif isinstance(reply, Fault):
            self._send(reply)
        else:
            if isinstance(reply, Action) and chat.calls and body.get("tools"):
                reply = Answer.acting(reply)
            whole = completion(body, reply if isinstance(reply, Answer) else Answer(_text(reply)))
            streamed = body.get("stream") and chat.streams
            usage = bool((body.get("stream_options") or {}).get("include_usage"))
            self._send(stream(*events(whole, usage=usage)) if streamed else Fault(200, body=whole))

    def _begin(self, begun: Begun) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for name, text in (("reasoning_content", begun.reasoning), ("content", begun.text)):
            for piece in re.findall(r"\s*\S+", text):
                event = {"choices": [{"index": 0, "delta": {name: piece}, "finish_reason": None}]}
                event |= {"usage": dict(begun.usage)} if begun.usage else {}
                data = f"data: {json.dumps(event)}\n\n".encode()
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()
        self.close_connection = True
        if not begun.breaks:
            self.server.chat.released.wait()
            self.wfile.write(b"0\r\n\r\n")

    def _send(self, fault: Fault) -> None:
        payload = fault.payload()
        if fault.cut_after is not None and fault.cut_after < 0:
            self.close_connection = True
            return
        self.send_response(fault.status)
        for name, value in {"Content-Type": fault.content_type, **fault.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        if fault.cut_after is not None:
            self.close_connection = True
            payload = payload[: fault.cut_after]
        if not fault.drip:
            self.wfile.write(payload)
            return
        for byte in payload:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            self.server.chat.released.wait(fault.drip)


def _text(reply: str | Action) -> str:
    return reply.to_xml() if isinstance(reply, Action) else reply


def completion(body: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
    """The JSON of an answer to a request; like a real server, it omits the stop sequence and everything after it."""
    text = answer.text
    if isinstance(text, str):
        for stop in body.get("stop") or ():
            text = text.partition(stop)[0]
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text, **answer.message},
        "finish_reason": answer.finish,
    }
    data = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}
    if answer.usage is None:
        asked = sum(estimate_tokens(str(message["content"])) for message in body["messages"])
        said = estimate_tokens(text if isinstance(text, str) else "") + sum(
            estimate_tokens(str(call)) for call in answer.message.get("tool_calls", ())
        )
        data["usage"] = {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
    elif answer.usage:
        data["usage"] = dict(answer.usage)
    return data


def events(whole: Mapping[str, Any], *, usage: bool) -> list[dict[str, Any]]:
    """The events of a stream that add up to a completion, its text in pieces of one word."""
    choice, deltas = whole["choices"][0], [{"role": "assistant"}]
    for name, value in choice["message"].items():
        if name == "tool_calls" and isinstance(value, list) and all(isinstance(call, dict) for call in value):
            deltas += [{name: [piece]} for number, call in enumerate(value) for piece in _pieces(number, call)]
        elif name != "role":
            deltas += [
                {name: piece} for piece in (re.findall(r"\s*\S+|\s+\Z", value) if isinstance(value, str) else [value])
            ]
    head = {key: whole[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    told = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    told.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    return [*told, {**head, "choices": [], "usage": whole["usage"]}] if usage and "usage" in whole else told


def _pieces(number: int, call: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The pieces of a tool call: its name first, then its arguments."""
    function = call["function"]
    yield {**call, "index": number, "function": {**function, "arguments": ""}}
    for piece in re.findall(r"\s*\S+|\s+\Z", function["arguments"]):
        yield {"index": number, "function": {"arguments": piece}}


def main() -> None:
    """Serve one script until Ctrl-C; after its last answer it starts again."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("script", help="a file of <action>…</action> elements, each one answer")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    arguments = parser.parse_args()
    answers = read_script(arguments.script)

    def play(body: dict[str, Any]) -> str:
        spoken = [message for message in body["messages"] if message.get("role") == "assistant"]
        return answers[len(spoken) % len(answers)]

    with ChatServer(play, port=arguments.port) as server, contextlib.suppress(KeyboardInterrupt):
        print(server.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
