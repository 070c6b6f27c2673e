"""Tool graphs as files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from drawn import drawn
from hypothesis import given
from hypothesis import strategies as st
from toolgraph.drawn_graphs import graphs

from codenav.core.errors import NotFound, UsageError
from codenav.toolgraph import storage
from codenav.toolgraph.graph import EdgeKind, ToolGraph


@given(graphs())
@drawn(25)
def test_what_is_written_is_read_again(graph: ToolGraph) -> None:
    text = storage.text_of(graph)
    assert storage.parse(text.encode()) == graph
    assert json.loads(text) == storage.document_of(graph)
    assert storage.graph_of(json.loads(text)) == graph


@pytest.fixture
def text() -> str:
    graph = ToolGraph()
    graph.add_action("order")
    graph.add_tool("create", [("order", 0.5)])
    graph.node("list").calls = 2
    graph.count(EdgeKind.NEXT, "list", "create", origin="traces")
    graph.count(EdgeKind.NEXT, "create", "list", origin="traces")
    return storage.text_of(graph)


def test_a_graph_that_was_cut_short_anywhere_is_one_clear_line(text: str) -> None:
    for end in range(len(text.rstrip())):
        with pytest.raises(UsageError) as raised:
            storage.parse(text[:end].encode(), "g.json")
        wrong = "cut short: the JSON does not end" if end else "empty"
        assert str(raised.value) == f"g.json is no tool graph: it is {wrong}"


def test_a_graph_that_is_no_json_inside_is_told_with_the_line(text: str) -> None:
    with pytest.raises(UsageError, match=r"g\.json is no tool graph: it is no JSON at line 4"):
        storage.parse(text.replace('"create","kind"', '"create" "kind"', 1).encode(), "g.json")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 2}, "was written by a newer codenav: format 2, and this one reads up to 1"),
        ({"format": "1"}, "its format is '1'"),
        ({"format": True}, "its format is 'True'"),
        ({"nodes": {}}, "its nodes are no list"),
        ({"nodes": [{"kind": "action"}]}, "node 1 is none: it has no id"),
        ({"nodes": [7]}, "node 1 is none: it is no object"),
        ({"nodes": [{"id": "a", "kind": ["action"]}]}, "kinds are callable, group, category, action"),
        ({"nodes": [{"id": "a", "calls": 1.5}]}, "node 1, a: calls is no number from 0"),
        ({"nodes": [{"id": ""}]}, "node 1 is none: its id or its description is no text"),
        ({"nodes": [{"id": "a", "kind": "tool"}]}, "kinds are callable, group, category, action"),
        ({"nodes": [{"id": "a", "calls": -1}]}, "node 1, a: calls is no number from 0"),
        ({"nodes": [{"id": "a", "calls": 2**64 - 1}]}, "node 1, a: calls is no number from 0"),
        ({"nodes": [{"id": "a", "days": {"x": 1}}]}, "node 1, a: its days are no counts"),
        ({"nodes": [{"id": "a", "days": {"3": 0}}]}, "node 1, a: its days are no counts"),
        ({"nodes": [{"id": "a", "seconds": "1"}]}, "seconds is no number from 0"),
        ({"nodes": [{"id": "a", "calls": 1, "successes": 2}]}, "2 successes of 1 calls"),
        ({"nodes": [{"id": "a", "check": 2}]}, "numbers from 0 to 1"),
        ({"nodes": [{"id": "a"}, {"id": "a"}]}, "node 2 is there twice: a"),
        ({"edges": [{"kind": "next", "source": "order"}]}, "edge 1 is none: it has no target"),
        ({"edges": [[]]}, "edge 1 is none: it is no object"),
        ({"edges": [{"kind": "after", "source": "order", "target": "order"}]}, "kinds are next, resource"),
        ({"edges": [{"kind": "next", "source": "order", "target": "gone"}]}, "edge 1: there is no node 'gone'"),
        ({"edges": [{"kind": "next", "source": ["order"], "target": "order"}]}, "there is no node"),
        ({"edges": [{"kind": "next", "source": "order", "target": "order", "count": 1.5}]}, "whole numbers"),
        ({"edges": [{"kind": "next", "source": "order", "target": "order", "origins": {"x": "y"}}]}, "whole numbers"),
        ({"edges": [{"kind": "next", "source": "order", "target": "order", "score": 3}]}, "from 0 to 1"),
        ({"edges": 2 * [{"kind": "next", "source": "order", "target": "order"}]}, "edge 2 is there twice"),
    ],
)
def test_a_wrong_graph_is_one_clear_line_with_the_place(text: str, change: dict[str, object], said: str) -> None:
    document = {**json.loads(text), **change}
    with pytest.raises(UsageError) as raised:
        storage.parse(json.dumps(document).encode(), "g.json")
    assert str(raised.value).startswith("g.json")
    assert said in str(raised.value)
    assert "\n" not in str(raised.value) and raised.value.hint


KEYS = ["id", "kind", "source", "target", "count", "origins", "score", "resource", "calls"]
rows = st.recursive(
    st.none() | st.integers(-2, 2) | st.sampled_from(["a", "next", ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=8,
)


@given(rows)
@drawn(60)
def test_any_row_is_a_node_an_edge_or_a_clear_error(row: object) -> None:
    for document in ({"format": 1, "nodes": [row]}, {"format": 1, "nodes": [{"id": "a"}], "edges": [row]}, row):
        try:
            storage.graph_of(document, "g.json")
        except UsageError as error:
            assert str(error).startswith("g.json")


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8) | st.just("__proto__")


@given(names, names, names)
@drawn(40)
def test_any_name_is_kept(one: str, other: str, resource: str) -> None:
    graph = ToolGraph()
    graph.node(one).description = resource
    graph.node(other)
    graph.count(EdgeKind.RESOURCE, one, other, resource, origin="traces")
    assert storage.parse(storage.text_of(graph).encode()) == graph


def test_files_are_written_whole_and_what_is_in_the_way_is_told(tmp_path: Path, text: str) -> None:
    graph, path = storage.parse(text.encode()), tmp_path / "g.json"
    storage.write(graph, path)
    assert storage.read(path) == graph
    assert [one.name for one in tmp_path.iterdir()] == ["g.json"]
    graph.node("\udc80")
    with pytest.raises(UsageError, match="a name in the graph is no text"):
        storage.write(graph, path)
    graph.remove_node("\udc80")
    assert storage.read(path) == graph
    for wrong, kind in ((tmp_path / "no" / "g.json", NotFound), (tmp_path, UsageError)):
        with pytest.raises(kind):
            storage.write(graph, wrong)
        with pytest.raises(kind):
            storage.read(wrong)
