"""Tool graphs as JSON: one document with a format number, nodes and edges; what has its default is left out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from codenav.core.errors import NotFound, StorageFull, UsageError
from codenav.core.system.atomic_files import write_whole
from codenav.core.system.collecting import uncollected
from codenav.toolgraph.graph import ToolGraph
from codenav.toolgraph.nodes import Edge, EdgeKey, EdgeKind, Node, NodeKind

FORMAT = 1
"""The format of the documents that are written. Older ones are read; a newer one is refused."""

LARGEST = 2**53
"""The bound below which counts stay; a double holds each whole number up to it."""
NODE_NUMBERS = ("calls", "successes", "measured", "seconds", "last_use")
_NODE_DEFAULTS = [item for item in Node("").to_dict().items() if item[0] not in ("id", "kind")]
_NODE_NAMES = frozenset(Node("").to_dict())
_NODE_KINDS: Mapping[Any, NodeKind] = {kind.value: kind for kind in NodeKind}
_EDGE_KINDS: Mapping[Any, EdgeKind] = {kind.value: kind for kind in EdgeKind}
AGAIN = "make it again: codenav graph learn"


def document_of(graph: ToolGraph) -> dict[str, Any]:
    """The document of a graph, of JSON types."""
    return {
        "format": FORMAT,
        "nodes": [_node_row(node) for node in graph.nodes.values()],
        "edges": [_edge_row(key, edge) for key, edge in graph.edges.items()],
        "learnt": sorted(graph.learnt),
    }


def graph_of(document: Any, name: str = "the graph") -> ToolGraph:
    """The graph of a document. `name` is that of the document, for messages.

    Raises:
        UsageError: the document is of a newer format, or is not of a graph; the message says where.
    """
    if not isinstance(document, Mapping) or "format" not in document:
        raise UsageError(f"{name} is no tool graph: it has no format number", hint=AGAIN)
    number = document["format"]
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise UsageError(f"{name} is no tool graph: its format is {str(number)[:40]!r}", hint=AGAIN)
    if number > FORMAT:
        raise UsageError(
            f"{name} was written by a newer codenav: format {number}, and this one reads up to {FORMAT}",
            hint="upgrade codenav, or learn the graph again with this one: codenav graph learn",
        )
    with uncollected():
        return _graph(document, name)


def _graph(document: Mapping[str, Any], name: str) -> ToolGraph:
    graph = ToolGraph()
    for place, row in enumerate(_rows(document, "nodes", name)):
        node = _node(row, f"{name}: node {place + 1}")
        if node.id in graph.nodes:
            raise UsageError(f"{name}: node {place + 1} is there twice: {node.id}", hint=AGAIN)
        graph.nodes[node.id] = node
    for place, row in enumerate(_rows(document, "edges", name)):
        key, edge = _edge(row, graph, name, place)
        if key in graph.edges:
            raise UsageError(f"{name}: edge {place + 1} is there twice: {key.source} to {key.target}", hint=AGAIN)
        graph.take(key, edge)
    learnt = _rows(document, "learnt", name)
    if not all(isinstance(one, str) for one in learnt):
        raise UsageError(f"{name}: what it learnt is no list of texts", hint=AGAIN)
    graph.learnt = set(learnt)
    return graph


def parse(data: bytes, name: str = "the graph") -> ToolGraph:
    """The graph in the text of a JSON document.

    Raises:
        UsageError: as `graph_of`, or it is no JSON, for instance because it was cut short.
    """
    return graph_of(_decoded(data, name), name)


def _decoded(data: bytes, name: str) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        ended = error.pos >= len(error.doc.rstrip()) - 1
        wrong = "cut short: the JSON does not end" if ended else f"no JSON at line {error.lineno}"
        raise UsageError(f"{name} is no tool graph: it is {wrong if data.strip() else 'empty'}", hint=AGAIN) from error


def text_of(graph: ToolGraph) -> str:
    """The JSON text of a graph, a line for each node and edge, so that versions of it can be compared."""
    document = document_of(graph)
    parts = [f'{{"format": {FORMAT}']
    for key in ("nodes", "edges", "learnt"):
        rows = ",\n".join(orjson.dumps(row).decode() for row in document[key])
        parts.append(f'"{key}": [\n{rows}\n]' if rows else f'"{key}": []')
    return ",\n".join(parts) + "}\n"


def read(path: Path) -> ToolGraph:
    """The graph in a file.

    Raises:
        NotFound, UsageError: as `read_document`, or as `graph_of`.
    """
    return graph_of(read_document(path), str(path))


def read_document(path: Path) -> Any:
    """The JSON data in a file.

    Raises:
        NotFound: there is no such file.
        UsageError: it cannot be read, or is no JSON.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise NotFound(
            f"there is no graph {path}",
            hint="docs/toolgraph.md shows how to write one; the graph of a source needs no file: --on SOURCE",
        ) from error
    except (OSError, ValueError) as error:
        hint = f"ls -l {path}" if isinstance(error, PermissionError) else AGAIN
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}", hint=hint) from error
    return _decoded(data, str(path))


