"""What a graph learns from traces, and that forgetting is the inverse."""

from __future__ import annotations

from dataclasses import replace

from drawn import drawn
from hypothesis import example, given
from hypothesis import strategies as st

from codenav.core.traces import Trace, TracedCall
from codenav.toolgraph.graph import ToolGraph
from codenav.toolgraph.learning import MOST_TOGETHER, forget, forget_origin, learn, settle_all
from codenav.toolgraph.nodes import RESOURCES, Edge, EdgeKey, EdgeKind, Node
from codenav.toolgraph.storage import document_of, graph_of

NAMES = [f"shop.{letter}" for letter in "abcde"]
NEXT, STRONG, WEAK = EdgeKind.NEXT, EdgeKind.RESOURCE, EdgeKind.WEAK_RESOURCE


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Traces with cycles, repeated tools, failures, flows, and times that no sum in binary keeps exactly."""
    names = draw(st.lists(st.sampled_from(NAMES), max_size=6))
    calls = []
    for place, name in enumerate(names):
        takes = draw(st.dictionaries(st.sampled_from(["id", "x"]), st.integers(0, place - 1))) if place else {}
        seconds = draw(st.none() | st.floats(0, 1e4))
        calls.append(TracedCall(name, draw(st.booleans()), seconds, takes))
    return Trace(
        draw(st.sampled_from(["1", "2", "3"])),
        tuple(calls),
        verified=draw(st.booleans()),
        origin=draw(st.sampled_from(["traces", "code", "specs", "episodes"])),
        ended=draw(st.sampled_from([0.0, 1.5e9, 1.500001e9, 1.7e9])),
        ordered=draw(st.booleans()),
    )


def timed(id: str, seconds: float) -> Trace:
    return Trace(id, (TracedCall(NAMES[0], seconds=seconds),))


@drawn(40)
@given(st.lists(traces(), max_size=4), traces())
# As doubles, 0.1 + 0.7 - 0.7 is not 0.1.
@example([timed("1", 0.1)], timed("2", 0.7))
def test_to_forget_is_the_inverse_of_to_learn(before: list[Trace], trace: Trace) -> None:
    graph = ToolGraph()
    graph.add_action("order")
    graph.add_tool(NAMES[0], {"order": 0.5})
    for one in before:
        learn(graph, one)
    was = graph.copy()
    if learn(graph, trace):
        assert forget(graph, trace)
        assert graph == was
        assert list(graph.incoming(NAMES[0])) != []
    else:
        # Another trace of the same id: whatever becomes of it, the graph is one that can be read.
        forget(graph, trace)
        assert graph_of(document_of(graph)) == graph


@drawn(40)
@given(st.lists(traces(), max_size=5), st.randoms())
def test_traces_are_forgotten_in_any_order_until_nothing_is_left(found: list[Trace], random) -> None:  # type: ignore[no-untyped-def]
    graph = ToolGraph()
    learnt = [trace for trace in found if learn(graph, trace)]
    random.shuffle(learnt)
    for trace in learnt:
        assert forget(graph, trace)
    assert graph == ToolGraph()


@drawn(40)
@given(st.lists(traces(), max_size=5), st.randoms())
def test_the_order_of_learning_does_not_matter(found: list[Trace], random) -> None:  # type: ignore[no-untyped-def]
    one, other = ToolGraph(), ToolGraph()
    kept = list({(trace.origin, trace.id): trace for trace in found}.values())
    for trace in kept:
        learn(one, trace)
    random.shuffle(kept)
    for trace in kept:
        learn(other, trace)
    assert one == other


@drawn(40)
@given(st.lists(traces(), max_size=6), st.integers(0, 6))
def test_graphs_that_learnt_apart_make_the_one_that_learnt_all(found: list[Trace], first: int) -> None:
    kept = [replace(trace, id=str(number)) for number, trace in enumerate(found)]
    one, other, whole = ToolGraph(), ToolGraph(), ToolGraph()
    for number, trace in enumerate(kept):
        learn(one if number < first else other, trace)
        learn(whole, trace)
    one.merge(other)
    settle_all(one)
    assert one == whole


@drawn(40)
@given(st.lists(traces(), max_size=5), traces())
def test_what_is_not_verified_only_lowers_weights(before: list[Trace], trace: Trace) -> None:
    graph = ToolGraph()
    for one in before:
        learn(graph, one)
    weights = {id: node.usability(1.8e9) for id, node in graph.nodes.items()}
    edges = graph.copy().edges
    learn(graph, Trace("failed", trace.calls, verified=False, origin="episodes", ended=1.8e9))
    assert graph.edges == edges
    for id, node in graph.nodes.items():
        if id in weights:
            assert node.usability(1.8e9) <= weights[id] + 1e-12


def called(*names: str, **more: object) -> Trace:
    return Trace(str(more.pop("id", "t")), tuple(map(TracedCall, names)), **more)  # type: ignore[arg-type]


def counted(graph: ToolGraph, *kinds: EdgeKind) -> dict[tuple[str, ...], int]:
    return {
        (key.source, key.target, *filter(None, [key.resource])): edge.count
        for key, edge in graph.edges.items()
        if key.kind in kinds
    }


def test_a_trace_counts_each_edge_once_and_each_call_in_its_node() -> None:
    graph = ToolGraph()
    calls = [TracedCall("a", seconds=0.5), TracedCall("a", seconds=1.5), TracedCall("b"), TracedCall("a")]
    assert learn(graph, Trace("t", tuple(calls), ended=86_400.0 * 3 + 5))
    assert counted(graph, NEXT) == {("a", "b"): 1, ("b", "a"): 1}
    assert graph.nodes["a"] == Node(
        "a", calls=3, successes=3, seconds=2.0, measured=2, last_use=86_400.0 * 3, days={"3": 1}
    )
    assert not learn(graph, Trace("t", tuple(calls)))
    assert graph.nodes["a"].calls == 3


def test_a_hundred_thousand_calls_of_one_tool_weigh_no_more_in_edges_than_one() -> None:
    graph = ToolGraph()
    learn(graph, called(*["a"] * 100_000, "b", origin="episodes"))
    assert counted(graph, NEXT) == {("a", "b"): 1}
    assert graph.nodes["a"].calls == 100_000


def test_what_failed_is_left_out_of_the_line() -> None:
    graph = ToolGraph()
    flow = {"id": 0}
    learn(graph, Trace("t", (TracedCall("a"), TracedCall("b", False, takes=flow), TracedCall("c", takes=flow))))
    assert counted(graph, NEXT) == {("a", "c"): 1}
    assert counted(graph, *RESOURCES) == {("a", "c", "id"): 1}
    assert (graph.nodes["b"].calls, graph.nodes["b"].successes) == (1, 0)


def test_resource_edges_are_strong_as_long_as_nothing_else_gives_it() -> None:
    graph = ToolGraph()
    first = Trace("1", (TracedCall("list"), TracedCall("order", takes={"id": 0})))
    second = Trace("2", (TracedCall("find"), TracedCall("order", takes={"id": 0})))
    learn(graph, first)
    assert counted(graph, STRONG) == {("list", "order", "id"): 1}
    learn(graph, second)
    assert counted(graph, WEAK) == {("list", "order", "id"): 1, ("find", "order", "id"): 1}
    forget(graph, first)
    assert counted(graph, *RESOURCES) == counted(graph, STRONG) == {("find", "order", "id"): 1}


def test_an_edge_made_by_hand_keeps_its_kind_and_its_score() -> None:
    graph = ToolGraph()
    graph.node("list"), graph.node("order")
    graph.edge(WEAK, "list", "order", "id").score = 0.7
    trace = Trace("1", (TracedCall("list"), TracedCall("order", takes={"id": 0})))
    learn(graph, trace)
    assert graph.edges[EdgeKey(WEAK, "list", "order", "id")] == Edge(0.7, 1, {"traces": 1})
    forget(graph, trace)
    assert graph.edges == {EdgeKey(WEAK, "list", "order", "id"): Edge(0.7)}


def test_an_edge_that_nothing_counted_keeps_its_place_among_those_that_give_the_same() -> None:
    graph = ToolGraph()
    graph.node("list"), graph.node("order")
    graph.edge(STRONG, "list", "order", "id")
    learn(graph, Trace("1", (TracedCall("find"), TracedCall("order", takes={"id": 0}))))
    assert {key.source: edge.count for key, edge in graph.incoming("order", WEAK)} == {"list": 0, "find": 1}


def test_what_was_not_learnt_takes_nothing_out() -> None:
    graph = ToolGraph()
    learn(graph, called("a", "b"))
    learn(graph, called("a", "b", id="1", origin="code"))
    was = graph.copy()
    assert not forget(graph, called("a", "b", id="2"))
    forget(graph, called("b", "a", id="3", origin="code"))
    # Another trace of the same id.
    assert not forget(graph, called("a", "c"))
    assert not forget(graph, called("a", "b", "b"))
    assert graph == was


def test_a_set_of_tools_joins_each_with_each_unless_it_is_large() -> None:
    graph = ToolGraph()
    learn(graph, called("a", "b", "a", ordered=False))
    assert counted(graph, NEXT) == {("a", "b"): 1, ("b", "a"): 1}
    many = ToolGraph()
    learn(many, called(*(f"t{number}" for number in range(MOST_TOGETHER + 1)), ordered=False))
    assert not many.edges
    assert len(many.nodes) == MOST_TOGETHER + 1


def test_what_was_read_is_taken_out_all_at_once_and_counts_no_use() -> None:
    graph = ToolGraph()
    learn(graph, called("a", "b", origin="traces"))
    was = graph.copy()
    learn(graph, called("a", "b", "c", origin="code"))
    learn(graph, called("b", "c", origin="code"))
    assert graph.nodes["a"].calls == 1
    assert counted(graph, NEXT) == {("a", "b"): 2, ("b", "c"): 2}
    learn(graph, called("b", "c", origin="code:notebooks"))
    forget_origin(graph, "code")
    assert counted(graph, NEXT) == {("a", "b"): 1, ("b", "c"): 1}
    forget_origin(graph, "code:notebooks")
    assert graph == was
