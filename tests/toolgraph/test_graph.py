"""Tool graphs: weights, actions and tools, merging, recommendations."""

from __future__ import annotations

from typing import Any

import pytest
from drawn import drawn
from hypothesis import given
from hypothesis import strategies as st
from toolgraph.drawn_graphs import graphs

from codenav.core.errors import NotFound, UsageError
from codenav.toolgraph.graph import EdgeKey, EdgeKind, Node, NodeKind, ToolGraph
from codenav.toolgraph.nodes import HALF_LIFE, SLOW

NEXT, CALL, MEMBER = EdgeKind.NEXT, EdgeKind.CALL, EdgeKind.MEMBER


@pytest.fixture
def shop() -> ToolGraph:
    """Actions `browse` → `order` → `pay`, each with its tools; `log` is called by two."""
    graph = ToolGraph()
    graph.add_action("pay")
    graph.add_action("order", next_actions=[("pay", 0.4)])
    graph.add_action("browse", next_actions={"order": 0.8})
    graph.add_tool("list", [("browse", None)])
    graph.add_tool("create", [("order", 0.9), ("pay", 0.2)])
    graph.add_tool("charge", [("pay", 1.0)])
    graph.add_tool("log", [("order", 0.3), ("pay", 0.6)])
    return graph


# Weights.


def test_the_weight_of_a_callable_rises_with_what_went_well_and_falls_with_what_failed() -> None:
    never, once, often = Node("a"), Node("a", calls=1, successes=1), Node("a", calls=50, successes=50)
    failed = Node("a", calls=5)
    assert failed.weight < never.weight < once.weight < often.weight < 1
    assert (never.weight, once.weight) == (0.5, pytest.approx(2 / 3))


def test_the_weight_falls_with_latency_age_and_check() -> None:
    well = Node("a", calls=8, successes=8, last_use=1e9)
    assert well.usability() == pytest.approx(0.9)
    assert well.usability(1e9 + HALF_LIFE) == pytest.approx(5 / 6)
    assert well.usability(1e9 - 5) == pytest.approx(0.9)
    assert Node("a", calls=8, successes=8, seconds=100 * SLOW, measured=99).usability() == pytest.approx(0.45)
    assert Node("a", calls=8, successes=8, check=0.5).usability() == pytest.approx(0.45)
    assert Node("a", calls=8, score=0.3, check=0.5).weight == 0.3


def test_the_weight_of_a_next_edge_is_how_likely_its_target_follows() -> None:
    graph = ToolGraph()
    for id in "abc":
        graph.node(id)
    graph.count(NEXT, "a", "b", origin="traces", by=3)
    assert graph.weight(EdgeKey(NEXT, "a", "b")) == 0.75
    graph.count(NEXT, "a", "c", origin="code")
    assert graph.weight(EdgeKey(NEXT, "a", "b")) == 0.6
    graph.edge(NEXT, "b", "c")
    assert graph.weight(EdgeKey(NEXT, "b", "c")) == 1.0
    graph.edge(NEXT, "a", "c").score = 0.1
    assert graph.weight(EdgeKey(NEXT, "a", "c")) == 0.1


def test_the_weight_of_a_resource_edge_is_its_share_among_those_that_give_it() -> None:
    graph = ToolGraph()
    for id in "abcd":
        graph.node(id)
    graph.count(EdgeKind.WEAK_RESOURCE, "a", "d", "city", origin="specs")
    graph.count(EdgeKind.WEAK_RESOURCE, "b", "d", "city", origin="specs", by=2)
    graph.count(EdgeKind.RESOURCE, "c", "d", "hotel", origin="specs", by=3)
    assert graph.weight(EdgeKey(EdgeKind.WEAK_RESOURCE, "b", "d", "city")) == 0.5
    assert graph.weight(EdgeKey(EdgeKind.RESOURCE, "c", "d", "hotel")) == 0.75


@given(graphs())
@drawn(20)
def test_weights_are_from_0_to_1_and_those_of_what_follows_a_node_sum_to_less_than_1(graph: ToolGraph) -> None:
    assert all(0 <= node.weight <= 1 for node in graph.nodes.values())
    weight = graph.weighing()
    assert all(0 <= weight(key) <= 1 for key in graph.edges)
    assert all(weight(key) == graph.weight(key) for key in graph.edges)
    for id in graph.nodes:
        counted = [key for key, edge in graph.outgoing(id, NEXT) if edge.count and edge.score is None]
        assert sum(map(graph.weight, counted)) < 1


# Actions and tools.


def test_an_edge_without_a_score_has_1(shop: ToolGraph) -> None:
    assert shop.get_score("browse", "list") == 1.0
    assert shop.get_score("order", "create") == 0.9
    assert shop.get_score("nobody", "nothing") == 1.0
    shop.set_score("order", "create", 0.1)
    assert shop.get_score("order", "create") == 0.1
    shop.set_score("order", "create", None)
    assert shop.get_score("order", "create") == 1.0