def write(graph: ToolGraph, path: Path) -> None:
    """Write a graph to a file, whole: a reader sees the old or the new one.

    Raises:
        NotFound: its folder does not exist.
        UsageError: the path is a folder, or a name has half a character (a lone surrogate).
        StorageFull: it cannot be written; the old file stays.
    """
    if not path.absolute().parent.is_dir():
        raise NotFound(f"there is no folder {path.absolute().parent}", hint="make it, or name another file")
    if path.is_dir():
        raise UsageError(f"{path} is a folder", hint="name a file")
    try:
        text = text_of(graph)
    except TypeError as error:
        raise UsageError(f"{path} is not written: a name in the graph is no text ({error})") from error
    try:
        write_whole(path, text)
    except OSError as error:
        raise StorageFull(f"cannot write {path}: {error.strerror}", hint="name another file") from error


def _node_row(node: Node) -> dict[str, Any]:
    row: dict[str, Any] = {"id": node.id, "kind": node.kind.value}
    for name, default in _NODE_DEFAULTS:
        value = getattr(node, name)
        if value != default:
            row[name] = dict(value) if isinstance(value, dict) else value
    return row


def _edge_row(key: EdgeKey, edge: Edge) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": key.kind.value, "source": key.source, "target": key.target}
    if key.resource:
        row["resource"] = key.resource
    if edge.score is not None:
        row["score"] = edge.score
    if edge.count:
        row["count"] = edge.count
    if edge.origins:
        row["origins"] = dict(edge.origins)
    return row


def _rows(document: Mapping[str, Any], key: str, name: str) -> list[Any]:
    rows = document.get(key, [])
    if not isinstance(rows, list):
        raise UsageError(f"{name} is no tool graph: its {key} are no list", hint=AGAIN)
    return rows


def _node(row: Any, place: str) -> Node:
    try:
        node = Node(**{name: value for name, value in row.items() if name in _NODE_NAMES})
        node.kind = _NODE_KINDS.get(node.kind) or NodeKind(node.kind)
        fine = isinstance(node.id, str) and node.id and isinstance(node.description, str)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise UsageError(f"{place} is none: {_why(row, error, NodeKind)}", hint=AGAIN) from error
    if not fine:
        raise UsageError(f"{place} is none: its id or its description is no text", hint=AGAIN)
    for key in NODE_NUMBERS:
        value = getattr(node, key)
        whole = key in ("seconds", "last_use") or isinstance(value, int)
        if not _number(value) or not 0 <= value < LARGEST or not whole:
            raise UsageError(f"{place}, {node.id}: {key} is no number from 0", hint=AGAIN)
    if not _share(node.check) or not (node.score is None or _share(node.score)):
        raise UsageError(f"{place}, {node.id}: its score and its check are numbers from 0 to 1", hint=AGAIN)
    if not isinstance(node.days, dict) or not all(_is_of_day(*item) for item in node.days.items()):
        raise UsageError(f"{place}, {node.id}: its days are no counts", hint=AGAIN)
    if node.successes > node.calls:
        raise UsageError(f"{place}, {node.id}: {node.successes} successes of {node.calls} calls", hint=AGAIN)
    return node


def _edge(row: Any, graph: ToolGraph, name: str, number: int) -> tuple[EdgeKey, Edge]:
    try:
        kind = _EDGE_KINDS.get(row["kind"])
        key = EdgeKey(kind or EdgeKind(row["kind"]), row["source"], row["target"], row.get("resource", ""))
        edge = Edge(row.get("score"), row.get("count", 0), row.get("origins", {}))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise UsageError(f"{name}: edge {number + 1} is none: {_why(row, error, EdgeKind)}", hint=AGAIN) from error
    for end in (key.source, key.target):
        if not isinstance(end, str) or end not in graph.nodes:
            raise UsageError(f"{name}: edge {number + 1}: there is no node {str(end)[:80]!r}", hint=AGAIN)
    counts = [edge.count, *edge.origins.values()] if isinstance(edge.origins, dict) else [-1]
    if not isinstance(key.resource, str) or not all(type(count) is int and 0 <= count < LARGEST for count in counts):
        raise UsageError(f"{name}: edge {number + 1}: its count and its origins are whole numbers from 0", hint=AGAIN)
    if not (edge.score is None or _share(edge.score)):
        raise UsageError(f"{name}: edge {number + 1}: its score is a number from 0 to 1", hint=AGAIN)
    return key, edge


def _why(row: Any, error: Exception, kinds: type[NodeKind] | type[EdgeKind]) -> str:
    if not isinstance(row, Mapping):
        return "it is no object"
    needed = ("id",) if kinds is NodeKind else ("kind", "source", "target")
    missing = [key for key in needed if key not in row]
    if missing:
        return f"it has no {missing[0]}"
    return f"{str(error)[:80]}; kinds are {', '.join(kinds)}"


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_of_day(day: Any, count: Any) -> bool:
    return isinstance(day, str) and day.isdecimal() and len(day) <= 7 and type(count) is int and 0 < count < LARGEST


def _share(value: Any) -> bool:
    return _number(value) and 0 <= value <= 1
