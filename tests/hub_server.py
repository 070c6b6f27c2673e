"""A server that speaks the hub's protocol for one file: a redirect with its digest, and a storage that gives ranges."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class HubServer:
    """The server; its fields may be changed while it runs."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.digest = hashlib.sha256(data).hexdigest()
        """What the redirect says about the file; "" for nothing."""
        self.status = 0
        """A refusal in place of every answer."""
        self.breaks_after = 0
        """Bytes after which the connection breaks, once for each request; 0 for never."""
        self.waits_after = 0
        """Bytes after which the answer waits until `release` is set; 0 for never."""
        self.ranges = True
        self.release = threading.Event()
        self.asked: list[tuple[str, str, str]] = []
        """Method, path and range of each request."""
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                self.answer()

            def do_GET(self) -> None:
                self.answer()

            def answer(self) -> None:
                hub.asked.append((self.command, self.path, self.headers.get("Range", "")))
                if hub.status:
                    self.begin(hub.status, 0, {})
                elif "/resolve/" in self.path:
                    about = {"X-Linked-ETag": f'"{hub.digest}"', "X-Linked-Size": str(len(hub.data))}
                    self.begin(302, 0, {"Location": f"{hub.url}/storage/file", **(about if hub.digest else {})})
                else:
                    self.stored()

            def stored(self) -> None:
                begin = int(self.headers.get("Range", "bytes=0-")[6:-1]) if hub.ranges else 0
                self.begin(206 if begin else 200, len(hub.data) - begin, {})
                end = len(hub.data)
                if hub.breaks_after:
                    end = min(end, begin + hub.breaks_after)
                for at in range(begin, end, 1000):
                    if hub.waits_after and at >= hub.waits_after:
                        hub.release.wait(60)
                    self.wfile.write(hub.data[at : min(at + 1000, end)])
                    self.wfile.flush()
                if end < len(hub.data):
                    self.close_connection = True
                    self.connection.close()

            def begin(self, status: int, length: int, headers: dict[str, str]) -> None:
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(length)}.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

            def handle(self) -> None:
                try:
                    super().handle()
                except (OSError, ValueError):
                    # The client was killed, or the connection was broken on purpose.
                    self.close_connection = True

            def finish(self) -> None:
                with contextlib.suppress(OSError, ValueError):
                    super().finish()

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def starts(self) -> list[int]:
        """Where each request for the stored bytes begins."""
        return [int(asked[6:-1]) for method, path, asked in self.asked if path == "/storage/file"]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
