"""A real HTTP service on loopback with an OpenAPI document: a small shop, ways to authenticate, and routes that fail.

    with ToolService() as service:
        codenav.index(f"openapi:{service.url}/openapi.json")
        ...
        assert [seen.line for seen in service.writes] == ["POST /orders"]

`/openapi.json` is `data/tools/shop.yaml`, `/trouble.json` is `data/tools/trouble.yaml`, each with the URL of the
service in place of its server. By hand: `python tests/tool_service.py --port 8000`.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import email.parser
import email.policy
import gzip
import json
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs

import yaml

DATA = Path(__file__).parent / "data" / "tools"
SHOP, TROUBLE = DATA / "shop.yaml", DATA / "trouble.yaml"

KEY = "key-6f1d2c9ab04e"
"""What the service takes for the schemes `shop_key`, `shop_query` and `shop_cookie`."""
USER, PASSWORD = "ada", "pass-77c1e0d4"
TOKEN = "bearer-19b8aa70f3"
CLIENT, CLIENT_SECRET = "client-1", "client-secret-5d20"
OAUTH_TOKEN = "oauth-token-{}-e41c88"
"""Tokens that the service gives for client credentials; numbered."""

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PRODUCTS = (
    {"id": 1, "name": "Mug", "color": "blue", "price": 8.5, "tags": ["kitchen", "gift"]},
    {"id": 2, "name": "Mug", "color": "red", "price": 8.0, "tags": ["kitchen"]},
    {"id": 3, "name": "Plate", "color": "white", "price": 12.0, "tags": ["kitchen"]},
    {"id": 4, "name": "Scarf", "color": "blue", "price": 24.9, "tags": ["gift"]},
)
CUSTOMERS = {
    7: {"id": 7, "name": "Grace Hopper", "city": "Arlington", "email": "grace@example.com"},
    8: {"id": 8, "name": "Alan Turing", "city": "Wilmslow", "email": "alan@example.com"},
}
JSON = "application/json"
DRIP_SECONDS = 0.2


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    """With percent signs, without the query."""
    query: str
    headers: Mapping[str, str]
    """By names in lower case."""
    body: bytes

    @property
    def line(self) -> str:
        """Method and path."""
        return f"{self.method} {self.path}"

    @property
    def asked(self) -> dict[str, list[str]]:
        """The query, read."""
        return parse_qs(self.query, keep_blank_values=True)

    @property
    def cookies(self) -> dict[str, str]:
        """The cookies by name."""
        pairs = [part.strip().partition("=") for part in self.headers.get("cookie", "").split(";") if part.strip()]
        return {name: value for name, _, value in pairs}

    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.body)

    def form(self) -> dict[str, list[str]]:
        """The body, read as a form."""
        return parse_qs(self.body.decode(), keep_blank_values=True)

    def parts(self) -> dict[str, tuple[str | None, str, bytes]]:
        """The body, read as multipart: file name, media type and content by name."""
        head = f"Content-Type: {self.headers['content-type']}\r\n\r\n".encode()
        message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + self.body)
        found = {}
        for part in message.iter_parts():  # type: ignore[attr-defined]
            name = part.get_param("name", header="content-disposition")
            found[name] = (part.get_filename(), part.get_content_type(), part.get_payload(decode=True))
        return found


@dataclass
class _State:
    """What the service remembers."""

    orders: dict[int, dict[str, Any]] = field(default_factory=dict)
    images: dict[int, bytes] = field(default_factory=lambda: {1: PNG})
    tokens: list[str] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)


class ToolService:
    """The service. It listens from `start` to `stop`, on a port that is free."""

    def __init__(self, port: int = 0) -> None:
        self._port = port
        self.log: list[Seen] = []
        """Every request, in the order of arrival."""
        self.state = _State()
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.elsewhere = "http://localhost:9/stolen"
        """Where `/trouble/elsewhere` sends on to."""
        self._server: ThreadingHTTPServer | None = None

    def start(self) -> Self:
        """Listen."""
        service = self

        class Handler(_Handler):
            pass

        Handler.service = service
        self._server = _Server(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_address[1]
        self.stopped.clear()
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def stop(self) -> None:
        """Listen no more; answers that are under way end."""
        self.stopped.set()
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *raised: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def writes(self) -> list[Seen]:
        """The requests that were neither GET nor HEAD, without those for tokens."""
        return [seen for seen in self.log if seen.method not in ("GET", "HEAD") and seen.path != "/oauth/token"]

    @property
    def orders(self) -> dict[int, dict[str, Any]]:
        """The orders by number."""
        return self.state.orders

    def document(self, file: Path = SHOP) -> dict[str, Any]:
        """An OpenAPI document of this service."""
        found: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
        found["servers"] = [{"url": self.url}]
        return found

    def write(self, folder: Path, file: Path = SHOP) -> Path:
        """Write a document with this service's URL into a folder, and return its path."""
        target = folder / file.name
        target.write_text(yaml.safe_dump(self.document(file), sort_keys=False), encoding="utf-8")
        return target


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that hang up are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: ToolService
    # Head and body are two writes: without this each answer would wait for the client's delayed acknowledgement.
    disable_nagle_algorithm = True

    def log_message(self, *ignored: Any) -> None:
        """Say nothing."""

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            body = self._chunks()
        path, _, query = self.path.partition("?")
        # Nobody signs for the name of the same header twice: the last one is seen.
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen(self.command, path, query, headers, body)
        with self.service.lock:
            self.service.log.append(seen)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._answer(seen)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = do_QUERY = _handle

    def _chunks(self) -> bytes:
        found = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            found += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return found

    def _answer(self, seen: Seen) -> None:
        if seen.path in ("/openapi.json", "/trouble.json"):
            self._json(self.service.document(SHOP if seen.path == "/openapi.json" else TROUBLE))
            return
        if seen.path == "/reflect" or seen.path.startswith("/reflect/"):
            told = {"method": seen.method, "path": seen.path, "query": seen.query, "headers": dict(seen.headers)}
            self._json({**told, "body": seen.body.decode("latin-1")})
            return
        first, *rest = seen.path.lstrip("/").split("/")
        route = getattr(self, f"_on_{first}", None)
        if route is None:
            self._error(404, f"there is no {seen.path}")
            return
        route(seen, rest)

    def _send(self, status: int, body: bytes, content_type: str, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if status != 204 and self.command != "HEAD":
            self.wfile.write(body)

    def _json(self, value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self._send(status, json.dumps(value).encode(), JSON, headers)

    def _error(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        self._json({"message": message}, status, headers)

    # The shop.

    def _on_products(self, seen: Seen, rest: list[str]) -> None:
        if not rest:
            asked = seen.asked
            words, colors = asked.get("q", [""])[0].lower(), asked.get("color")
            found = [
                item
                for item in PRODUCTS
                if words in str(item["name"]).lower()
                and (not colors or item["color"] in colors)
                and set(asked.get("tags", ())) <= set(item["tags"])  # type: ignore[call-overload]
            ]
            found.sort(key=lambda item: item["price"])  # type: ignore[arg-type, return-value]
            self._json(found[: int(asked.get("limit", ["20"])[0])])
            return
        number = int(rest[0]) if rest[0].isdigit() else 0
        product = next((item for item in PRODUCTS if item["id"] == number), None)
        if product is None:
            self._error(404, f"there is no product {rest[0]}")
        elif len(rest) == 1:
            self._json(product)
        elif seen.method == "GET":
            image = self.service.state.images.get(number)
            if image is None:
                self._error(404, f"product {number} has no picture")
            else:
                named = {"Content-Disposition": f'attachment; filename="product-{number}.png"'}
                self._send(200, image, "image/png", named)
        elif self._has_key(seen):
            name, _, content = seen.parts()["image"]
            caption = seen.parts().get("caption", (None, "", None))[2]
            self.service.state.images[number] = content
            said = None if caption is None else caption.decode()
            self._json({"name": name, "bytes": len(content), "caption": said})

    def _on_orders(self, seen: Seen, rest: list[str]) -> None:
        if not self._has_key(seen):
            return
        orders = self.service.orders
        if not rest and seen.method == "GET":
            customer = seen.asked.get("customer")
            self._json([one for one in orders.values() if not customer or str(one["customer"]) == customer[0]])
            return
        if not rest:
            self._order(seen.json())
            return
        order = orders.get(int(rest[0])) if rest[0].isdigit() else None
        if order is None:
            self._error(404, f"there is no order {rest[0]}")
        elif seen.method == "GET":
            self._json(order)
        elif seen.method == "DELETE":
            del orders[order["id"]]
            self._send(204, b"", "")
        else:
            order.update(seen.json())
            self._json(order)

    def _order(self, wanted: dict[str, Any]) -> None:
        prices = {item["id"]: item["price"] for item in PRODUCTS}
        if wanted["customer"] not in CUSTOMERS:
            self._error(400, f"there is no customer {wanted['customer']}")
            return
        unknown = [line["product"] for line in wanted["lines"] if line["product"] not in prices]
        if unknown:
            self._error(400, f"there is no product {unknown[0]}")
            return
        total = sum(prices[line["product"]] * line["quantity"] for line in wanted["lines"])  # type: ignore[misc]
        with self.service.lock:
            number = 1001 + len(self.service.orders)
            order = {"id": number, "note": "", **wanted, "total": round(total, 2), "state": "new"}
            self.service.orders[number] = order
        self._json(order, 201)

    def _on_customers(self, seen: Seen, rest: list[str]) -> None:
        customer = CUSTOMERS.get(int(rest[0])) if rest and rest[0].isdigit() else None
        if customer is None:
            self._error(404, f"there is no customer {rest[0] if rest else ''}")
        else:
            self._json(customer)

    def _on_login(self, seen: Seen, rest: list[str]) -> None:
        form = seen.form()
        if (form.get("user"), form.get("password")) != ([USER], [PASSWORD]):
            self._error(403, "wrong user or password")
        else:
            self._json({"session": "session-1", "remember": form.get("remember", ["false"])[0]})

    def _on_echo(self, seen: Seen, rest: list[str]) -> None:
        self._send(200, seen.body, "text/plain; charset=utf-8")

    # Ways to authenticate.

    def _has_key(self, seen: Seen) -> bool:
        if seen.headers.get("x-api-key") == KEY:
            return True
        self._error(401, "no key, or a wrong one")
        return False

    def _on_whoami(self, seen: Seen, rest: list[str]) -> None:
        way, given = rest[0] if rest else "", seen.headers.get("authorization", "")
        basic = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        key, cookie = seen.headers.get("x-api-key") == KEY, seen.cookies.get("shop_session") == KEY
        good = {
            "key": key,
            "query": seen.asked.get("api_key") == [KEY],
            "cookie": cookie,
            "basic": given == basic,
            "bearer": given == f"Bearer {TOKEN}",
            "oauth": given in [f"Bearer {token}" for token in self.service.state.tokens],
            "either": given == f"Bearer {TOKEN}" or (key and cookie),
        }.get(way, False)
        if good:
            self._json({"user": USER})
        else:
            self._error(401, "who are you?", {"WWW-Authenticate": "Basic"} if way == "basic" else None)

    def _on_oauth(self, seen: Seen, rest: list[str]) -> None:
        form, given = seen.form(), seen.headers.get("authorization", "")
        basic = "Basic " + base64.b64encode(f"{CLIENT}:{CLIENT_SECRET}".encode()).decode()
        known = given == basic or (form.get("client_id"), form.get("client_secret")) == ([CLIENT], [CLIENT_SECRET])
        if form.get("grant_type") != ["client_credentials"] or not known:
            self._json({"error": "invalid_client"}, 401)
            return
        with self.service.lock:
            token = OAUTH_TOKEN.format(len(self.service.state.tokens) + 1)
            self.service.state.tokens.append(token)
        self._json({"access_token": token, "token_type": "bearer", "expires_in": 3600})

    # Trouble.

    def _on_trouble(self, seen: Seen, rest: list[str]) -> None:
        kind, asked = rest[0] if rest else "", {name: values[0] for name, values in seen.asked.items()}
        if kind == "status":
            status = int(rest[1])
            self._error(status, f"status {status} was asked for", {"Retry-After": "0"} if status == 429 else None)
        elif kind == "flaky":
            self._flaky(seen, asked)
        elif kind in ("moved", "elsewhere", "circle"):
            places = {"moved": "/trouble/fine", "circle": "/trouble/circle", "elsewhere": self.service.elsewhere}
            self._send(302, b"", "text/plain", {"Location": places[kind]})
        elif kind in ("large", "endless"):
            getattr(self, f"_{kind}")(asked)
        elif kind == "slow":
            self.service.stopped.wait(float(asked.get("seconds", "5")))
            self._json({"ok": True})
        elif kind == "tell":
            told = {"ok": True, "headers": dict(seen.headers), "query": seen.query}
            self._json(told, int(asked.get("status", "200")))
        elif kind == "named":
            name = asked.get("name", "").replace('"', "")
            headers = {"Content-Disposition": f'attachment; filename="{name}"'}
            self._send(200, b"content", "application/octet-stream", headers)
        else:
            self._other(kind)

    def _other(self, kind: str) -> None:
        bodies = {
            "html": (b"<!doctype html><html><body><h1>Please log in</h1></body></html>", "text/html; charset=utf-8"),
            "empty": (b"", JSON),
            "broken": (b'{"ok": tr', JSON),
            "wrong": (b'{"ok": "perhaps", "list": 3}', JSON),
            "fine": (b'{"ok": true}', JSON),
        }
        if kind in bodies:
            self._send(200, *bodies[kind])
        else:
            self._error(404, f"there is no trouble of the kind {kind!r}")

    def _flaky(self, seen: Seen, asked: dict[str, str]) -> None:
        with self.service.lock:
            self.service.state.failed[seen.line] += 1
            count = self.service.state.failed[seen.line]
        if count > int(asked.get("times", "1")):
            self._json({"ok": True, "tries": count})
            return
        fault, after = asked.get("fault", "500"), asked.get("after")
        if fault == "dropped":
            self.close_connection = True
            self.connection.close()
        else:
            self._error(int(fault), "not now", {"Retry-After": after} if after else None)

    def _large(self, asked: dict[str, str]) -> None:
        size = int(asked.get("bytes", "50000000"))
        if asked.get("squeezed") == "true":
            self._send(200, gzip.compress(b'"' + b"x" * size + b'"'), JSON, {"Content-Encoding": "gzip"})
            return
        self.send_response(200)
        self.send_header("Content-Type", JSON)
        self.send_header("Content-Length", str(size + 2))
        self.end_headers()
        self.wfile.write(b'"')
        piece = b"x" * (1 << 16)
        while size > 0:
            self.wfile.write(piece[:size])
            size -= len(piece)
        self.wfile.write(b'"')

    def _endless(self, asked: dict[str, str]) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", JSON)
        self.send_header("Connection", "close")
        self.end_headers()
        slowly = asked.get("slowly") == "true"
        while not self.service.stopped.is_set():
            self.wfile.write(b" " if slowly else b" " * (1 << 16))
            if slowly:
                time.sleep(DRIP_SECONDS)


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8000)
    with ToolService(parser.parse_args().port) as service, contextlib.suppress(KeyboardInterrupt):
        print(f"{service.url}/openapi.json", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
