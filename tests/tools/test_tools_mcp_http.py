"""MCP servers of both eras over streamable HTTP, and servers that refuse, fail or are none."""

from __future__ import annotations

import contextlib
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from guarded import Guarded

from codenav.core.errors import NotFound
from codenav.tools.mcp_client import McpConnection, McpFile, McpUnavailable
from codenav.tools.mcp_reading import read_mcp
from codenav.tools.model import Scheme

SERVERS = Path(__file__).parent.parent / "mcp_servers"

sys.path.insert(0, str(SERVERS))
from over_http import Answer, OverHttp  # noqa: E402


@pytest.fixture(scope="module")
def shop_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("shop") / "log"
    running = Guarded([sys.executable, str(SERVERS / "shop.py"), str(port)], output=log)
    end = time.monotonic() + 30
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            break
        assert running.running and time.monotonic() < end, log.read_text()
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}/mcp"
    running.end()


def call(url: str, **options: Any) -> Any:
    with McpConnection({"url": url}, **options) as connection:
        return connection.call("hi", {}, timeout=20).value


def test_a_server_of_the_newer_era(shop_url: str) -> None:
    with McpConnection({"url": shop_url}) as shop:
        assert shop.server.protocol == "2026-07-28"
        order = {"customer": 7, "lines": [{"mug": "blue", "pieces": 2}]}
        assert shop.call("create_order", order, timeout=20).value["lines"] == order["lines"]
        assert isinstance(shop.call("picture", {"mug": "blue"}, timeout=20).value, McpFile)
        assert shop.call("fail", {}, timeout=20).failure == "Error executing tool fail"
        assert shop.call("nothing", {}, timeout=20).failure == "Unknown tool: nothing"


def test_reading(shop_url: str) -> None:
    spec = read_mcp(shop_url)
    assert (spec.name, spec.transport) == ("shop_of_mugs", {"url": shop_url})
    assert spec.schemes == (Scheme("authorization", "bearer", text="Token of the server, if it wants one"),)
    assert spec.operations[0].security == (("authorization",), ())


def test_a_server_of_the_older_era_and_headers() -> None:
    with OverHttp() as server, McpConnection({"url": server.url}, headers={"Authorization": "Bearer t"}) as connection:
        assert connection.server.protocol == "2025-11-25"
        assert [tool.name for tool in connection.tools()] == ["hi"]
        assert connection.call("hi", {}, timeout=20).value == "hi"
        assert {headers.get("authorization") for _, headers in server.seen} == {"Bearer t"}


def test_reading_with_a_token() -> None:
    def play(method: str, number: int) -> Answer | None:
        return None if server.seen[-1][1].get("authorization") == "Bearer t" else Answer(401)

    with OverHttp(play) as server:
        with pytest.raises(McpUnavailable, match="wants a token"):
            read_mcp(server.url)
        spec = read_mcp(server.url, environment={"authorization": "t"})
        assert spec.name == "over_http" and "t" not in spec.transport.values()


def test_a_session_that_the_server_forgot_is_made_anew() -> None:
    with OverHttp() as server, McpConnection({"url": server.url}) as connection:
        assert connection.call("hi", {}, timeout=20).value == "hi"
        server.sessions += 1
        assert connection.call("hi", {}, timeout=20).value == "hi"
        assert [method for method, _ in server.seen].count("tools/call") == 3, "one of them was not run"
    with OverHttp(lambda method, number: Answer(404) if method == "tools/call" else None) as server:
        with pytest.raises(McpUnavailable, match="has ended the session"):
            call(server.url)
        assert [method for method, _ in server.seen].count("tools/call") == 2, "and no third time"


NO = b"<p>no</p>", "text/html", {"Retry-After": "7"}
FAULTS: list[tuple[Answer, type[Exception], str]] = [
    (Answer(401, *NO), McpUnavailable, "the MCP server {url} wants a token (401)"),
    (Answer(403, *NO), McpUnavailable, "the MCP server {url} refuses access (403)"),
    (Answer(403, {"error": {"code": -32000, "message": "only members"}}), McpUnavailable, "access (403): only members"),
    (Answer(429, *NO), McpUnavailable, "the MCP server {url} answered 429 Too Many Requests"),
    (Answer(500, *NO), McpUnavailable, "the MCP server {url} answered 500 Internal Server Error"),
    (Answer(503, *NO), McpUnavailable, "the MCP server {url} answered 503 Service Unavailable"),
    (Answer(405), NotFound, "there is no MCP server at {url}: it answered 405"),
    (Answer(200, b"<html>Welcome</html>", "text/html"), McpUnavailable, "Unexpected content type: text/html"),
    (Answer(200, b"", "application/json"), McpUnavailable, "Failed to parse JSON response"),
    (Answer(200, b'{"id": 1}', "application/json"), McpUnavailable, "Failed to parse JSON response"),
    (Answer(302, headers={"Location": "http://elsewhere.example/"}), McpUnavailable, "Redirect to http://elsewhere"),
]


@pytest.mark.parametrize(("answer", "kind", "words"), FAULTS)
@pytest.mark.parametrize("when", ["start", "call"])
def test_answers_that_are_none(answer: Answer, kind: type[Exception], words: str, when: str) -> None:
    def play(method: str, number: int) -> Answer | None:
        return None if when == "call" and method != "tools/call" else answer

    with OverHttp(play) as server, pytest.raises(kind) as caught:
        call(server.url + "?token=hidden")
    told = str(caught.value)
    assert words.format(url=server.url) in told and "hidden" not in told and "\n" not in told and len(told) < 400
    if answer.status < 400:
        assert ("breaks the protocol" if when == "call" else "is no MCP server that can be used") in told
    elif isinstance(caught.value, McpUnavailable):
        assert caught.value.status == answer.status and caught.value.sent
        assert caught.value.retry_after == (7.0 if answer.status in (429, 500, 503) else None)
        assert ("--secret authorization=VARIABLE" in (caught.value.hint or "")) == (answer.status in (401, 403))


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(McpUnavailable, match=f"no MCP server answers at http://127.0.0.1:{port}/mcp: ") as caught:
        call(f"http://someone:password@127.0.0.1:{port}/mcp")
    assert not caught.value.sent and "password" not in str(caught.value)


def test_a_server_without_tls() -> None:
    words = r"no MCP server answers at https://.*(SSL|TLS)"
    with OverHttp() as server, pytest.raises(McpUnavailable, match=words):
        call(server.url.replace("http:", "https:"))


def test_a_connection_that_breaks_in_an_answer() -> None:
    def play(method: str, number: int) -> Answer | None:
        return Answer(200, b'{"jsonrpc": ', cut=True) if method == "tools/call" and number == 0 else None

    with OverHttp(play) as server, McpConnection({"url": server.url}) as connection:
        with pytest.raises(McpUnavailable, match=r"the connection to the MCP server .* was lost") as caught:
            connection.call("hi", {}, timeout=20)
        assert caught.value.sent
        assert connection.call("hi", {}, timeout=20).value == "hi"


def test_an_answer_that_never_ends() -> None:
    def play(method: str, number: int) -> Answer | None:
        return Answer(200, b"{", drips=True) if method == "tools/call" else None

    with OverHttp(play) as server, McpConnection({"url": server.url}, limit_bytes=20_000) as connection:
        with pytest.raises(McpUnavailable, match="is over 20,000 bytes"):
            connection.call("hi", {}, timeout=20)
        assert connection.tools()
