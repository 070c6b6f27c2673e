"""Files of traces: each line that is none is told in a sentence, and the others are read."""

from __future__ import annotations

import json
import re
import tracemalloc
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from codenav.core import schemas
from codenav.core.errors import NotFound
from codenav.core.traces import Trace, TracedCall
from codenav.toolgraph import trace_files
from codenav.toolgraph.data_flow import Exchange, flows
from codenav.toolgraph.trace_files import MOST_CALLS, read_traces


def read(path: Path) -> tuple[list[Trace], list[tuple[int, str]]]:
    told: list[str] = []
    traces = list(read_traces(path, told.append))
    parts = [re.fullmatch(rf"{re.escape(path.name)}, line (\d+), is left out: (.*)", text) for text in told]
    return traces, [(int(found[1]), found[2]) for found in parts if found]


def test_what_to_dict_writes_is_read_back_and_fits_the_schema(tmp_path: Path) -> None:
    calls = (TracedCall("shop.list", seconds=0.5), TracedCall("shop.order", False, takes={"id": 0}))
    traces = [
        Trace("one", calls, "Order a mug", verified=False, origin="episodes", ended=1.7e9),
        Trace("two", calls[:1], ordered=False),
    ]
    for trace in traces:
        jsonschema.validate(trace.to_dict(), schemas.load("trace"))
    file = tmp_path / "traces.jsonl"
    file.write_text("".join(json.dumps(trace.to_dict()) + "\n" for trace in traces))
    assert read(file) == (traces, [])


def test_names_alone_will_do_and_a_trace_without_an_id_is_known_by_its_content(tmp_path: Path) -> None:
    file = tmp_path / "traces.jsonl"
    file.write_text('\ufeff{"calls": ["a", "b"]}\n\n  {"calls": ["a", "b"]}  \n{"calls": ["b", "a"]}')
    found, told = read(file)
    assert [[call.name for call in trace.calls] for trace in found] == [["a", "b"], ["a", "b"], ["b", "a"]]
    assert not told
    assert found[0].id != found[2].id == read(file)[0][2].id


GOOD = b'{"id": "good", "calls": ["a"]}'


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"calls": [{"name": "a"', "it is cut short"),
        (b"calls: a, b", "it is not JSON"),
        (b'{"id": "\\ud800", "calls": ["a"]}', "it holds half a character"),
        (b'{"calls": ["a"], "request": "Buy \\udc00"}', "it holds half a character"),
        (b'{"calls": ["a", {"name": "b", "takes": {"\\ud800": 0}}]}', "it holds half a character"),
        (b"[1, 2]", 'it is no trace: an object with "calls", a list'),
        (b'{"calls": {"name": "a"}}', 'it is no trace: an object with "calls", a list'),
        (b'{"calls": ["\xff\xfe"]}', "it is not in UTF-8"),
        (b'{"calls": ["a"], "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "it is nested too deeply"),
        (b'{"calls": [{"ok": true}]}', "call 0 has no name"),
        (b'{"calls": ["a", 3]}', "call 1 has no name"),
        (b'{"calls": ["a", {"name": "b", "takes": {"x": 1}}]}', "call 1, b, takes the result of call 1, which is not"),
        (
            b'{"calls": [{"name": "b", "takes": {"x": 7}}]}',
            "call 0, b, takes the result of call 7, which is not before",
        ),
        (b'{"calls": ["a", {"name": "b", "takes": {"x": -1}}]}', "call 1, b, takes the result of call -1, which is no"),
        (b'{"calls": ["a", {"name": "b", "takes": [0]}]}', 'call 1, b: "takes" is no object'),
        (b'{"calls": ["a"], "id": ["a"]}', 'its "id" is not text'),
        (b'{"calls": ["a"], "request": 5}', 'its "request" is not text'),
        (b'{"calls": ["a"], "verified": "yes"}', 'its "verified" is not true or false'),
        (b'{"calls": ["a"], "origin": "dreams"}', "its origin is none of traces, code, specs, episodes, samples"),
        (b'{"calls": [' + b'"a",' * MOST_CALLS + b'"a"]}', "it has 10,001 calls, more than 10,000"),
    ],
)
def test_a_line_that_is_no_trace_is_told_in_a_sentence_and_the_others_are_read(
    tmp_path: Path, line: bytes, why: str
) -> None:
    file = tmp_path / "traces.jsonl"
    file.write_bytes(GOOD + b"\n" + line + b"\n" + GOOD)
    found, told = read(file)
    assert [trace.id for trace in found] == ["good", "good"]
    [(number, reason)] = told
    assert number == 2
    assert reason.startswith(why)


def test_times_that_are_none_are_unknown(tmp_path: Path) -> None:
    file = tmp_path / "traces.jsonl"
    seconds: list[Any] = [-1, float("nan"), float("inf"), "3", True, None, 1e300]
    calls = [{"name": "a", "seconds": one} for one in seconds]
    file.write_text(json.dumps({"id": "t", "calls": calls, "ended": float("nan")}))
    [trace], told = read(file)
    assert not told
    assert [call.seconds for call in trace.calls] == [None] * len(seconds)
    assert trace.ended == 0


def test_a_line_of_a_million_steps_is_never_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_files, "LONGEST_LINE", 2**20)
    file = tmp_path / "traces.jsonl"
    with open(file, "wb") as out:
        out.write(GOOD + b"\n" + b'{"calls": [')
        for _ in range(100):
            out.write(b'"shop.list_products",' * 10_000)
        out.write(b'"end"]}\n' + GOOD + b"\n")
    tracemalloc.start()
    found, told = read(file)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert ([trace.id for trace in found], told) == (["good", "good"], [(2, "it is longer than 1 MB")])
    assert peak < 8 * 2**20 < file.stat().st_size


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="cannot be read: Is a directory"):
        read(tmp_path)


