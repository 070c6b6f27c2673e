"""A proxy in front of a test server that refuses what a test wants refused."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from elasticsearch_server import Cluster

Refuse = Callable[[int], int]
"""A function of the size of a bulk request that returns the status to refuse it with, or 0 to let it pass."""


@dataclass
class Proxy:
    """A running proxy, and the bulk requests that came through it or did not."""

    url: str
    taken: list[int] = field(default_factory=list)
    """The size in bytes of each bulk request that was passed on."""
    refused: list[int] = field(default_factory=list)


@contextmanager
def proxy(cluster: Cluster, refuse: Refuse, *, hang_up: bool = False) -> Iterator[Proxy]:
    """A proxy to a server without security. With `hang_up` it refuses without reading what it is sent."""
    port = cluster.ports[0]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def respond(self) -> None:
            size = int(self.headers.get("content-length", 0))
            status = refuse(size) if "/_bulk" in self.path else 0
            if status and hang_up:
                seen.refused.append(size)
                self.close_connection = True
                return self.answer(status, {"content-type": "text/html"}, b"<html>no</html>")
            body = self.rfile.read(size)
            if status:
                seen.refused.append(size)
                return self.answer(status, {"content-type": "text/html"}, b"<html>no</html>")
            if "/_bulk" in self.path:
                seen.taken.append(size)
            passed = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            passed.request(self.command, self.path, body, headers)
            answer = passed.getresponse()
            content = answer.read()
            kept = {name: value for name, value in answer.getheaders() if name.lower() != "transfer-encoding"}
            self.answer(answer.status, kept, content)
            passed.close()
            return None

        def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = respond

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        seen = Proxy(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield seen
        finally:
            server.shutdown()
            thread.join()
