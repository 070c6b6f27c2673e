"""The calls of a session: who hears of them, what a replay gets, and what an observation and a record hold."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tool_specs import shop

from codenav.core import schemas
from codenav.core.actions import Code, CodeObservation, Done, DoneObservation, Step
from codenav.core.errors import UsageError
from codenav.core.events import ActionTaken, Event, RunStarted, StepEnded, ToolCalled
from codenav.core.execution import Execution, Outcome, ToolCall
from codenav.core.options import ToolOptions
from codenav.core.secrets.masking import masker
from codenav.environments.formatting import executed
from codenav.episodes.record import EpisodeResult
from codenav.episodes.recorder import Recorder
from codenav.session.host_calls import MaskedCalls, RecordedCalls
from codenav.session.tool_calls import EpisodeCalls, ToolCalls
from codenav.tools.model import Effect
from codenav.tools.state_files import write_state


class Slow:
    """A broker whose calls end when they are let go, or cancelled."""

    def __init__(self, called: Callable[[ToolCall], None]) -> None:
        self.called = called
        self.go, self.began = threading.Event(), threading.Event()
        self.requests: list[tuple[str, float | None]] = []
        self.made: list[str] = []
        self.cancelled = self.closed = 0

    def __call__(self, name: str, arguments: dict[str, Any], /) -> Any:
        self.made.append(name)
        self.began.set()
        if name.endswith("slow"):
            self.go.wait(20)
        outcome = "failed" if self.cancelled else "ok"
        self.called(ToolCall(name.removeprefix("tools/").replace("/", "."), arguments, outcome=outcome))
        return {"value": len(self.made)}

    def begin(self, request: str, seconds: float | None) -> None:
        self.requests.append((request, seconds))

    def cancel(self) -> None:
        self.cancelled += 1
        self.go.set()

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The state of a source of tools."""
    write_state(shop("http://127.0.0.1:9"), tmp_path / "state")
    return tmp_path / "state"


def opened(folder: Path, **more: Any) -> tuple[ToolCalls, Slow]:
    brokers: list[Slow] = []

    def open_broker(called: Callable[[ToolCall], None]) -> Any:
        brokers.append(Slow(called))
        return brokers[0]

    return ToolCalls([folder], open_broker, **more), brokers[0]


def test_calls_go_to_the_broker_or_to_the_callers_own_handler(folder: Path) -> None:
    tools, broker = opened(folder, handler=lambda name, arguments: f"own {name}")
    assert tools("tools/shop/get_order", {"arguments": {"order_id": 1}}) == {"value": 1}
    assert tools("price", {}) == "own price"
    assert broker.made == ["tools/shop/get_order"]
    alone, _ = opened(folder)
    with pytest.raises(LookupError, match="no call of the name price"):
        alone("price", {})
    tools.close()
    tools.close()
    assert broker.closed == 1


def test_the_effect_of_a_call_is_that_of_its_operation(folder: Path) -> None:
    tools, _ = opened(folder)
    names = (
        "tools/shop/get_order",
        "tools/shop/create_order",
        "tools/shop/no_such",
        "tools/other/get_order",
        "get_order",
    )
    assert [tools.effect_of(name) for name in names] == [Effect.READ, Effect.WRITE, None, None, None]


def test_a_step_hears_of_its_calls_and_waits_for_one_in_flight(folder: Path) -> None:
    tools, broker = opened(folder)
    heard: list[tuple[str, str]] = []
    calls = EpisodeCalls(tools, "Order mugs")
    calls.hear = lambda call, by: heard.append((call.tool, by))
    with calls.collected() as made:
        tools.begin(5.0)
        tools("tools/shop/first", {})
        late = threading.Thread(target=tools, args=("tools/shop/slow", {}))
        late.start()
        assert broker.began.wait(5)
        while broker.made[-1:] != ["tools/shop/slow"]:
            time.sleep(0.01)
        tools.end()
    assert [(call.tool, call.outcome) for call in made] == [("shop.first", "ok"), ("shop.slow", "failed")]
    assert heard == [("shop.first", "step"), ("shop.slow", "step")]
    assert (broker.requests, broker.cancelled) == ([("Order mugs", 5.0)], 1)
    late.join()
    tools.end()
    assert broker.cancelled == 1, "nothing was in flight"


