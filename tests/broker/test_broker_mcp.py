"""Calls through the broker to real MCP servers: gates by their hints, files, faults, interrupts, variables."""

from __future__ import annotations

import base64
import shlex
import sys
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from codenav.core.errors import UsageError
from codenav.tools.mcp_reading import read_mcp
from codenav.tools.stubs import stubs_of

SERVERS = Path(__file__).parent.parent / "mcp_servers"


@cache
def spec(name: str, *ways: str) -> Any:
    """The specification of a server, which is read once."""
    return read_mcp(shlex.join([sys.executable, str(SERVERS / f"{name}.py"), *ways]))


def test_files_errors_and_parts(calls: Any) -> None:
    shop = spec("shop")
    call = calls(specs=[shop])
    file = call(f"{shop.name}.picture", mug="blue")["file"]
    assert file["type"] == "image/png" and base64.b64decode(file["data"]).startswith(b"\x89PNG")
    assert file["show"], "a picture is displayed, too"
    words, picture = call(f"{shop.name}.parts")["parts"]
    assert words == {"value": "a mug"} and picture == {"file": file}
    assert call.last.answer == ["a mug", {"$file": {"name": "image.png", "type": "image/png", "bytes": 70}}]
    error = call(f"{shop.name}.fail")["error"]
    assert error["message"].startswith(f"{shop.name}.fail: Error executing tool") and call.last.outcome == "error"
    large = call(f"{shop.name}.long", characters=9 << 20)["error"]
    assert call.last.outcome == "failed" and "\n" not in large["message"]


def test_a_plain_result_that_the_library_of_a_server_has_wrapped_is_plain_again(calls: Any) -> None:
    handmade, shop = spec("handmade", "more"), spec("shop")
    by_id = {operation.id: operation for operation in handmade.operations}
    assert by_id["count"].result == by_id["marked"].result == {"$ref": "#/schemas/N"}
    assert handmade.schemas["N"] == {"type": "integer"}
    call = calls(specs=[handmade, shop])
    assert call(f"{handmade.name}.count") == call(f"{handmade.name}.marked") == {"value": 42}
    assert call.last.shown == "42"
    assert call(f"{handmade.name}.measure") == {"value": {"result": 42, "unit": "m"}}
    assert call(f"{shop.name}.list_orders") == {"value": []}
    assert next(one for one in shop.operations if one.id == "list_orders").result["type"] == "array"


def test_a_tool_that_runs_as_a_task_only_is_not_called_in_vain(calls: Any) -> None:
    handmade = spec("handmade", "more")
    assert any("long_work cannot be called: its server runs it as a task only" in note for note in handmade.notes)
    call = calls(specs=[handmade])
    told = call(f"{handmade.name}.long_work")["refused"]
    assert "(taskSupport: required)" in told and told.count(". ") == 0 and call.last.outcome == "refused"
    assert call(f"{handmade.name}.short_work") == {"value": "done"}
    said = next(stub.docstring for stub in stubs_of(handmade) if stub.name == "long_work")
    assert "Cannot be called: its server runs it as a task only" in said


@pytest.mark.parametrize("way", ["before", "garbage"])
def test_text_of_a_server_between_its_messages_is_ignored_and_told_once(calls: Any, way: str) -> None:
    handmade = spec("handmade", way)
    assert sum("prints text that is no message" in note for note in handmade.notes) == 1
    call = calls(specs=[handmade])
    shown = []
    for _ in range(3):
        assert call(f"{handmade.name}.add", a=1, b=2) == {"value": "3"}
        shown.append(call.last.shown)
    assert "prints text that is no message, which is ignored: '" in shown[0] and shown[1] == shown[2], shown
    assert "no message" not in shown[1]


def test_the_time_of_a_call_holds_for_the_start_of_its_server_too(calls: Any) -> None:
    handmade = spec("handmade", "slow")
    short, long = calls(specs=[handmade], tool_timeout=0.4), calls(specs=[handmade], tool_timeout=20.0)
    assert "no answer within 0.4 s" in short(f"{handmade.name}.add", a=1, b=2)["error"]["message"]
    assert long(f"{handmade.name}.add", a=1, b=2) == {"value": "3"}


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


@pytest.mark.parametrize("secret", ["TOKEN", "handmade.TOKEN"])
def test_a_secret_is_a_variable_of_the_server_and_masked_in_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    from tool_specs import Calls

    from codenav.core.options import ToolOptions

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
