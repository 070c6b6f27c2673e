"""MCP servers of both eras over stdio: how they are started, called, misbehave and end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from codenav.core.errors import Cancelled, NotFound
from codenav.tools.mcp_client import McpConnection, McpFile, McpUnavailable
from codenav.tools.mcp_reading import read_mcp
from codenav.tools.model import Effect, ToolSpec

SERVERS = Path(__file__).parent.parent / "mcp_servers"
Connect = Callable[..., McpConnection]


def command(name: str, *ways: str) -> list[str]:
    return [sys.executable, str(SERVERS / f"{name}.py"), *ways]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def gone(pid: int, seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return not is_alive(pid)


def children() -> set[int]:
    """The processes below this one, of all depths."""
    found: set[int] = set()
    waiting = [os.getpid()]
    while waiting:
        pid = waiting.pop()
        for listed in Path(f"/proc/{pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                new = {int(word) for word in listed.read_text().split()} - found
                found |= new
                waiting += new
    return found


@pytest.fixture
def connect() -> Iterator[Connect]:
    before, threads = children(), set(threading.enumerate())
    made: list[McpConnection] = []

    def connection(name: str, *ways: str, **options: Any) -> McpConnection:
        made.append(McpConnection({"command": command(name, *ways)}, **options))
        return made[-1]

    yield connection
    for one in made:
        one.close()
    assert not {pid for pid in children() - before if is_alive(pid)}, "no process is left"
    assert not [thread for thread in set(threading.enumerate()) - threads if thread.name == "codenav-mcp"]


@pytest.fixture(scope="module")
def shop() -> Iterator[McpConnection]:
    """A server of the newer era, for tests that leave it as it was."""
    with McpConnection({"command": command("shop")}) as connection:
        yield connection


@pytest.fixture(scope="module")
def old() -> Iterator[McpConnection]:
    """A server of the older era, likewise."""
    with McpConnection({"command": command("handmade")}) as connection:
        yield connection


def test_a_server_of_the_newer_era(shop: McpConnection) -> None:
    server = shop.server
    assert (server.name, server.title, server.version) == ("Shop of mugs", "The mug shop", "3.1")
    assert server.protocol == "2026-07-28" and server.text == "Mugs are counted in pieces."
    assert [tool.name for tool in shop.tools()][:3] == ["list_orders", "create_order", "delete-orders"]
    order = {"customer": 7, "lines": [{"mug": "blue", "pieces": 2}]}
    made = shop.call("create_order", order, timeout=20, parse=True)
    assert made.value == {"number": 1, **order} and not made.failure and made.bytes > 50
    assert shop.call("list_orders", {}, timeout=20, parse=True).value == {"result": [made.value]}


def test_values(shop: McpConnection) -> None:
    assert shop.call("echo", {"value": "a"}, timeout=20).value == "'a'"
    assert shop.call("echo", {"value": None}, timeout=20).value == "None", "null is an argument"
    assert shop.call("echo", {}, timeout=20).value == "'unset'"
    picture = shop.call("picture", {"mug": "blue"}, timeout=20).value
    assert isinstance(picture, McpFile) and (picture.name, picture.type) == ("image.png", "image/png")
    assert picture.data.startswith(b"\x89PNG")
    assert shop.call("parts", {}, timeout=20).value == ["a mug", picture]


def test_an_answer_that_is_too_long_is_left_out_and_the_server_goes_on(connect: Connect) -> None:
    shop = connect("shop", limit_bytes=100_000)
    assert shop.call("long", {"characters": 90_000}, timeout=20).bytes > 90_000
    with pytest.raises(McpUnavailable, match="is over 100,000 bytes"):
        shop.call("long", {"characters": 300_000}, timeout=20)
    assert shop.call("echo", {"value": "a"}, timeout=20).value == "'a'"


def test_a_call_that_takes_too_long(shop: McpConnection) -> None:
    assert shop.server
    begin = time.monotonic()
    with pytest.raises(McpUnavailable, match=r"did not answer within 0\.3 s") as caught:
        shop.call("wait", {"seconds": 4}, timeout=0.3)
    assert caught.value.timed_out and time.monotonic() - begin < 3
    assert shop.call("echo", {"value": "a"}, timeout=20).value == "'a'"


def test_a_call_is_cancelled_from_another_thread(shop: McpConnection) -> None:
    assert shop.server
    timer = threading.Timer(0.3, shop.cancel)
    timer.start()
    begin = time.monotonic()
    with pytest.raises(Cancelled):
        shop.call("wait", {"seconds": 4}, timeout=30)
    assert time.monotonic() - begin < 3
    timer.join()
    assert shop.call("echo", {"value": "a"}, timeout=20).value == "'a'"


def test_two_calls_at_once(shop: McpConnection) -> None:
    assert shop.server
    slow = threading.Thread(target=lambda: shop.call("wait", {"seconds": 1.0}, timeout=20))
    slow.start()
    time.sleep(0.1)
    assert shop.call("echo", {"value": "a"}, timeout=20).value == "'a'"
    assert slow.is_alive()
    slow.join()


def test_a_server_of_the_older_era(old: McpConnection) -> None:
    assert (old.server.name, old.server.protocol) == ("Handmade", "2025-11-25")
    assert old.call("add", {"a": 2, "b": 3}, timeout=20).value == "5"
    assert old.call("add", {"a": 2, "b": 3}, timeout=20, parse=True).value == 5
    assert old.call("nothing", {}, timeout=20).failure == "Unknown tool: nothing"


def test_pages(connect: Connect, old: McpConnection) -> None:
    assert [tool.name for tool in connect("handmade", "paged").tools()] == [tool.name for tool in old.tools()]
    with pytest.raises(McpUnavailable, match="list of tools does not end"):
        connect("handmade", "endless").tools()
    with pytest.raises(McpUnavailable, match=r"breaks the protocol: its answer is wrong at tools\.0\."):
        connect("handmade", "broken").tools()


def test_a_list_that_changes(connect: Connect) -> None:
    old = connect("handmade")
    before = [tool.name for tool in old.tools()]
    assert old.call("grow", {}, timeout=20).value == "grown"
    assert [tool.name for tool in old.tools()] == [*before, "more_7"]
    assert old.call("more_7", {}, timeout=20).failure


def test_requests_to_the_client_are_refused(old: McpConnection, shop: McpConnection) -> None:
    for kind in ("sampling/createMessage", "elicitation/create", "roots/list"):
        answer = old.call("ask", {"kind": kind}, timeout=20, parse=True).value
        assert answer["code"] < 0 and answer["message"].endswith("not supported")
    assert old.call("ask", {"kind": "ping"}, timeout=20, parse=True).value == {}
    answer = shop.call("close_shop", {}, timeout=20)
    assert "did not declare the form elicitation capability" in answer.failure


def test_a_server_that_dies_in_a_call_is_started_anew(connect: Connect) -> None:
    old = connect("handmade")
    first = int(old.call("pid", {}, timeout=20).value)
    with pytest.raises(McpUnavailable) as caught:
        old.call("die", {}, timeout=20)
    assert str(caught.value).endswith("ended with exit code 7 during the call: the disk is full")
    assert caught.value.sent and caught.value.exit_code == 4
    second = int(old.call("pid", {}, timeout=20).value)
    assert first != second and not is_alive(first)
    os.kill(second, signal.SIGKILL)
    assert gone(second)
    time.sleep(0.2)
    assert int(old.call("pid", {}, timeout=20).value) not in (first, second), "death between calls goes unnoticed"


def test_a_server_that_hangs_is_given_up_after_the_second_call_in_vain(connect: Connect) -> None:
    old = connect("handmade")
    first = int(old.call("pid", {}, timeout=20).value)
    for _ in range(2):
        with pytest.raises(McpUnavailable, match="did not answer within"):
            old.call("hang", {}, timeout=0.2)
    assert int(old.call("pid", {}, timeout=20).value) != first and gone(first)


@pytest.mark.parametrize(
    ("way", "seconds", "words"),
    [
        ("exits", 30.0, "ended with exit code 3 before it answered: no database"),
        ("deaf", 1.0, "did not answer within 1 s"),
        # Time for it to have begun, on a busy machine too.
        ("flood", 4.0, "did not answer within 4 s; its standard output has text that is no message"),
    ],
)
def test_a_server_that_does_not_start(connect: Connect, way: str, seconds: float, words: str) -> None:
    with pytest.raises(McpUnavailable) as caught:
        connect("handmade", way, start_seconds=seconds).tools()
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_a_program_that_does_not_exist(tmp_path: Path) -> None:
    for transport in ({"command": ["no-such-program-x"]}, {"command": ["./server"], "folder": str(tmp_path)}):
        with pytest.raises(NotFound, match="there is no program"), McpConnection(transport) as connection:
            connection.tools()
    (tmp_path / "server").write_text("no program\n")
    (tmp_path / "server").chmod(0o755)
    with McpConnection(transport) as connection, pytest.raises(NotFound, match="Exec format error"):
        connection.tools()
    with pytest.raises(McpUnavailable, match=r"cannot be started: .*none"):
        McpConnection({"command": ["true"], "folder": str(tmp_path / "none")}).tools()


def test_a_server_gets_few_variables(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", "secret of the host")
    old = connect("handmade", environment={"TOKEN": "given"})
    variables = old.call("variables", {}, timeout=20, parse=True).value
    assert variables["TOKEN"] == "given" and "PATH" in variables
    assert set(variables) <= {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "TOKEN", "LC_CTYPE"}


def test_what_a_server_started_ends_with_it(connect: Connect) -> None:
    old = connect("handmade", "child", "stubborn")
    child = int(next(tool.name for tool in old.tools() if tool.name.startswith("child_")).removeprefix("child_"))
    own = int(old.call("pid", {}, timeout=20).value)
    assert is_alive(child)
    begin = time.monotonic()
    old.close()
    assert time.monotonic() - begin < 10
    assert not is_alive(own) and not is_alive(child)


@pytest.mark.parametrize("killed", [True, False])
def test_what_a_server_started_ends_with_a_program_that_closes_nothing(killed: bool) -> None:
    code = (
        "import sys\n"
        "from codenav.tools.mcp_client import McpConnection\n"
        "connection = McpConnection({'command': sys.argv[1:]})\n"
        "print(connection.call('pid', {}, timeout=20).value, flush=True)\n"
        "print([t.name for t in connection.tools()][-1].removeprefix('child_'), flush=True)\n"
        "input()\n"
    )
    host = subprocess.Popen(
        [sys.executable, "-X", "dev", "-W", "error", "-c", code, *command("handmade", "child", "stubborn")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with host:
        assert host.stdout is not None and host.stderr is not None
        pids = [int(host.stdout.readline()), int(host.stdout.readline())]
        assert all(map(is_alive, pids))
        if killed:
            host.kill()
        else:
            _, told = host.communicate("\n", timeout=60)
            # A busy machine makes asyncio's debug mode tell how long a step took.
            assert host.returncode == 0 and not [line for line in told.splitlines() if "Executing <" not in line]
        assert all(map(gone, pids))


def test_a_start_is_cancelled(connect: Connect) -> None:
    old = connect("handmade", "deaf")
    timer = threading.Timer(0.4, old.cancel)
    timer.start()
    begin = time.monotonic()
    with pytest.raises(Cancelled):
        old.tools()
    assert time.monotonic() - begin < 10
    timer.join()


def test_reading_a_server() -> None:
    spec = read_mcp(" ".join(command("shop")))
    assert (spec.name, spec.format, spec.title, spec.version) == ("shop_of_mugs", "mcp", "The mug shop", "3.1")
    assert spec.transport == {"command": command("shop"), "folder": str(Path.cwd())}
    assert [(group.name, group.guidance) for group in spec.groups] == [("shop_of_mugs", "Mugs are counted in pieces.")]
    by_name = {operation.name: operation for operation in spec.operations}
    assert {name: operation.effect for name, operation in by_name.items()} == {
        "list_orders": Effect.READ, "create_order": Effect.WRITE, "delete_orders": Effect.DESTROY,
        "picture": Effect.READ, "echo": Effect.READ, "parts": Effect.READ, "measured": Effect.READ,
            "fail": Effect.READ, "wait": Effect.READ,
        "long": Effect.READ, "close_shop": Effect.DESTROY,
    }  # fmt: skip
    delete = by_name["delete_orders"]
    assert delete.id == "delete-orders" and delete.idempotent and not delete.parameters and not delete.method
    create = by_name["create_order"]
    assert (create.title, create.text) == ("Create an order", "It is delivered the next day.")
    assert [(one.name, one.required, one.place) for one in create.parameters] == [
        ("customer", True, "body"), ("lines", True, "body"),
    ]  # fmt: skip
    assert create.parameters[1].schema["items"] == {"$ref": "#/schemas/Line"}
    assert spec.schemas["Order"]["properties"]["lines"]["items"] == {"$ref": "#/schemas/Line"}
    assert create.result == spec.schemas["Order"] and by_name["picture"].result is None
    assert by_name["list_orders"].parameters[0].text == "Number of the customer"
    assert ToolSpec.from_dict(spec.to_dict()) == spec


def test_reading_a_server_of_the_older_era() -> None:
    spec = read_mcp(" ".join(command("handmade", "paged")))
    assert spec.name == "handmade" and len(spec.operations) == 7
    add = spec.operations[0]
    assert add.effect is Effect.READ and add.parameters[0].schema == {"$ref": "#/schemas/n"}
    assert spec.schemas == {"n": {"type": "integer", "minimum": 0}}
    assert spec.operations[1].effect is Effect.DESTROY, "one that says nothing may destroy"
