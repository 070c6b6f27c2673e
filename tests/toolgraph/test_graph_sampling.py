"""Samples of tool graphs: all there are and each once, likely ones first, with whose result goes into whom."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from drawn import drawn
from hypothesis import given
from hypothesis import strategies as st
from toolgraph.drawn_graphs import graphs

from codenav.core.errors import UsageError
from codenav.core.traces import Trace
from codenav.toolgraph.graph import EdgeKey, EdgeKind, NodeKind, ToolGraph
from codenav.toolgraph.nodes import RESOURCES
from codenav.toolgraph.sampling import Sampler, Shape


def names(trace: Trace) -> tuple[str, ...]:
    return tuple(call.name for call in trace.calls)


def made(*edges: tuple[EdgeKind, str, str, str, int]) -> ToolGraph:
    graph = ToolGraph()
    for kind, source, target, resource, count in edges:
        graph.node(source)
        graph.node(target)
        graph.count(kind, source, target, resource, origin="traces", by=count)
    return graph


@pytest.fixture
def hotel() -> ToolGraph:
    """A city gives a hotel, a person gives a guest, and a booking takes both; a receipt takes the booking."""
    return made(
        (EdgeKind.RESOURCE, "find_city", "find_hotel", "city", 3),
        (EdgeKind.RESOURCE, "find_hotel", "book", "hotel", 3),
        (EdgeKind.RESOURCE, "find_guest", "book", "guest", 2),
        (EdgeKind.RESOURCE, "book", "receipt", "booking", 1),
        (EdgeKind.NEXT, "find_hotel", "find_guest", "", 1),
    )


def usable(graph: ToolGraph) -> list[str]:
    return [id for id, node in graph.nodes.items() if node.kind is NodeKind.CALLABLE and node.usability() > 0]


def joins(graph: ToolGraph, *kinds: EdgeKind) -> list[EdgeKey]:
    ids = usable(graph)
    return [
        key
        for key in graph.edges
        if key.kind in kinds
        and key.source in ids
        and key.target in ids
        and key.source != key.target
        and graph.weight(key) > 0
    ]


def all_chains(graph: ToolGraph, size: int) -> set[tuple[str, ...]]:
    steps = {(key.source, key.target) for key in joins(graph, EdgeKind.NEXT, *RESOURCES)}
    lines = itertools.permutations(usable(graph), size)
    return {line for line in lines if all(step in steps for step in itertools.pairwise(line))}


def all_sets(graph: ToolGraph, size: int) -> set[frozenset[str]]:
    return set(map(frozenset, itertools.combinations(usable(graph), size)))


def all_dags(graph: ToolGraph, size: int) -> set[frozenset[str]]:
    """The sets of nodes that `size - 1` edges join, no two of which give the same parameter."""
    found = all_sets(graph, 1) if size == 1 else set()
    for edges in itertools.combinations(joins(graph, *RESOURCES), size - 1):
        nodes = {end for key in edges for end in (key.source, key.target)}
        once = len({(key.target, key.resource) for key in edges}) == len(edges)
        if len(nodes) == size and once and is_whole(nodes, edges):
            found.add(frozenset(nodes))
    return found


def is_whole(nodes: set[str], edges: tuple[EdgeKey, ...]) -> bool:
    reached = {min(nodes)}
    for _ in nodes:
        reached |= {end for key in edges if {key.source, key.target} & reached for end in (key.source, key.target)}
    return reached == nodes


@given(graph=graphs(), size=st.integers(1, 4), seed=st.integers(0, 3))
@pytest.mark.parametrize(("shape", "every"), [(Shape.CHAIN, all_chains), (Shape.DAG, all_dags), (Shape.NODE, all_sets)])
@drawn(20)
def test_samples_are_of_their_shape_each_once(
    shape: Shape, every: Callable[[ToolGraph, int], set[Any]], graph: ToolGraph, size: int, seed: int
) -> None:
    drawn = [names(trace) for trace in Sampler(graph, seed=seed).draw(shape, [size])]
    found = drawn if shape is Shape.CHAIN else [*map(frozenset, drawn)]
    assert len(set(found)) == len(found)
    there = every(graph, size)
    assert set(found) <= there
    assert bool(found) == bool(there)


@given(graph=graphs(), shape=st.sampled_from(Shape))
@drawn(30)
def test_what_a_call_takes_is_an_edge_from_a_call_before_it(graph: ToolGraph, shape: Shape) -> None:
    for trace in itertools.islice(Sampler(graph).draw(shape, range(1, 6)), 200):
        assert Trace.from_dict(trace.to_dict()) == trace
        for place, call in enumerate(trace.calls):
            for resource, source in call.takes.items():
                assert source < place
                keys = [EdgeKey(kind, trace.calls[source].name, call.name, resource) for kind in RESOURCES]
                assert any(key in graph.edges for key in keys)
        if shape is Shape.DAG and len(trace.calls) > 1:
            alone = {place for place, call in enumerate(trace.calls) if not call.takes}
            assert not alone - {source for call in trace.calls for source in call.takes.values()}


def test_a_dag_takes_from_several_calls(hotel: ToolGraph) -> None:
    (whole,) = Sampler(hotel).draw(Shape.DAG, [5])
    assert names(whole) == ("find_city", "find_guest", "find_hotel", "book", "receipt")
    assert [dict(call.takes) for call in whole.calls] == [{}, {}, {"city": 0}, {"guest": 1, "hotel": 2}, {"booking": 3}]
    assert whole.ordered
    assert whole.origin == "samples"


def test_a_chain_says_what_it_takes_from_calls_further_back(hotel: ToolGraph) -> None:
    lines = {names(trace): trace for trace in Sampler(hotel).draw(Shape.CHAIN, [3])}
    line = lines["find_hotel", "find_guest", "book"]
    assert [dict(call.takes) for call in line.calls] == [{}, {}, {"guest": 1, "hotel": 0}]


def test_of_two_givers_of_a_parameter_one_is_taken() -> None:
    graph = made(
        (EdgeKind.WEAK_RESOURCE, "by_name", "order", "user", 1), (EdgeKind.WEAK_RESOURCE, "by_id", "order", "user", 1)
    )
    assert {names(trace) for trace in Sampler(graph).draw(Shape.DAG, [2, 3])} == {
        ("by_name", "order"),
        ("by_id", "order"),
    }


def test_cycles_end() -> None:
    graph = made(
        (EdgeKind.RESOURCE, "a", "b", "x", 1), (EdgeKind.RESOURCE, "b", "a", "y", 1), (EdgeKind.NEXT, "a", "a", "", 9)
    )
    (dag,) = Sampler(graph).draw(Shape.DAG, [2])
    assert sum(len(call.takes) for call in dag.calls) == 1
    assert {names(trace) for trace in Sampler(graph).draw(Shape.CHAIN, [2, 3])} == {("a", "b"), ("b", "a")}


def test_what_was_counted_more_comes_first() -> None:
    graph = made((EdgeKind.NEXT, "a", "often", "", 90), (EdgeKind.NEXT, "a", "seldom", "", 10))
    first = Counter(names(next(Sampler(graph, seed=seed).draw(Shape.CHAIN, [2]))) for seed in range(200))
    # 180 are expected; 150 is seven standard deviations below.
    assert first["a", "often"] > 150
    assert first["a", "seldom"] > 0


def test_what_proved_unusable_comes_last() -> None:
    graph = ToolGraph()
    graph.node("bad").calls = 98
    good = graph.node("good")
    good.calls = good.successes = 98
    first = Counter(names(next(Sampler(graph, seed=seed).draw(Shape.NODE, [1])))[0] for seed in range(100))
    assert first["good"] > 90


def test_a_seed_gives_the_same_samples(hotel: ToolGraph) -> None:
    found = [list(Sampler(hotel, seed=seed).draw(Shape.CHAIN, range(1, 6))) for seed in (1, 1, 2)]
    assert found[0] == found[1]
    assert found[0] != found[2]
    assert {trace.id for trace in found[0]} == {trace.id for trace in found[2]}


def test_an_empty_graph_has_no_samples() -> None:
    assert [list(Sampler(ToolGraph()).draw(shape, range(1, 6))) for shape in Shape] == [[], [], []]


@pytest.mark.parametrize("sizes", [[], [0], [6], [2, 9]])
def test_sizes_are_1_to_5(sizes: list[int]) -> None:
    with pytest.raises(UsageError, match="callables"):
        next(Sampler(ToolGraph()).draw(Shape.CHAIN, sizes))
