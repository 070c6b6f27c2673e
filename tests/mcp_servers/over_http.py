"""An MCP server of the older era over HTTP in this process, whose answers a test can replace."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

JSON = "application/json"


@dataclass(frozen=True)
class Answer:
    """An answer over HTTP."""

    status: int = 200
    body: bytes | dict[str, Any] = b""
    type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    """The connection breaks before the end of the body."""
    drips: bool = False
    """The body never ends."""


class OverHttp:
    """The server. `play` gets the method of each message and its number among those, and may answer in its place."""

    def __init__(self, play: Callable[[str, int], Answer | None] = lambda method, number: None) -> None:
        self.play = play
        self.seen: list[tuple[str, dict[str, str]]] = []
        """The messages' methods, with the headers of their requests."""
        self.sessions = 0
        self.stopping = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.mcp = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self.url = f"http://127.0.0.1:{self._server.server_port}/mcp"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, message: dict[str, Any], headers: Mapping[str, str]) -> Answer:
        """Answer a message as a server of the version 2025-11-25 does."""
        method = str(message.get("method", ""))
        number = sum(seen == method for seen, _ in self.seen)
        self.seen.append((method, {name.lower(): value for name, value in headers.items()}))
        played = self.play(method, number)
        if played is not None:
            if isinstance(played.body, dict):
                return Answer(played.status, {"jsonrpc": "2.0", "id": message.get("id"), **played.body})
            return played
        if "id" not in message:
            return Answer(202)
        if method == "initialize":
            self.sessions += 1
            server = {"name": "Over HTTP", "version": "1"}
            about = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": server}
            return Answer(200, result(message, about), headers={"Mcp-Session-Id": f"s{self.sessions}"})
        if method == "server/discover":
            return Answer(400, b"no such thing", "text/plain")
        if headers.get("Mcp-Session-Id") != f"s{self.sessions}":
            return Answer(404, b"no such session", "text/plain")
        if method == "tools/list":
            return Answer(200, result(message, {"tools": [{"name": "hi", "inputSchema": {"type": "object"}}]}))
        return Answer(200, result(message, {"content": [{"type": "text", "text": "hi"}]}))


def result(message: dict[str, Any], value: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message["id"], "result": value}


class _Server(ThreadingHTTPServer):
    mcp: OverHttp
    daemon_threads = False
    block_on_close = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do nothing: tests make clients that go away in the middle."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        answer = self.server.mcp.answer(message, self.headers)
        body = json.dumps(answer.body).encode() if isinstance(answer.body, dict) else answer.body
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.type)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        if not answer.drips:
            self.send_header("Content-Length", str(len(body) + 10 * answer.cut))
        self.end_headers()
        self.wfile.write(body)
        while answer.drips and not self.server.mcp.stopping.wait(0.01):
            self.wfile.write(b" " * 1000)

    def do_GET(self) -> None:
        self.send_response(405)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_DELETE = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""
