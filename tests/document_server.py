"""A real HTTP server on loopback that serves documents, faults and redirects, and remembers who asked for what."""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self


@dataclass
class Page:
    """An answer."""

    body: bytes | str | Mapping[str, Any] = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    dawdle: Callable[[Any], None] | None = None
    """Writes the body in place of the server, as slowly or wrongly as it likes."""


class DocumentServer:
    """A server of pages by path; `seen` has the path and Host header of each request."""

    def __init__(self, pages: Mapping[str, Page | Mapping[str, Any] | str], certificate: Path | None = None) -> None:
        self.pages = dict(pages)
        self.seen: list[tuple[str, str]] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                owner.seen.append((self.path, self.headers.get("Host", "")))
                page = owner.pages.get(self.path.partition("?")[0], Page(b"no such page", 404))
                page = page if isinstance(page, Page) else Page(page)
                body = page.body
                if isinstance(body, Mapping):
                    body = json.dumps(body)
                data = body.encode() if isinstance(body, str) else body
                self.send_response(page.status)
                for name, value in page.headers.items():
                    self.send_header(name, value)
                if page.dawdle is None:
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                    return
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True
                # A reader that had enough.
                with contextlib.suppress(OSError):
                    page.dawdle(self.wfile)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.scheme = "http"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            self.scheme = "https"
        self.port = self.server.server_address[1]

    def url(self, path: str = "/openapi.json", host: str = "127.0.0.1") -> str:
        """The address of a page."""
        return f"{self.scheme}://{host}:{self.port}{path}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


def endless(file: Any) -> None:
    """A body that never ends, as fast as it is read."""
    while True:
        file.write(b"#" * 65_536)


def trickle(file: Any) -> None:
    """A body that comes a byte at a time."""
    while True:
        file.write(b"#")
        file.flush()
        time.sleep(0.05)
