"""The service of `desk.yaml` on http://localhost:8100 (or the port that is given). Its texts are made up.

Standard library only: `python desk_service.py`.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

TEXT = (
    "The harbour of Holm has a seaweed farm since May. Its first harvest went to a bakery, which makes crackers of it. "
)


def _article(source: str, title: str, path: str, text: str) -> dict[str, str]:
    return {"source": source, "title": title, "link": f"http://localhost{path}", "text": text}


ANSWERS: dict[str, Any] = {
    "/definition": {"text": "Seaweed farming is the growing of seaweed for food and other uses."},
    "/news": [
        _article("Holm Courier", "A farm in the harbour", "/news/1", TEXT * 2),
        _article("Sea Weekly", "Kelp on ropes", "/news/2", "Ropes are enough."),
    ],
    "/papers": [_article("J. Phycol.", "Growth of kelp", "/papers/7", "We measured kelp.")],
}
outbox: list[dict[str, Any]] = []


class Desk(BaseHTTPRequestHandler):
    """The answers of the service."""

    def do_GET(self) -> None:
        """Read something."""
        found = ANSWERS.get(urlsplit(self.path).path)
        self.answer(404 if found is None else 200, found)

    def do_POST(self) -> None:
        """Send an e-mail: keep it."""
        outbox.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer(201, {"sent": len(outbox)})

    def answer(self, status: int, value: Any) -> None:
        """Send JSON."""
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8100
    with ThreadingHTTPServer(("127.0.0.1", port), Desk) as server:
        print(f"http://localhost:{server.server_port}", flush=True)
        server.serve_forever()
