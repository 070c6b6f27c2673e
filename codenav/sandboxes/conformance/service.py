"""A service on the host's loopback for the cases of tools: it notes what arrives, and answers little."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

SLOW_SECONDS = 20.0


class Service:
    """The service. It listens until it is closed."""

    def __init__(self) -> None:
        self.log: list[str] = []
        """Method and path with query of each request, in the order of arrival."""
        self.keys: list[str] = []
        """The keys that came with them."""
        self.closed = threading.Event()
        self.arrived = threading.Event()
        """Set by each request to `/slow`."""
        self.elsewhere = ""
        """Where `/away` sends on to."""
        service = self

        class Handler(_Handler):
            pass

        Handler.service = service
        self._server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        self.closed.set()
        self._server.shutdown()
        self._server.server_close()

    def since(self, before: int) -> list[str]:
        """The requests after the first `before`."""
        return self.log[before:]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that hang up are part of the cases."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: Service

    def log_message(self, *ignored: Any) -> None:
        """Say nothing."""

    def _handle(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.service.log.append(f"{self.command} {self.path}")
        self.service.keys.append(self.headers.get("X-Key", ""))
        parts = urlsplit(self.path)
        headers = {"Content-Type": "application/json"}
        status, body = 200, json.dumps({"ok": True, "headers": dict(self.headers)}).encode()
        if parts.path == "/slow":
            self.service.arrived.set()
            self.service.closed.wait(SLOW_SECONDS)
        elif parts.path == "/away":
            status, body, headers["Location"] = 302, b"", self.service.elsewhere
        elif parts.path == "/named":
            name = parse_qs(parts.query).get("name", [""])[0].replace('"', "")
            body = b"content"
            headers = {
                "Content-Type": "application/octet-stream",
                "Content-Disposition": f'attachment; filename="{name}"',
            }
        try:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            # The broker hangs up where a call was ended.
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = _handle
