"""The service of `shop.yaml`: a shop in memory on http://localhost:8000 (or the port that is given).

It takes any key that is not empty. Standard library only: `python examples/shop_service.py`.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

PRODUCTS = [
    {"id": 1, "name": "Blue mug", "price": 8.5},
    {"id": 2, "name": "Red mug", "price": 8.0},
    {"id": 3, "name": "White plate", "price": 12.0},
]
orders: list[dict[str, Any]] = []


class Shop(BaseHTTPRequestHandler):
    """The answers of the shop."""

    def do_GET(self) -> None:
        """Find products."""
        parts = urlsplit(self.path)
        if parts.path != "/products":
            return self.answer(404, {"message": f"there is no {parts.path}"})
        words = " ".join(parse_qs(parts.query).get("q", [])).lower().split()
        self.answer(200, [one for one in PRODUCTS if all(word in str(one["name"]).lower() for word in words)])

    def do_POST(self) -> None:
        """Order products."""
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if self.path != "/orders":
            return self.answer(404, {"message": f"there is no {self.path}"})
        if not self.headers.get("X-Key"):
            return self.answer(401, {"message": "the key is missing"})
        prices = {one["id"]: float(str(one["price"])) for one in PRODUCTS}
        unknown = [line["product"] for line in body["lines"] if line["product"] not in prices]
        if unknown:
            return self.answer(404, {"message": f"there is no product {unknown[0]}"})
        total = sum(prices[line["product"]] * line["quantity"] for line in body["lines"])
        orders.append({"id": len(orders) + 1, "customer": body["customer"], "lines": body["lines"], "total": total})
        self.answer(201, orders[-1])

    def answer(self, status: int, value: Any) -> None:
        """Send JSON."""
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    with ThreadingHTTPServer(("127.0.0.1", port), Shop) as server:
        print(f"http://localhost:{server.server_port}", flush=True)
        server.serve_forever()