def node(kind: str, text: str, *children: Any, **more: Any) -> dict[str, Any]:
    return {"node_type": kind, "description": text, "pruned": False, "children": list(children), **more}


def called(name: str, arguments: Any, answer: str, *children: Any, error: str = "", **more: Any) -> dict[str, Any]:
    observation = json.dumps({"error": error, "response": answer})
    inputs = node("Action Input", json.dumps(arguments), *children, observation=observation, observation_code=0)
    return node("Action", name, inputs, **more)


def finish(how: str) -> dict[str, Any]:
    said = {"return_type": how, "final_answer": "Done."}
    return node("Action", "Finish", node("Action Input", json.dumps(said), observation_code=3))


def tree(*children: Any, **told: Any) -> dict[str, Any]:
    talk = [{"role": "system", "content": "You are"}, {"role": "user", "content": "\nFind a hotel in Ulm.\nBegin!\n"}]
    root = node("Action Input", "", *children)
    return {"win": True, "tree": {"size": 1, "tree": root}, "answer_generation": {"train_messages": [talk], **told}}


DETAILS = called(
    "hotel_details", {"hotel": "ulm-0042", "town": "Ulm"}, "{'stars': 3}", finish("give_answer")
)  # fmt: skip
PHOTOS = called("hotel_photos", {"id": "ulm-0042"}, "", DETAILS, error="429")
PRUNED = called("pay", {"id": "ulm-0042"}, "", finish("give_answer"), pruned=True)
HOTELS = "[{'id': 'ulm-0042', 'name': 'Adler'}]"
ANSWER = tree(called("search_hotels", {"city": "Ulm"}, HOTELS, PRUNED, node("Thought", "It is the Adler.", PHOTOS)))


def test_of_an_answer_tree_the_one_line_of_calls_that_worked_is_left(tmp_path: Path) -> None:
    file = tmp_path / "10_answer.json"
    file.write_text(json.dumps(ANSWER, indent=2))
    [trace], told = read(file)
    assert not told
    assert (trace.id, trace.request) == ("10_answer", "Find a hotel in Ulm.")
    assert [call.name for call in trace.calls] == ["search_hotels", "hotel_details"]
    # The town stands in the request, which may be where it is from.
    assert [dict(call.takes) for call in trace.calls] == [{}, {"hotel": 0}]
    lines = tmp_path / "answers.jsonl"
    lines.write_text(json.dumps(ANSWER) + "\n" + json.dumps(ANSWER))
    assert [one.id for one in read(lines)[0]] == ["answers:1", "answers:2"]


@pytest.mark.parametrize(
    "data",
    [
        tree(called("a", {}, "", finish("give_up_and_restart"))),
        tree(called("a", {}, "", finish("give_answer")), finish_type="give_up"),
        tree(called("a", {}, "")),
        tree(),
    ],
)
def test_an_answer_tree_that_gave_up_teaches_nothing(tmp_path: Path, data: Any) -> None:
    file = tmp_path / "answer.json"
    file.write_text(json.dumps(data, indent=2))
    assert read(file) == ([], [(1, "it gave up, so nothing is learnt from it")])


@pytest.mark.parametrize("children", [None, 3, [None, 7, "x"], {"a": 1}])
def test_a_damaged_tree_is_no_fault_of_ours(tmp_path: Path, children: Any) -> None:
    file = tmp_path / "answer.json"
    file.write_text(json.dumps({**ANSWER, "tree": {"tree": {"children": children}}}, indent=2))
    assert read(file)[1] == [(1, "it gave up, so nothing is learnt from it")]


def test_a_value_flows_from_the_last_answer_that_has_it() -> None:
    found = flows(
        [
            Exchange({"text": "mug"}, [{"id": "mug-0001", "pieces": 3}, {"id": "mug-0002"}]),
            Exchange({"product": "mug-0002", "pieces": 3}, {"order": 987654, "product": "mug-0002"}),
            Exchange({"order": 987654, "note": "for Ada Lovelace", "product": "mug-0001"}, "ok"),
        ],
        "Order a mug for Ada Lovelace",
    )
    assert found == [{}, {"product": 0}, {"order": 1, "product": 0}]


def test_an_answer_that_repeats_what_it_was_asked_gives_nothing() -> None:
    first = Exchange({"city": "Heidelberg"}, {"city": "Heidelberg", "zip": "69115"})
    assert flows([first, Exchange({"city": "Heidelberg"}, {}), Exchange({"zip": "69115"}, {})], "") == [
        {},
        {},
        {"zip": 0},
    ]
