"""Requests for samples of tool graphs, from a real server: implausible ones, unreadable answers, and what breaks."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, Entry, Fault, Hang, Script
from command_line import Ran, codenav

from codenav.agents.models import ChatModel
from codenav.core.errors import ModelFailed, ModelRefused, ModelUnreachable
from codenav.core.traces import Trace
from codenav.toolgraph import storage
from codenav.toolgraph.back_instruction import BackInstruction, WrittenRequest
from codenav.toolgraph.graph import EdgeKind, ToolGraph
from codenav.toolgraph.sampling import Sampler, Shape

RATINGS = {"naturalness": 4, "complexity": 2, "alignment": 5}
REQUEST = {"plausible": True, "request": "Order ten roses for Ann."}
NONE = {"plausible": False, "request": ""}


def shop() -> ToolGraph:
    """Callables of a shop, each of which takes what the one before it gives."""
    graph = ToolGraph()
    ids = [f"shop.{name}" for name in ("find_user", "order", "pay", "ship", "review")]
    for id in ids:
        graph.node(id).description = f"Does what {id} does."
    for source, target in itertools.pairwise(ids):
        graph.count(EdgeKind.RESOURCE, source, target, "given", origin="traces")
    return graph


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "shop.json"
    storage.write(shop(), path)
    return path


def answered(written: Callable[[str], object], rated: object = RATINGS) -> Callable[[dict[str, Any]], str]:
    """A model that answers the question that it is asked; `written` gets the functions that it is shown."""

    def answer(body: dict[str, Any]) -> str:
        rules, shown = (message["content"] for message in body["messages"][:2])
        return json.dumps(written(shown) if "You write requests" in rules else rated)

    return answer


def asked(
    script: Script, *, size: int = 2, count: int = 1, timeout: float = 20.0
) -> tuple[list[WrittenRequest], BackInstruction]:
    with ChatServer(script) as server:
        model = ChatModel("test-model", base_url=server.url)
        writer = BackInstruction(model, lambda name: f"Text of {name}.", timeout=timeout)
        try:
            return list(writer.requests(Sampler(shop()).draw(Shape.CHAIN, [size]), count)), writer
        finally:
            model.close()


def sampled(graph: Path, script: Script, *options: str) -> tuple[Ran, ChatServer]:
    with ChatServer(script) as server:
        ran = codenav("graph", "sample", "--graph", graph, "--model", "test-model", "--base-url", server.url, *options)
    return ran, server


def lines(ran: Ran) -> Iterator[dict[str, Any]]:
    return map(json.loads, ran.out.splitlines())


def test_a_line_is_a_trace_with_its_request_and_its_ratings(graph: Path) -> None:
    ran, server = sampled(graph, answered(lambda shown: REQUEST), "-n", "5")
    (line,) = lines(ran)
    assert ran.code == 0
    assert line["request"] == REQUEST["request"]
    assert (line["ratings"], line["model"], line["origin"]) == (RATINGS, "test-model", "samples")
    trace = Trace.from_dict(line)
    assert [call.name.partition(".")[2] for call in trace.calls] == ["find_user", "order", "pay", "ship", "review"]
    assert dict(trace.calls[1].takes) == {"given": 0}
    shown = server.chats[0]["messages"][1]["content"]
    assert "1. shop.find_user: Does what shop.find_user does." in shown
    assert "2 takes given from the result of 1." in shown
    assert REQUEST["request"] in server.chats[1]["messages"][1]["content"]
    assert "Note: 1 of 10: no other chain of 5 callables was found in the graph." in ran.err


def test_implausible_ones_are_drawn_again(graph: Path) -> None:
    ran, _ = sampled(graph, answered(lambda shown: NONE if "ship" in shown else REQUEST), "-n", "2", "--count", "2")
    names = {call["name"] for line in lines(ran) for call in line["calls"]}
    assert names == {"shop.find_user", "shop.order", "shop.pay"}
    assert "not plausible, 0 without a readable answer" in ran.err


def test_a_model_that_finds_nothing_plausible_ends(graph: Path) -> None:
    ran, server = sampled(graph, answered(lambda shown: NONE), "--kind", "node", "-n", "3", "--count", "1")
    assert (ran.code, ran.out) == (1, "")
    assert "wrote a request for none of 5 sub-graphs" in ran.err
    assert len(server.chats) == 5


def test_without_a_model_they_have_no_request(graph: Path) -> None:
    ran = codenav("graph", "sample", "--graph", graph, "--kind", "dag", "-n", "2..3", "--count", "20")
    assert ran.code == 0
    assert [line["request"] for line in lines(ran)] == [""] * 7
    assert "7 of 20: no other dag of 2 to 3 callables was found in the graph" in ran.err


def test_samples_of_a_source_are_described_by_its_index_and_teach_no_graph(tmp_path: Path) -> None:
    place = tmp_path / "farm-repo"
    place.mkdir()
    (place / "farm.py").write_text(
        'def survey(field):\n    """Look at a field."""\n\n\ndef sow(ground):\n    """Sow."""\n'
    )
    taught = tmp_path / "traces.jsonl"
    taught.write_text('{"id": "1", "calls": [{"name": "farm.survey"}, {"name": "farm.sow", "takes": {"ground": 0}}]}\n')
    assert codenav("graph", "learn", "--on", place, "--from", taught).code == 0
    with ChatServer(answered(lambda shown: REQUEST)) as server:
        model = ("--model", "test-model", "--base-url", server.url)
        ran = codenav("graph", "sample", "--on", place, "-n", "2", "--count", "1", *model)
    assert "1. farm.survey: def survey(field) Look at a field." in server.chats[0]["messages"][1]["content"]
    samples = tmp_path / "samples.jsonl"
    samples.write_text(ran.out)
    before = codenav("graph", "show", "--on", place, "--json")
    learnt = codenav("graph", "learn", "--on", place, "--from", samples)
    assert "it was drawn from a graph, and teaches none" in learnt.err
    assert codenav("graph", "show", "--on", place, "--json").document == before.document


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("-n", "6"), "'6' is no number from 1 to 5"),
        (("-n", "4..2"), "nor a range of them such as 2..4"),
        (("--count", "0"), "--count"),
        (("--kind", "tree"), "'tree' is not one of"),
    ],
)
def test_a_wrong_option_is_told(graph: Path, options: tuple[str, ...], told: str) -> None:
    ran = codenav("graph", "sample", "--graph", graph, *options)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_a_graph_without_what_was_asked_for_is_told(tmp_path: Path) -> None:
    graph = ToolGraph()
    graph.node("alone")
    storage.write(graph, tmp_path / "graph.json")
    ran = codenav("graph", "sample", "--graph", tmp_path / "graph.json", "--kind", "dag", "-n", "2")
    assert (ran.code, ran.out) == (2, "")
    assert "the graph of graph has no dag of 2 callables" in ran.err


def test_what_was_written_stays_when_the_server_goes_away(graph: Path) -> None:
    script: list[Entry] = [json.dumps(REQUEST), json.dumps(RATINGS), Fault(401, "no such key")]
    ran, _ = sampled(graph, script, "-n", "2", "--count", "3")
    assert ran.code == ModelRefused.exit_code
    assert len(list(lines(ran))) == 1
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    "answer",
    [
        "There is nothing to say.",
        '{"plausible": true}',
        '{"plausible": "yes", "request": "Buy."}',
        '{"plausible": true, "request": "  "}',
        '{"plausible": true, "request": "' + "a" * 2_001 + '"}',
        '{"plausible": true, "request": "Call shop.order for Ann, please."}',
        '{"plausible": true, "request": "Please find_user Ann."}',
        '{"plausible": true, "request": "Pay',
        "{" * 300,
    ],
)
def test_an_answer_that_is_no_request_is_asked_for_once_more(answer: str) -> None:
    found, writer = asked([answer, json.dumps(REQUEST), json.dumps(RATINGS)], size=5)
    assert [one.trace.request for one in found] == [REQUEST["request"]]
    assert writer.counts.usage.requests == 3
    assert writer.counts.unreadable == 0


@pytest.mark.parametrize(
    "answer",
    ["good", {"naturalness": 6, "complexity": 1, "alignment": 1}, {"naturalness": 3}, {**RATINGS, "alignment": True}],
)
def test_a_sample_that_is_not_rated_is_left_out(answer: object) -> None:
    found, writer = asked(answered(lambda shown: REQUEST, answer), size=5)
    assert found == []
    assert (writer.counts.drawn, writer.counts.unreadable) == (1, 1)


@pytest.mark.parametrize(
    "text",
    [
        'Let me think: {"plausible": false, "request": ""}? No.\n```json\n%s\n```',
        "%s",
        "```\n%s\n```\nI hope {this} helps!",
    ],
)
def test_the_last_object_of_an_answer_counts(text: str) -> None:
    request = {"plausible": True, "request": "Send {ten} roses to “Ann”."}
    found, _ = asked([text % json.dumps(request), json.dumps(RATINGS)], size=5)
    assert [one.trace.request for one in found] == [request["request"]]


def test_half_a_character_is_replaced() -> None:
    found, _ = asked(['{"plausible": true, "request": "Roses \\ud800."}', json.dumps(RATINGS)], size=5)
    assert [one.trace.request for one in found] == ["Roses ?."]


def test_one_failure_costs_one_sample_and_three_end_it() -> None:
    broken = Fault(400, "the messages are not in order")
    found, writer = asked([broken, json.dumps(REQUEST), json.dumps(RATINGS)])
    assert len(found) == 1
    assert writer.counts.unreadable == 1
    with pytest.raises(ModelFailed):
        asked([broken] * 9, count=5)


def test_a_server_that_hangs_is_told() -> None:
    with pytest.raises(ModelUnreachable):
        asked([Hang()], timeout=0.3)
