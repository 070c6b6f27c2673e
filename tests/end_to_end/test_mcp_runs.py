"""Whole runs whose code calls MCP servers and functions of this process, from a sandbox without a network."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import codenav

import codenav as package
from codenav import ScriptedModel
from codenav.core.actions import Action, Code, CodeSummary, Done
from codenav.core.errors import Unavailable

SERVERS = Path(__file__).parent.parent / "mcp_servers"
sys.path.insert(0, str(SERVERS))
from over_http import Answer, OverHttp  # noqa: E402

SHOP = f"mcp:{sys.executable} {SERVERS / 'shop.py'}"
HANDMADE = f"mcp:{sys.executable} {SERVERS / 'handmade.py'}"
EXAMPLES = Path(__file__).parent.parent.parent / "examples"


@pytest.fixture
def old() -> Iterator[OverHttp]:
    with OverHttp() as server:
        yield server


def run(on: list[str], actions: list[Action], **options: Any) -> package.EpisodeResult:
    return package.run(
        "Order two blue mugs for customer 7", on=on, model=ScriptedModel(actions), sandbox="bubblewrap",
        checks_lint=False,
        checks_types=False, **options,
    )  # fmt: skip


def observed(result: package.EpisodeResult, number: int) -> Any:
    return result.steps[number].observation


def printed(result: package.EpisodeResult, number: int) -> str:
    return str(observed(result, number).to_data()["stdout"])


def test_servers_of_both_eras_over_both_transports(
    old: OverHttp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "orders"
    monkeypatch.setenv("WHERE", str(log))
    order = (
        "from tools.shop_of_mugs import create_order, list_orders\n"
        "from tools.handmade import add\n"
        "from tools.over_http import hi\n"
        "order = create_order(customer=7, lines=[{'mug': 'blue', 'pieces': int(add(a=1, b=1))}])\n"
        "print(order['lines'], len(list_orders()), hi())"
    )
    result = run(
        [SHOP, HANDMADE, f"mcp:{old.url}"], [Code(order), CodeSummary(order), Done("1")],
        allow="all", secret={"SHOP_LOG": "WHERE"},
    )  # fmt: skip
    assert printed(result, 0) == "[{'mug': 'blue', 'pieces': 2}] 1 hi\n", observed(result, 0).text
    assert [(call.tool, call.effect, call.outcome) for call in observed(result, 0).calls] == [
        ("handmade.add", "read", "ok"), ("shop_of_mugs.create_order", "write", "ok"),
        ("shop_of_mugs.list_orders", "read", "ok"), ("over_http.hi", "destroy", "ok"),
    ]  # fmt: skip
    assert observed(result, 1).to_data()["verified"], observed(result, 1).text
    assert len(log.read_text().splitlines()) == 1, "the verification ordered nothing"
    assert [method for method, _ in old.seen].count("tools/call") == 1


def test_gates_failures_and_files(tmp_path: Path) -> None:
    actions: list[Action] = [
        Code("from tools.shop_of_mugs import create_order, fail, picture\npath = picture(mug='blue')"),
        Code("print(path, open(path, 'rb').read()[1:4])"),
        Code("try:\n    fail()\nexcept Exception as error:\n    print(type(error).__name__, error)"),
        Code("create_order(customer=7, lines=[])"),
        Code("create_order(customer='seven', lines=[])"),
        Code("from tools.shop_of_mugs import measured\nprint(measured())"),
        Done("1"),
    ]
    result = run([SHOP], actions, work_dir=tmp_path / "work")
    assert printed(result, 1) == "image.png b'PNG'\n"
    assert "Displayed to the user: image/png" in observed(result, 0).text
    assert (tmp_path / "work" / "image.png").read_bytes().startswith(b"\x89PNG")
    assert printed(result, 2).startswith("ToolError shop_of_mugs.fail: Error executing tool fail")
    assert "--allow write" in observed(result, 3).text
    assert "customer" in observed(result, 4).text
    assert printed(result, 5) == "{'mugs': 3}\n" and "Displayed to the user: image/png" in observed(result, 5).text
    assert (tmp_path / "work" / "image-2.png").read_bytes().startswith(b"\x89PNG")


def test_a_server_that_dies_and_one_that_prints_garbage() -> None:
    actions: list[Action] = [
        Code("from tools.handmade import add, die\nfirst = add(a=1, b=2)"),
        Code("die()"),
        Code("print(first, add(a=2, b=2))"),
        Done("1"),
    ]
    result = run([f"{HANDMADE} garbage"], actions, allow="all")
    assert "ended with exit code 7 during the call: the disk is full" in observed(result, 1).text
    assert printed(result, 2) == "3 4\n"


def test_functions_of_this_process() -> None:
    asked: list[int] = []

    def with_tax(cents: int) -> int:
        asked.append(cents)
        return round(cents * 1.19)

    actions: list[Action] = [
        Code("from tools.mug_shop import with_tax\nprice = with_tax(cents=1250)\nprint(price)"),
        CodeSummary("from tools.mug_shop import with_tax\nprice = with_tax(cents=1250)\nprint(price)"),
        Code("with_tax(cents=-1)"),
        Done("1488"),
    ]
    result = run([f"tools:{EXAMPLES / 'mug_shop.yaml'}"], actions, handlers={"with_tax": with_tax})
    assert printed(result, 0) == "1488\n", observed(result, 0).text
    assert observed(result, 1).to_data()["verified"]
    assert asked == [1250]
    assert "cents" in observed(result, 2).text and "0" in observed(result, 2).text


def test_a_list_that_changes(tmp_path: Path) -> None:
    listed = [{"name": "first", "description": "The first.", "parameters": {}}]
    path = tmp_path / "functions.json"
    for more in ([], [{"name": "second", "description": "The second.", "parameters": {}}]):
        path.write_text(json.dumps([*listed, *more]))
        name = "second" if more else "first"
        actions: list[Action] = [Code(f"from tools.functions import {name}\nprint({name}())"), Done("1")]
        result = run([f"tools:{path}"], actions, handlers={name: lambda: "called"}, allow="write")
        assert printed(result, 0) == "called\n", observed(result, 0).text


def test_a_server_that_wants_a_token_is_read_and_called_with_the_secret(
    monkeypatch: pytest.MonkeyPatch, codenav_home: Path
) -> None:
    monkeypatch.setenv("HI_TOKEN", "token-58e1c09d")

    def play(method: str, number: int) -> Answer | None:
        return None if server.seen[-1][1].get("authorization") == "Bearer token-58e1c09d" else Answer(401)

    hi: list[Action] = [Code("from tools.over_http import hi\nhi()"), Done("hi")]
    with OverHttp(play) as server:
        with pytest.raises(Unavailable, match="wants a token"):
            run([f"mcp:{server.url}"], hi)
        secrets = {"authorization": "HI_TOKEN"}
        result = run([f"mcp:{server.url}"], hi, secret=secrets, allow="all")
        assert printed(result, 0) == "'hi'\n", observed(result, 0).text
        with package.sandbox("bubblewrap", on=f"mcp:{server.url}", secret=secrets, allow="all") as box:
            assert box.run("from tools.over_http import hi\nhi()").stdout == "'hi'\n"
        codenav_home.joinpath("tools").rename(codenav_home / "tools-before")
        bare, key = ("tools", "call", "hi", "--on", f"mcp:{server.url}"), ("--secret", "authorization=HI_TOKEN")
        assert (codenav(*bare).code, codenav(*bare, "--allow", "all", *key).out) == (4, "hi\n")
        codenav_home.joinpath("tools").rename(codenav_home / "tools-of-the-call")
        for number, command in enumerate([("show",), ("show", "hi")]):
            command = (*command, "--on", f"mcp:{server.url}")
            assert codenav("tools", *command).code == 4
            ran = codenav("tools", *command, *key)
            assert ran.code == 0 and "hi" in ran.out, ran.err
            codenav_home.joinpath("tools").rename(codenav_home / f"tools-of-{number}")
        with package.index(f"mcp:{server.url}", secret=secrets) as index:
            assert [block.name for block in index.blocks()] == ["hi"]
        codenav_home.joinpath("tools").rename(codenav_home / "tools-of-the-index")
        assert codenav("index", f"mcp:{server.url}").code == 4
        assert codenav("index", f"mcp:{server.url}", *key).code == 0
        ran = codenav("index", f"mcp:{server.url}", "--secret", "authorization=NOT_SET")
        assert (ran.code, ran.out) == (4, "") and "the variable NOT_SET is not set" in ran.err
    files = [path for path in codenav_home.rglob("*") if path.is_file()]
    assert not [path for path in files if b"token-58e1c09d" in path.read_bytes() and "/code/" not in str(path)]