def test_a_call_that_cannot_be_told_is_the_last_one(folder: Path) -> None:
    tools, broker = opened(folder)
    calls = EpisodeCalls(tools, "")

    def full(call: ToolCall, by: str) -> None:
        raise UsageError("no room")

    calls.hear = full
    with pytest.raises(UsageError, match="no room"), calls.collected():
        assert tools("tools/shop/first", {}) == {"value": 1}
        assert "cannot be written" in tools("tools/shop/second", {})["refused"]
    assert broker.made == ["tools/shop/first"]
    with calls.collected():
        pass


def test_a_replay_gets_answers_in_their_order_and_sends_only_what_reads(folder: Path) -> None:
    tools, broker = opened(folder)
    session = RecordedCalls(MaskedCalls(tools, {}))
    read, write = ("tools/shop/list_orders", {"arguments": {}}), ("tools/shop/create_order", {"arguments": {"a": 1}})
    for name, arguments in (read, write, read, read):
        session(name, arguments)
    calls = EpisodeCalls(tools, "")
    refused: list[str] = []
    heard: list[tuple[str, str]] = []
    calls.hear = lambda call, by: heard.append((call.tool, by))
    with calls.replaying(refused) as unrecorded:
        again = session.again(unrecorded)
        # After the write the answer from after it; the one from before it is left for the end.
        assert [again(*write), again(*read), again(*read), again(*read)] == [
            {"value": 2}, {"value": 3}, {"value": 4}, {"value": 1},
        ]  # fmt: skip
        assert len(broker.made) == 4 and not heard
        assert again(*read) == {"value": 5}
        assert heard == [("shop.list_orders", "replay")]
        said = again("tools/shop/create_order", {"arguments": {"a": 2}})
        assert "a replay sends no call to shop.create_order" in said["refused"]
        again(*write)
        again("tools/shop/no_such", {})
    assert refused == ["shop.create_order", "shop.create_order", "shop.no_such"]
    assert broker.made[4:] == ["tools/shop/list_orders"]
    # Each replay begins anew.
    assert session.again()(*read) == {"value": 1}


def test_what_a_call_tells_is_masked_whatever_its_keys_are(folder: Path) -> None:
    tools, broker = opened(folder, mask=masker({"KEY": "s3cret-value"}))
    made: list[ToolCall] = []
    with tools.heard(made.append):
        broker.called(
            ToolCall(
                "shop.x", {"type": "s3cret-value"}, answer={"status": ["s3cret-value"], "id": "s3cret-value"},
                shown="it is s3cret-value",
            )
        )  # fmt: skip
    (call,) = made
    assert "s3cret" not in json.dumps(call.to_dict())
    assert call.answer == {"status": ["[secret KEY]"], "id": "[secret KEY]"}


# Observations


def code_step(number: int, calls: tuple[ToolCall, ...] = ()) -> Step:
    execution = Execution(Outcome.OK)
    return Step(number, Code("x = 1"), CodeObservation("ok", execution=execution, calls=calls))


CALL = ToolCall(
    "shop.create_order", {"customer": 7}, "write", "ok", 201, 0.0123, 52, {"id": 41}, '{"id": 41}', 2
)  # fmt: skip


def test_an_observation_lists_calls_with_their_answers() -> None:
    refused = ToolCall("shop.drop", outcome="refused", effect="destroy", shown="shop.drop deletes: --allow all")
    text = executed(Execution(Outcome.CRASHED), (), (CALL, refused))
    assert text.splitlines()[1:4] == [
        "Calls to tools:",
        '- shop.create_order: 201, 0.01 s, 2 tries: {"id": 41}',
        "- shop.drop: refused, 0.00 s: shop.drop deletes: --allow all",
    ]
    assert "Calls" not in executed(Execution(Outcome.OK), ())


