"""Votes: the memory of verified episodes, PageRank, the ranker of a graph and its gate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from drawn import drawn
from hypothesis import given
from hypothesis import strategies as st
from toolgraph.drawn_graphs import graphs

from codenav.core.blocks import BlockKind, CodeBlock, Hit
from codenav.core.traces import Trace, TracedCall
from codenav.toolgraph import memory as remembering
from codenav.toolgraph.gate import Gate, measure
from codenav.toolgraph.graph import EdgeKey, EdgeKind, NodeKind, ToolGraph
from codenav.toolgraph.memory import Memory
from codenav.toolgraph.ranker import GraphRanker
from codenav.toolgraph.votes import MOST_PUSHES, Polling, Shipped, WaysOf, Weights, pagerank

EPISODES = Shipped(Weights(episodes=1.0), Weights(episodes=1.0, steps=1.0))


def trace(id: str, request: str, *calls: str, verified: bool = True, ordered: bool = True) -> Trace:
    return Trace(id, tuple(map(TracedCall, calls)), request, verified=verified, ordered=ordered)


def remembered(*traces: Trace) -> Memory:
    return Memory(traces, str.split)


def hits(*scored: tuple[str, float]) -> list[Hit]:
    """Hits of callables of that name, whose text nobody may load."""

    def load() -> CodeBlock:
        raise AssertionError("the text of a hit was loaded")

    return [Hit(name, kind=BlockKind.TOOL, path="", score=score, why="", load=load) for name, score in scored]


def ranker(graph: ToolGraph, *names: str, memory: Memory | None = None, **weights: float) -> GraphRanker:
    chosen = Shipped(Weights(**weights), Weights(**weights)) if weights else None
    return GraphRanker(graph, names={name: name for name in names}, memory=memory, weights=chosen)


# Memory.


def test_a_repeated_request_is_answered_as_before_and_another_one_is_not() -> None:
    memory = remembered(trace("e1", "order two mugs", "shop.order"), trace("e2", "weather in rome", "weather.now"))
    again = memory.answers("order two mugs")
    assert again["shop.order"].value == pytest.approx(1 / (1 + remembering.RIDGE))
    assert memory.traces[again["shop.order"].episode].id == "e1"
    assert "weather.now" not in again
    assert memory.answers("paint a fence") == memory.answers("") == {}


def test_episodes_that_say_the_same_share_one_voice() -> None:
    often = [trace(f"e{number}", "order two mugs", "shop.order") for number in range(50)]
    memory = remembered(*often, trace("f", "order two mugs now", "shop.express"))
    found = memory.answers("order two mugs now")
    assert 0.9 < found["shop.order"].value + found["shop.express"].value < 1.1
    assert found["shop.express"].value > found["shop.order"].value


def test_only_verified_episodes_and_calls_that_worked_are_remembered() -> None:
    failed = Trace("e", (TracedCall("a", ok=False), TracedCall("b")), "do it")
    memory = remembered(failed, trace("x", "do it", "c", verified=False), trace("y", " ", "d"))
    assert [each.id for each in memory.traces] == ["e"]
    assert set(memory.answers("do it")) == {"b"}


def test_the_next_step_is_that_of_the_similar_episode_in_the_same_place() -> None:
    memory = remembered(
        trace("e1", "order mugs", "login", "list", "order"),
        trace("e2", "order plates", "login", "list", "order"),
        trace("e3", "count stock", "login", "list", "count"),
        trace("e4", "ship it", "find", "list", "ship"),
    )
    stock = memory.next_steps("count the stock", ("login", "list"))
    assert max(stock, key=lambda name: stock[name].value) == "count"
    unlike = memory.next_steps("something else", ("find", "list"))
    assert max(unlike, key=lambda name: unlike[name].value) == "ship"
    assert memory.next_steps("order mugs", ("login", "list", "list")) == memory.next_steps(
        "order mugs", ("login", "list")
    )
    assert memory.next_steps("order mugs", ()) == memory.next_steps("order mugs", ("order",)) == {}


def test_a_set_of_calls_without_order_has_no_next_step() -> None:
    assert remembered(trace("e", "do it", "a", "b", ordered=False)).next_steps("do it", ("a",)) == {}


def test_one_callable_a_hundred_thousand_times_is_one_call() -> None:
    memory = remembered(Trace("e", (TracedCall("a"),) * 100_000 + (TracedCall("b"),), "do it"))
    assert memory.called == [("a", "b")]
    assert set(memory.next_steps("do it", ("a",))) == {"b"}


def test_requests_without_a_word_are_like_none() -> None:
    memory = Memory([trace("e1", "?!", "a", "b"), trace("e2", "…", "c")], lambda text: [])
    assert memory.answers("?!") == {}
    assert set(memory.next_steps("?!", ("a",))) == {"b"}


@drawn(15)
@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=5), min_size=1, max_size=12))
def test_the_regression_is_that_of_the_whole_matrix(texts: list[list[str]]) -> None:
    requests = [f"{'buy ' if number % 3 else ''}{' '.join(text)} x" for number, text in enumerate(texts)]
    memory = Memory([trace(f"e{number}", request, f"t{number}") for number, request in enumerate(requests)], str.split)
    near = np.array([memory.similar(request).copy() for request in requests])
    assert np.allclose(near, near.T)
    assert np.allclose(np.diag(near), 1)
    right = memory.similar("buy a b x").copy()
    shares = np.linalg.solve(near + remembering.RIDGE * np.eye(len(near)), right)
    found = memory.answers("buy a b x")
    assert [found[f"t{number}"].value for number in range(len(requests))] == pytest.approx(list(shares), abs=1e-4)


# PageRank.


@drawn(15)
@given(graphs(), st.data())
def test_all_walks_end_somewhere(graph: ToolGraph, data: st.DataObject) -> None:
    ids = sorted(graph.nodes) or ["a"]
    start = data.draw(st.dictionaries(st.sampled_from(ids), st.floats(0, 1), min_size=1))
    found = pagerank(start, WaysOf(graph))
    assert found == {} or 0.9 < sum(found.values()) <= 1 + 1e-9
    assert set(found) <= {*graph.nodes, *start}
    assert min(found.values(), default=0) >= 0


def test_the_time_of_pagerank_does_not_depend_on_the_size_of_the_graph() -> None:
    graph = ToolGraph()
    for number in range(1_500):
        graph.node(str(number))
        if number:
            graph.count(EdgeKind.NEXT, str(number * 7 // 11), str(number), origin="traces")
    asked: list[str] = []
    ways = WaysOf(graph)

    def told(id: str) -> Sequence[tuple[str, float]]:
        asked.append(id)
        return ways(id)

    found = pagerank({"17": 1.0}, told)
    assert len(asked) <= MOST_PUSHES
    assert max(found, key=lambda id: found[id]) == "17"
    assert sum(found.values()) == pytest.approx(1)


# Votes.


def chain() -> ToolGraph:
    """`list` → `order` three times and → `count` once; `order` takes an `id` that only `list` gives."""
    graph = ToolGraph()
    for name in ("list", "order", "count", "other"):
        graph.node(name)
    graph.count(EdgeKind.NEXT, "list", "order", origin="traces", by=3)
    graph.count(EdgeKind.NEXT, "list", "count", origin="traces")
    graph.count(EdgeKind.RESOURCE, "list", "order", "id", origin="traces", by=3)
    return graph


def test_votes_of_edges_are_their_weights() -> None:
    graph = chain()
    casts = Polling(graph).cast(["next", "resource"], "x", ["list"], {})
    for name in ("order", "count"):
        assert casts["next"][name].value == graph.weight(EdgeKey(EdgeKind.NEXT, "list", name))
    assert casts["resource"]["order"].value == graph.weight(EdgeKey(EdgeKind.RESOURCE, "list", "order", "id"))
    assert casts["resource"]["order"].because == "takes id from list"


def test_usability_speaks_for_what_worked_and_against_what_failed() -> None:
    graph = chain()
    graph.node("order").calls = graph.node("order").successes = graph.node("count").calls = 8
    cast = Polling(graph).cast(["usability"], "x", [], dict.fromkeys(graph.nodes, 1.0))["usability"]
    assert cast["order"].value > 0 > cast["count"].value
    assert "list" not in cast
    assert cast["count"].because == "0 of 8 calls worked"


# The ranker.


def test_the_best_hit_keeps_its_place_unless_episodes_vote_against_it() -> None:
    graph = chain()
    graph.node("order").calls = graph.node("order").successes = 100
    found = hits(("other", 10.0), ("count", 9.9), ("order", 9.8))
    ranked = ranker(graph, "other", "count", "order", usability=5.0).rank("get", "get", (), found)
    assert [hit.id for hit in ranked] == ["other", "order", "count"]
    memory = remembered(trace("e7", "get order", "order"))
    ranked = ranker(graph, "other", "count", "order", memory=memory).rank("get order", "x", (), found)
    assert [hit.id for hit in ranked] == ["order", "other", "count"]
    moved = ranked[0].moved
    assert moved is not None
    assert moved.place == 3
    assert [(vote.name, vote.because) for vote in moved.votes] == [("episodes", 'episode e7: "get order"')]
    assert ranked[1].moved is not None
    assert ranked[1].moved.place == 1


def test_a_ranker_of_nothing_keeps_the_order_and_tells_of_no_move() -> None:
    found = hits(("a", 3.0), ("b", 3.0), ("c", 0.0))
    for hit in found:
        hit.moved = None
    empty = GraphRanker(ToolGraph(), names={})
    assert empty.rank("x", "y", ("a",), found) == found
    assert [hit.moved for hit in found] == [None] * 3
    assert empty.rank("x", "y", (), []) == []
    assert empty.next("x", ()) == []


def test_what_follows_the_calls_so_far_is_suggested_and_no_group_is() -> None:
    graph = chain()
    graph.node("shop", NodeKind.GROUP)
    graph.edge(EdgeKind.NEXT, "list", "shop")
    asked = ranker(graph, next=0.4, called=0.6)
    found = asked.next("x", ["list"])
    assert [one.name for one in found] == ["order", "count"]
    assert found[0].votes[0].because == "after list"
    again = asked.next("x", ["order", "list"], {"order": 5.0, "other": 4.0})
    assert [one.name for one in again][:2] == ["other", "order"]


# The gate.


def lessons(*, misleading: bool) -> list[Trace]:
    """40 requests: what answers one answers those of its kind; or it does not answer the one that is most like it."""
    found = []
    for number in range(40):
        request = f"please do {'this' if number % 2 else 'that'} n{number // 2}"
        called = (f"own{number}",) if misleading else (f"tool{number % 2}", f"own{number}")
        found.append(trace(f"e{number}", request, *called))
    return found


def taught(traces: Sequence[Trace]) -> ToolGraph:
    graph = ToolGraph()
    for each in traces:
        for call in each.calls:
            graph.node(call.name)
    return graph


@pytest.mark.parametrize("misleading", [False, True])
def test_a_vote_that_does_not_help_is_off(misleading: bool) -> None:
    traces = lessons(misleading=misleading)
    places = {each.request: number for number, each in enumerate(traces)}

    def search(request: str) -> dict[str, float]:
        own = places[request]
        return {f"own{own}": 1.0, **({f"own{own ^ 1}": 0.9} if misleading else {"tool0": 0.5, "tool1": 0.5})}

    gate = measure(traces, search, taught, str.split, EPISODES)
    assert gate.cases == 40
    assert (gate.requests.get("episodes", 1.0) < 1.0) is misleading
    assert Gate.from_dict(gate.to_dict()) == gate


def test_nothing_is_off_where_too_little_is_known() -> None:
    few = lessons(misleading=True)[:19]
    assert measure(few, lambda request: {}, taught, str.split, EPISODES) == Gate()
    same = [trace(f"e{number}", "do it", "a") for number in range(40)]
    assert measure(same, lambda request: {}, taught, str.split, EPISODES) == Gate()


def test_a_vote_that_is_off_moves_nothing() -> None:
    memory = remembered(trace("e", "get order", "order"))
    closed = GraphRanker(
        chain(),
        names={"order": "order", "count": "count"},
        memory=memory,
        gate=Gate(requests={"episodes": 0.0}, cases=20),
    )
    found = hits(("count", 2.0), ("order", 1.0))
    assert closed.rank("get order", "x", (), found) == found
