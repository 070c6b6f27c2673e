"""The findings of `codenav doctor --probe`, kept for later runs."""

from __future__ import annotations

import json
import stat
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, Fault
from command_line import codenav

from codenav.agents.models import ChatModel
from codenav.agents.models.kept import AGE, Findings, findings, keep
from codenav.agents.models.profile import Profile
from codenav.core.actions import Done
from codenav.core.messages import Message, Sampling

URL = "http://ann:hunter2@gpu.example:8000/v1?key=s3cret"
ASK = [Message("user", "What is six times seven?")]


def found(age: timedelta = timedelta(0), **learned: object) -> Findings:
    date = (datetime.now(UTC) - age).isoformat(timespec="seconds")
    return Findings({**Profile(96).learned, **learned}, ["grammar"], date)


def the_file(home: Path) -> Path:
    [file] = (home / "endpoints").iterdir()
    return file


def test_they_come_back_for_this_url_and_model_alone(codenav_home: Path) -> None:
    kept = found(context=16384, tools=False)
    keep(URL, "qwen3", kept)
    again = findings("http://gpu.example:8000/v1", "qwen3")
    assert again and (again.learned, list(again.missing), again.date) == (kept.learned, ["grammar"], kept.date)
    assert str(again) == f"tried on {kept.date[:10]}: 16,384 tokens of context; without grammar"
    assert findings(URL, "qwen2") is None and findings("http://gpu.example:8001/v1", "qwen3") is None
    file = the_file(codenav_home)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert not any(secret in file.read_text() for secret in ("ann", "hunter2", "s3cret"))


@pytest.mark.parametrize("change", [
    {"format": 0}, {"format": None}, {"date": "yesterday"}, {"date": 5}, {"date": "2026-11-28T03:00:00"},
    {"learned": []}, {"learned": {}}, {"missing": None}, {"missing": [3]},
])  # fmt: skip
def test_a_file_of_another_form_is_not_used(codenav_home: Path, change: dict[str, object]) -> None:
    keep(URL, "m", found())
    file = the_file(codenav_home)
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    assert findings(URL, "m") is None


@pytest.mark.parametrize(
    "learned", [{"stream": 1}, {"context": "4k"}, {"context": -1}, {"max_tokens_name": "n"}, {"x": 1}]
)
def test_nor_one_with_other_values(codenav_home: Path, learned: dict[str, Any]) -> None:
    keep(URL, "m", found(**learned))
    assert the_file(codenav_home) and findings(URL, "m") is None


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "\x00\xff", "[" * 100_000])
def test_nor_one_that_is_damaged(codenav_home: Path, text: str) -> None:
    keep(URL, "m", found())
    the_file(codenav_home).write_text(text)
    assert findings(URL, "m") is None


def test_nor_one_that_is_old(codenav_home: Path) -> None:
    keep(URL, "m", found(AGE - timedelta(hours=1)))
    assert findings(URL, "m")
    for age in (AGE + timedelta(hours=1), -AGE - timedelta(hours=1)):
        keep(URL, "m", found(age))
        assert findings(URL, "m") is None


def test_many_at_once_leave_one_whole(codenav_home: Path) -> None:
    threads = [threading.Thread(target=keep, args=(URL, "m", found(context=1000 + n))) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert the_file(codenav_home) and findings(URL, "m")


def test_a_place_that_cannot_be_written_is_no_error(codenav_home: Path) -> None:
    codenav_home.mkdir(exist_ok=True)
    (codenav_home / "endpoints").write_text("in the way")
    keep(URL, "m", found())
    assert findings(URL, "m") is None


def test_a_run_begins_with_them_and_a_newer_refusal_wins(chat_server: ChatServer, told: list[str]) -> None:
    keep(chat_server.url, "kept", found(max_tokens_name="max_completion_tokens", temperature=False, context=4000))
    chat_server.refuses = ["stop"]
    chat_server.script = [Done("42")]
    with closing(ChatModel("kept", base_url=chat_server.url, notice=told.append)) as model:
        assert model.complete(ASK).text == Done("42").to_xml()
    first, second = chat_server.chats
    assert "stop" in first and "stop" not in second and not {"temperature", "max_tokens"} & set(first)
    assert 3000 < first["max_completion_tokens"] < 4000
    assert told == ["kept: refuses stop: left out, answers are cut off here"]
    now = findings(chat_server.url, "kept")
    assert now and now.learned == found(
        max_tokens_name="max_completion_tokens", temperature=False, context=4000, stop=False
    ).learned  # fmt: skip


def test_the_smaller_of_a_told_and_a_kept_context_counts(chat_server: ChatServer) -> None:
    keep(chat_server.url, "both", found(context=4000))
    chat_server.script = [Done("42")] * 2
    with closing(ChatModel("both", base_url=chat_server.url, context=2000)) as model:
        model.complete(ASK, sampling=Sampling())
    assert chat_server.chats[0]["max_tokens"] < 2000


def test_the_doctor_keeps_and_shows_them(codenav_home: Path) -> None:
    refused = ("tools", "temperature", "max_tokens", "grammar", "top_p")

    def answer(body: dict[str, object]) -> str | Fault:
        return Fault(400, "System role not supported") if len(body["messages"]) > 1 else "ready"  # type: ignore[arg-type]

    with ChatServer(answer, refuses=refused) as server:
        at = ("--model", "test-model", "--base-url", server.url)
        rows = {row["name"]: row for row in codenav("doctor", *at, "--probe", "--json").document}
        assert "tried on" not in rows["model"]["detail"]
        assert (rows["tools"]["ok"], rows["tools"]["hint"]) == (False, "runs read actions as text")
        assert rows["answer"]["ok"] and not rows["temperature 0"]["ok"]
        again = {row["name"]: row for row in codenav("doctor", *at, "--json").document}
        today = f"{datetime.now(UTC):%Y-%m-%d}"
        assert f"has test-model, tried on {today}: without " in again["model"]["detail"]
        assert "tools" in again["model"]["detail"].partition("without")[2]
        kept = findings(server.url, "test-model")
        asked = len(server.chats)
        (codenav_home.parent / "farm.py").write_text("def acres() -> int:\n    return 12\n")
        ran = codenav("run", "How much?", "--on", codenav_home.parent / "farm.py", *at, "--action-format", "tools",
                      "--max-steps", "1")  # fmt: skip
    assert ran.err.count("takes no tools, as codenav doctor --probe found") == 1 and "refuses" not in ran.err
    assert len(server.chats) == asked + 1
    off = {name for name, value in (kept.learned if kept else {}).items() if value is False}
    assert off == {"tools", "temperature", "grammar", "system"}
