"""Calls through the broker to real MCP servers: gates by their hints, files, faults, interrupts, variables."""

from __future__ import annotations

import base64
import shlex
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from codenav.errors import UsageError
from codenav.tools.mcp_reading import read_mcp

SERVERS = Path(__file__).parent.parent / "mcp_servers"


def spec(name: str, *ways: str) -> Any:
    return read_mcp(shlex.join([sys.executable, str(SERVERS / f"{name}.py"), *ways]))


def test_reads_and_writes_pass_their_gates(calls: Any) -> None:
    shop = spec("shop")
    call = calls(allow="write", specs=[shop])
    made = call(f"{shop.name}.create_order", customer=7, lines=[{"mug": "blue", "pieces": 2}])["value"]
    assert made["number"] == 1 and made["lines"] == [{"mug": "blue", "pieces": 2}]
    assert (call.last.effect, call.last.outcome, call.last.bytes > 20) == ("write", "ok", True)
    found = call(f"{shop.name}.list_orders", customer=7)["value"]
    assert "blue" in str(found)
    assert "--allow all" in call(f"{shop.name}.delete_orders")["refused"]
    assert "--allow write" in calls(specs=[shop], allow="read")(
        f"{shop.name}.create_order", customer=7, lines=[]
    )["refused"]  # fmt: skip
    told = call(f"{shop.name}.create_order", customer=7, lines=[{"mug": "blue", "pieces": 100}])["refused"]
    assert "lines[0]['pieces']: expected a whole number, at least 1, at most 99, got 100" in told


def test_files_errors_and_parts(calls: Any) -> None:
    shop = spec("shop")
    call = calls(specs=[shop])
    file = call(f"{shop.name}.picture", mug="blue")["file"]
    assert file["type"] == "image/png" and base64.b64decode(file["data"]).startswith(b"\x89PNG")
    parts = call(f"{shop.name}.parts")["value"]
    assert parts[0] == "a mug" and parts[1]["type"] == "image/png"
    error = call(f"{shop.name}.fail")["error"]
    assert error["message"].startswith(f"{shop.name}.fail: Error executing tool") and call.last.outcome == "error"
    large = call(f"{shop.name}.long", characters=9 << 20)["error"]
    assert call.last.outcome == "failed" and "\n" not in large["message"]


def test_a_call_ends_with_its_time_and_at_an_interrupt(calls: Any) -> None:
    shop = spec("shop")
    call = calls(specs=[shop])
    call(f"{shop.name}.echo")
    call.broker.begin("", 1.0)
    began = time.monotonic()
    assert "error" in call(f"{shop.name}.wait", seconds=20)
    assert time.monotonic() - began < 10
    call.broker.begin("", 30)
    threading.Timer(0.5, call.broker.cancel).start()
    began = time.monotonic()
    assert "interrupted" in call(f"{shop.name}.wait", seconds=20)["error"]["message"]
    assert time.monotonic() - began < 10
    assert call(f"{shop.name}.echo", value="x") == {"value": "'x'"}


def test_a_server_that_dies_or_says_nothing(calls: Any) -> None:
    handmade = spec("handmade")
    call = calls(specs=[handmade], call_seconds=3.0)
    for tool in ("die", "hang"):
        began = time.monotonic()
        answer = call(f"{handmade.name}.{tool}")["error"]
        assert "\n" not in answer["message"] and time.monotonic() - began < 15, tool
        assert call.last.outcome == "failed"
    # It does one thing at a time, so the next call waits in vain, too; after that it is started anew.
    assert call(f"{handmade.name}.add", a=1, b=2)["error"]["status"] is None
    assert call(f"{handmade.name}.add", a=1, b=2) == {"value": "3"}


@pytest.mark.parametrize("secret", ["TOKEN", "handmade.TOKEN"])
def test_a_secret_is_a_variable_of_the_server_and_masked_in_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    from tool_specs import Calls

    from codenav.options import ToolOptions

    monkeypatch.setenv("MY_TOKEN", "a-token-of-mine-4711")
    handmade = spec("handmade")
    name = secret.replace("handmade", handmade.name)
    call = Calls(tmp_path, [handmade], ToolOptions(allow="all", secrets={name: "MY_TOKEN"}))
    with call.broker:
        answer = str(call(f"{handmade.name}.variables"))
        assert "a-token-of-mine-4711" not in answer and "MY_TOKEN" not in answer
        assert f"[secret {name}]" in answer
    with pytest.raises(UsageError, match=r"no secret 'other\.TOKEN'; there are handmade\.NAME"):
        Calls(tmp_path, [handmade], ToolOptions(secrets={"other.TOKEN": "MY_TOKEN"}))