def test_scores_are_set_on_edges_only_and_from_0_to_1(shop: ToolGraph) -> None:
    with pytest.raises(NotFound, match="no edge leads from 'list' to 'pay'"):
        shop.set_score("list", "pay", 0.5)
    with pytest.raises(UsageError, match=r"1\.5"):
        shop.set_score("order", "create", 1.5)
    with pytest.raises(UsageError, match="nan"):
        shop.add_action("new", next_actions=[("pay", float("nan"))])
    assert shop.get_action("new") is None


def test_a_tool_that_no_known_action_calls_is_refused_with_a_warning(shop: ToolGraph) -> None:
    before = shop.copy()
    with pytest.warns(UserWarning) as told:
        assert shop.add_tool("refund", [("return", 1.0)]) is None
    assert [str(one.message) for one in told] == [
        "refund: there is no action 'return'", "refund is left out: no action that is known calls it",
    ]  # fmt: skip
    with pytest.warns(UserWarning, match="left out"):
        shop.add_tool("refund", [])
    assert shop == before


def test_what_is_known_is_kept_of_a_tool_with_an_unknown_action(shop: ToolGraph) -> None:
    with pytest.warns(UserWarning, match="there is no action 'return'"):
        shop.add_tool(Node("refund", description="Pay back."), [("return", 1.0), ("pay", 0.7)])
    assert shop.get_score("pay", "refund") == 0.7
    assert shop.nodes["refund"].description == "Pay back."
    with pytest.warns(UserWarning, match="there is no action 'nowhere'"):
        shop.add_action("stroll", prev_actions=[("nowhere", 1.0), ("browse", 0.5)])
    assert shop.get_score("browse", "stroll") == 0.5


def test_adding_what_is_there_doubles_nothing_and_keeps_its_counts(shop: ToolGraph) -> None:
    shop.nodes["create"].calls = 4
    shop.add_tool(Node("create", description="Order."), [("order", 0.5)])
    assert (shop.nodes["create"].calls, shop.nodes["create"].description) == (4, "Order.")
    assert len([*shop.incoming("create", CALL)]) == 2
    with pytest.raises(UsageError, match="order is there as action"):
        shop.add_tool("order", [("pay", 1.0)])


def test_removing_an_action_removes_the_tools_that_only_it_called(shop: ToolGraph) -> None:
    shop.remove_action("pay")
    assert set(shop.nodes) == {"browse", "order", "list", "create", "log"}
    shop.remove_action("list")
    assert "list" in shop.nodes
    shop.remove_tool("list")
    shop.remove_tool("browse")
    assert "list" not in shop.nodes and "browse" in shop.nodes


def test_a_tool_that_was_learnt_outlives_the_action(shop: ToolGraph) -> None:
    shop.count(NEXT, "list", "charge", origin="traces")
    shop.remove_action("pay")
    shop.remove_action("browse")
    assert {"list", "charge"} <= set(shop.nodes)


def test_groups_have_members_directly_and_through_groups(shop: ToolGraph) -> None:
    shop.add_group("orders", ["create", "list", "ship"])
    shop.add_group(Node("commerce", NodeKind.CATEGORY), ["orders", "charge"])
    assert shop.members("commerce") == {"orders", "create", "list", "ship", "charge"}
    assert shop.nodes["commerce"].kind is NodeKind.CATEGORY
    with pytest.raises(UsageError, match="orders would be a member of itself, by way of commerce"):
        shop.add_group("orders", ["commerce"])
    assert "commerce" not in shop.members("orders")
    with pytest.raises(UsageError, match="pay is an action, and no member of orders"):
        shop.add_group("orders", ["pay"])


@given(graphs(), st.data())
@drawn(40)
def test_removal_leaves_nothing(graph: ToolGraph, data: st.DataObject) -> None:
    if not graph.nodes:
        return
    id = data.draw(st.sampled_from(sorted(graph.nodes)))
    only = {
        key.target
        for key, _ in graph.outgoing(id, CALL)
        if {other.source for other, _ in graph.incoming(key.target, CALL)} == {id}
    }
    graph.remove_action(id)
    graph.remove_tool(id)
    graph.remove_node(id)
    assert id not in graph.nodes
    for key in graph.edges:
        assert {key.source, key.target} <= set(graph.nodes)
    for tool in only & set(graph.nodes):
        assert graph.nodes[tool].calls or any(edge.count for _, edge in (*graph.outgoing(tool), *graph.incoming(tool)))
    assert {key for one in (*graph.nodes, id) for key, _ in graph.outgoing(one)} == set(graph.edges)
    assert {key for one in (*graph.nodes, id) for key, _ in graph.incoming(one)} == set(graph.edges)


# Whole graphs.


def merged(*all: ToolGraph) -> ToolGraph:
    found = ToolGraph()
    for graph in all:
        found.merge(graph)
    return found


@given(graphs(), graphs(), graphs())
@drawn(25)
def test_merging_commutes_and_is_associative(one: ToolGraph, two: ToolGraph, three: ToolGraph) -> None:
    assert merged(one, two) == merged(two, one)
    assert merged(merged(one, two), three) == merged(one, merged(two, three))
    assert merged(one) == one


