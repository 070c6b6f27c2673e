"""Tool graphs as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from drawn import drawn
from hypothesis import given
from hypothesis import strategies as st
from toolgraph.drawn_graphs import graphs

from codenav.core.errors import NotFound, UsageError
from codenav.toolgraph import storage
from codenav.toolgraph.graph import EdgeKind, ToolGraph


def again(graph: ToolGraph) -> ToolGraph:
    return storage.graph_of(json.loads(json.dumps(storage.document_of(graph))))


@given(graphs())
@drawn(25)
def test_a_graph_is_the_same_after_writing_and_reading(graph: ToolGraph) -> None:
    assert again(graph) == graph


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8) | st.just("__proto__")


@given(names, names, names)
@drawn(40)
def test_any_name_is_kept(one: str, other: str, resource: str) -> None:
    graph = ToolGraph()
    graph.node(one).description = resource
    graph.node(other)
    graph.count(EdgeKind.RESOURCE, one, other, resource, origin="traces")
    assert again(graph) == graph


@pytest.fixture
def file(tmp_path: Path) -> Path:
    graph = ToolGraph()
    graph.add_action("order")
    graph.add_tool("create", [("order", 0.5)])
    graph.node("list").calls = 2
    graph.count(EdgeKind.NEXT, "list", "create", origin="traces")
    graph.count(EdgeKind.NEXT, "create", "list", origin="traces")
    storage.write(graph, tmp_path / "g.json")
    return tmp_path / "g.json"


def refusal(file: Path) -> str:
    with pytest.raises(UsageError) as raised:
        storage.read(file)
    assert "\n" not in str(raised.value) and raised.value.hint
    return str(raised.value)


def test_a_file_that_is_damaged_is_one_clear_line(file: Path) -> None:
    text = file.read_text()
    for end in range(0, len(text.rstrip()), 7):
        file.write_text(text[:end])
        wrong = "cut short: the JSON does not end" if end else "empty"
        assert refusal(file) == f"{file} is no tool graph: it is {wrong}"
    file.write_text(text.replace('"id": "create"', '"id" "create"', 1))
    assert "it is no JSON at line 9" in refusal(file)


EDGE = {"kind": "next", "source": "order", "target": "order"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 2}, "was written by a newer codenav: format 2, and this one reads up to 1"),
        ({"format": "1"}, "its format is '1'"),
        ({"format": True}, "its format is 'True'"),
        ({"nodes": {}}, "its nodes are no list"),
        ({"learnt": [7]}, "its learnt are no list of texts"),
        ({"nodes": [{"kind": "action"}]}, "node 1: it has no id"),
        ({"nodes": [7]}, "node 1: it is no object"),
        ({"nodes": [{"id": "a", "kind": ["action"]}]}, "not one of callable, group, category, action"),
        ({"nodes": [{"id": "a", "kind": "tool"}]}, "kind is 'tool', not one of callable, group, category, action"),
        ({"nodes": [{"id": "a", "calls": 1.5}]}, "node 1: calls is '1.5', not a whole number from 0"),
        ({"nodes": [{"id": "a", "calls": 2**64 - 1}]}, "not a whole number from 0"),
        ({"nodes": [{"id": ""}]}, "node 1: id is '', not a text"),
        ({"nodes": [{"id": "a", "days": {"x": 1}}]}, "not counts by day"),
        ({"nodes": [{"id": "a", "days": {"3": 0}}]}, "not counts by day"),
        ({"nodes": [{"id": "a", "seconds": "1"}]}, "seconds is '1', not a number from 0"),
        ({"nodes": [{"id": "a", "calls": 1, "successes": 2}]}, "2 successes of 1 calls"),
        ({"nodes": [{"id": "a", "check": 2}]}, "check is '2', not a number from 0 to 1"),
        ({"nodes": [{"id": "a"}, {"id": "a"}]}, "node 2: a is there twice"),
        ({"edges": [{"kind": "next", "source": "order"}]}, "edge 1: it has no target"),
        ({"edges": [{**EDGE, "kind": "after"}]}, "edge 1: kind is 'after', not one of next, resource"),
        ({"edges": [{**EDGE, "target": "gone"}]}, "edge 1: there is no node 'gone'"),
        ({"edges": [{**EDGE, "source": ["order"]}]}, "not a text"),
        ({"edges": [{**EDGE, "origins": {"x": "y"}}]}, "not whole numbers by name"),
        ({"edges": [{**EDGE, "score": 3}]}, "score is '3', not a number from 0 to 1"),
        ({"edges": [EDGE, EDGE]}, "edge 2: order to order is there twice"),
    ],
)
def test_a_wrong_graph_is_one_clear_line_with_the_place(file: Path, change: dict[str, Any], said: str) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    message = refusal(file)
    assert message.startswith(str(file)) and said in message


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


def test_files_are_written_whole_and_what_is_in_the_way_is_an_error(file: Path) -> None:
    graph, folder = storage.read(file), file.parent
    assert [one.name for one in folder.iterdir()] == ["g.json"]
    broken = graph.copy()
    broken.node("\udc80")
    with pytest.raises(UsageError, match="a name in the graph is no text"):
        storage.write(broken, file)
    assert storage.read(file) == graph
    for wrong, kind in ((folder / "no" / "g.json", NotFound), (folder, UsageError)):
        with pytest.raises(kind):
            storage.write(graph, wrong)
        with pytest.raises(kind):
            storage.read(wrong)


def test_a_graph_is_read_in_any_of_its_forms(file: Path, tmp_path: Path) -> None:
    for name, text in (
        ("a.yaml", "actions:\n  measure: {tools: [a]}\n"),
        ("a.json", '{"actions": {"measure": ["a"]}}'),
    ):
        (tmp_path / name).write_text(text.replace('["a"]', '{"tools": ["a"]}'))
        assert set(storage.read(tmp_path / name).nodes) == {"measure", "a"}
    (tmp_path / "odd.yaml").write_text("actions: [a\n")
    with pytest.raises(UsageError, match="is not valid YAML: line"):
        storage.read(tmp_path / "odd.yaml")
    (tmp_path / "g.yaml").write_text(file.read_text())
    with pytest.raises(UsageError, match="as codenav writes it"):
        storage.read(tmp_path / "g.yaml")