def test_many_calls_are_bounded_and_counted() -> None:
    many = [ToolCall(f"shop.n{number}", status=200, shown="x" * 1024) for number in range(150)]
    many[40] = ToolCall("shop.n40", outcome="failed", shown="gone")
    text = executed(Execution(Outcome.OK), (), many)
    assert "… 130 calls left out, 1 of them without a good answer …" in text
    rows = [line for line in text.splitlines() if line.startswith("- shop.")]
    assert [rows[0].split(":")[0], rows[9].split(":")[0], rows[10].split(":")[0], rows[-1].split(":")[0]] == [
        "- shop.n0", "- shop.n9", "- shop.n140", "- shop.n149",
    ]  # fmt: skip
    assert len(rows) == 20 and len(text) < 10_000
    (single,) = [ToolCall("shop.a", status=200, shown="x" * 5000)]
    assert "x" * 5000 in executed(Execution(Outcome.OK), (), (single,)), "bounded where it was made"


# Records


def record(folder: Path, events: list[Event]) -> list[dict[str, Any]]:
    recorder = Recorder(folder, secrets={"KEY": "s3cret-value"})
    for event in events:
        recorder(event)
    recorder.close()
    found = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    for line in found:
        jsonschema.validate(line, schemas.load("event"))
    return found


def started() -> RunStarted:
    return RunStarted("20260301-120000-9c01ab", "Order.", "2026-03-01T12:00:00+00:00", "m")


def test_calls_are_lines_of_their_own_and_come_back_with_their_steps(tmp_path: Path) -> None:
    code = Code("x = 1")
    events: list[Event] = [
        started(), ActionTaken(1, code), 
        ToolCalled(1, CALL), ToolCalled(1, CALL), StepEnded(code_step(1, (CALL, CALL))), ToolCalled(1, CALL, "replay"),
        ActionTaken(2, Done("1")), StepEnded(Step(2, Done("1"), DoneObservation("1"))),
        ActionTaken(3, code), ToolCalled(3, CALL),
    ]  # fmt: skip
    lines = record(tmp_path, events)
    written = next(line for line in lines if line["event"] == "called")
    assert written == {"event": "called", "number": 1, "by": "step", **CALL.to_dict()}
    assert "calls" not in next(line for line in lines if line["event"] == "observed")["step"]["observation"]
    result = EpisodeResult.from_events((tmp_path / "events.jsonl").read_bytes().splitlines())
    assert result.steps[0].observation.calls == (CALL, CALL)  # type: ignore[attr-defined]
    assert [(one.number, one.by) for one in result.calls] == [(1, "replay"), (3, "step")]
    document = result.to_dict()
    jsonschema.validate(document, schemas.load("episode"))
    assert document["steps"][0]["observation"]["calls"][0]["seconds"] == 0.0123
    assert Step.from_dict(document["steps"][0]) == result.steps[0]


def test_events_of_several_threads_are_whole_lines(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder(started())
    threads = [threading.Thread(target=lambda: [recorder(ToolCalled(1, CALL)) for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorder.close()
    recorder(ToolCalled(1, CALL))
    lines = (tmp_path / "events.jsonl").read_text().splitlines()
    assert len(lines) == 81 and all(json.loads(line)["event"] for line in lines)


# Options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"allow": "everything"}, "allow must be one of read, write, all, ask, dry-run: everything"),
        ({"server": "ftp://host"}, "the server is no address"),
        ({"server": "http://host/?a=1"}, "the server is no address"),
        ({"answer_characters": 0}, "answer_characters must be at least 80"),
        ({"secrets": ["=A"]}, "a secret is not NAME=VARIABLE"),
        ({"secrets": ["a=not a name"]}, "the secret 'a' names no variable"),
        ({"secrets": ["a=A", "a=B"]}, "the secret 'a' is named twice"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        ToolOptions(**options).checked()
    assert caught.value.hint


def test_secrets_by_name() -> None:
    assert ToolOptions(secrets="a=A").variables() == {"a": "A"}
    assert ToolOptions(secrets={"a": "A"}).variables() == ToolOptions(secrets=("a=A",)).variables()
    assert ToolOptions(server="http://[::1]:8000/v1").checked().server == "http://[::1]:8000/v1"