@given(graphs(), graphs())
@drawn(20)
def test_merging_adds_counts_and_changes_only_one_graph(one: ToolGraph, two: ToolGraph) -> None:
    before = two.copy()
    both = merged(one, two)
    assert two == before
    both.merge(one)
    assert two == before
    for key in {*one.edges, *two.edges}:
        counts = [graph.edges[key].count for graph in (one, one, two) if key in graph.edges]
        assert both.edges[key].count == sum(counts) == sum(both.edges[key].origins.values())
    assert set(both.nodes) == {*one.nodes, *two.nodes}


@given(graphs(), graphs())
@drawn(20)
def test_updating_takes_over_what_is_new_and_doubles_nothing(one: ToolGraph, two: ToolGraph) -> None:
    updated = one.copy()
    updated.update(two)
    again = updated.copy()
    again.update(two)
    again.update(updated)
    assert again == updated
    assert set(updated.edges) == {*one.edges, *two.edges}
    assert all(updated.edges[key] == edge for key, edge in one.edges.items())
    same = one.copy()
    same.update(one)
    assert same == one


def test_graphs_that_disagree_on_a_kind_stay_apart(shop: ToolGraph) -> None:
    other = ToolGraph()
    other.node("new")
    other.node("pay")
    before = shop.copy()
    for join in (shop.merge, shop.update):
        with pytest.raises(UsageError, match="pay is action in one graph and callable in the other"):
            join(other)
    assert shop == before


@given(graphs(), st.data())
@drawn(20)
def test_a_subgraph_has_the_edges_between_its_nodes_and_is_its_own(graph: ToolGraph, data: st.DataObject) -> None:
    ids = set(data.draw(st.lists(st.sampled_from([*sorted(graph.nodes), "unknown"]))))
    before = graph.copy()
    part = graph.subgraph(ids)
    assert set(part.nodes) == ids & set(graph.nodes)
    assert set(part.edges) == {key for key in graph.edges if {key.source, key.target} <= ids}
    for id in [*part.nodes]:
        part.nodes[id].calls += 1
        part.remove_node(id)
    assert graph == before


# Recommendations.


@pytest.mark.parametrize(
    ("action", "options", "expected"),
    [
        ("order", {}, {"order", "create"}),
        ("order", {"threshold": 0.3}, {"order", "create", "log"}),
        ("nobody", {}, set()),
        ("browse", {"hops": 2}, {"browse", "order", "list", "create"}),
        # A cycle ends the walk.
        ("pay", {"hops": 10**9}, {"pay", "browse", "order", "list", "create", "charge", "log"}),
    ],
)
def test_what_is_recommended_for_an_action(
    shop: ToolGraph, action: str, options: dict[str, Any], expected: set[str]
) -> None:
    shop.edge(NEXT, "pay", "browse")
    assert set(shop.recommend([action], **options).nodes) == expected
    tools, actions = shop.recommend_tools_actions([action], **options)
    assert {node.id for node in (*tools, *actions)} == expected
    assert all(node.kind is NodeKind.ACTION for node in actions)
    with pytest.raises(UsageError):
        shop.recommend([action], hops=-1)


def as_in_chat2graph(
    graph: ToolGraph, actions: list[str], threshold: float, hops: int
) -> tuple[set[str], set[EdgeKey]]:
    """The nodes and edges by a plain reading of the reference: sets, level by level."""
    kinds = {id: node.kind for id, node in graph.nodes.items()}

    def scored(kind: EdgeKind) -> list[tuple[str, str, float]]:
        found = [(key, edge) for key, edge in graph.edges.items() if key.kind is kind]
        return [(key.source, key.target, 1.0 if edge.score is None else edge.score) for key, edge in found]

    keep = {id for id in actions if kinds.get(id) is NodeKind.ACTION}
    level = set(keep)
    for _ in range(hops):
        level = {v for u, v, s in scored(NEXT) if u in level and kinds[v] is NodeKind.ACTION and s >= threshold}
        keep |= level
    keep |= {v for u, v, s in scored(CALL) if u in keep and s >= threshold}
    return keep, {
        key
        for key, edge in graph.edges.items()
        if {key.source, key.target} <= keep and (edge.score is None or edge.score >= threshold)
    }


picked = st.lists(st.sampled_from(["a0", "a1", "a2", "a3", "c0", "zz"]), max_size=3)
thresholds = st.sampled_from([0.0, 0.25, 0.5, 0.8, 1.0])
staged = graphs() | graphs(of="a", least=4) | graphs(of="ac", least=8)
"""Graphs of which many have actions that follow one another."""


@given(staged, picked, thresholds, st.integers(0, 4))
@drawn(40)
def test_recommendations_are_those_of_the_reference(
    graph: ToolGraph, actions: list[str], threshold: float, hops: int
) -> None:
    before = graph.copy()
    chosen = graph.recommend(actions, threshold, hops)
    assert (set(chosen.nodes), set(chosen.edges)) == as_in_chat2graph(graph, actions, threshold, hops)
    assert graph == before
