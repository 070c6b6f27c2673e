"""Tool graphs in files: JSON with a format number, nodes and edges, without what has its default; or made by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson

from codenav.core.errors import MissingExtra, NotFound, StorageFull, UsageError
from codenav.core.system.atomic_files import write_whole
from codenav.core.system.collecting import uncollected
from codenav.toolgraph import by_hand
from codenav.toolgraph.graph import ToolGraph
from codenav.toolgraph.nodes import Edge, EdgeKey, EdgeKind, Node, NodeKind

FORMAT = 1
"""The format of the documents that are written. Older ones are read; a newer one is refused."""
LARGEST = 2**53
"""The bound below which counts stay; a double holds each whole number up to it."""
AGAIN = "make it again: codenav graph learn"
YAML = (".yaml", ".yml")


def read(path: Path) -> ToolGraph:
    """The graph in a file: JSON that codenav wrote, or actions and tools by hand, in YAML or JSON.

    Raises:
        NotFound: there is no such file.
        UsageError: it holds no graph.
        MissingExtra: it is YAML, and the extra `tools` is not installed.
    """
    if path.suffix.lower() not in YAML:
        document = read_document(path)
        return (by_hand.graph_of if by_hand.looks_made_by_hand(document) else graph_of)(document, str(path))
    from codenav.tools import documents

    try:
        document = documents.read_file(path)
    except ModuleNotFoundError as error:
        raise MissingExtra("PyYAML", "tools") from error
    except (NotFound, UsageError) as error:
        raise type(error)(str(error), hint=error.hint or by_hand.SEE) from error
    if isinstance(document, dict) and "nodes" in document:
        raise UsageError(f"{path} holds a graph as codenav writes it", hint="name it with .json")
    return by_hand.graph_of(document, str(path))


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
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        ended = error.pos >= len(error.doc.rstrip()) - 1
        wrong = "cut short: the JSON does not end" if ended else f"no JSON at line {error.lineno}"
        raise UsageError(f"{path} is no tool graph: it is {wrong if data.strip() else 'empty'}", hint=AGAIN) from error


def graph_of(document: Any, name: str = "the graph") -> ToolGraph:
    """The graph of a document. `name` is that of the document, for messages.

    Raises:
        UsageError: the document is of a newer format, or is not of a graph; the message says where.
    """
    if not isinstance(document, Mapping) or "format" not in document:
        raise UsageError(f"{name} is no tool graph: it has no format number", hint=AGAIN)
    number = document["format"]
    if not _is_count(number) or number < 1:
        raise UsageError(f"{name} is no tool graph: its format is {str(number)[:40]!r}", hint=AGAIN)
    if number > FORMAT:
        raise UsageError(
            f"{name} was written by a newer codenav: format {number}, and this one reads up to {FORMAT}",
            hint="upgrade codenav, or learn the graph again with this one: codenav graph learn",
        )
    place = ""
    try:
        with uncollected():
            graph = ToolGraph()
            for number, row in enumerate(_list_of(document, "nodes"), 1):
                place = f": node {number}"
                _add_node(graph, row)
            for number, row in enumerate(_list_of(document, "edges"), 1):
                place = f": edge {number}"
                _add_edge(graph, row)
            place = ""
            graph.learnt = set(_list_of(document, "learnt"))
    except (TypeError, ValueError, LookupError) as error:
        raise UsageError(f"{name}{place or ' is no tool graph'}: {error}", hint=AGAIN) from error
    return graph


def document_of(graph: ToolGraph) -> dict[str, Any]:
    """The document of a graph, of JSON types."""
    return {
        "format": FORMAT,
        "nodes": [_node_row(node) for node in graph.nodes.values()],
        "edges": [_edge_row(key, edge) for key, edge in graph.edges.items()],
        "learnt": sorted(graph.learnt),
    }


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
        data = orjson.dumps(document_of(graph), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    except TypeError as error:
        raise UsageError(f"{path} is not written: a name in the graph is no text ({error})") from error
    try:
        write_whole(path, data)
    except OSError as error:
        raise StorageFull(f"cannot write {path}: {error.strerror}", hint="name another file") from error


_NODE_DEFAULTS = [item for item in Node("").to_dict().items() if item[0] not in ("id", "kind")]


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


def _add_node(graph: ToolGraph, row: Any) -> None:
    fields = _fields(row, _NODE_FIELDS, ("id",))
    node = Node(**fields)
    node.kind = _NODE_KINDS[fields.get("kind", NodeKind.CALLABLE)]
    if node.id in graph.nodes:
        raise ValueError(f"{node.id} is there twice")
    if node.successes > node.calls:
        raise ValueError(f"{node.successes} successes of {node.calls} calls of {node.id}")
    graph.nodes[node.id] = node


def _add_edge(graph: ToolGraph, row: Any) -> None:
    fields = _fields(row, _EDGE_FIELDS, ("kind", "source", "target"))
    key = EdgeKey(_EDGE_KINDS[fields["kind"]], fields["source"], fields["target"], fields.get("resource", ""))
    for end in (key.source, key.target):
        if end not in graph.nodes:
            raise LookupError(f"there is no node {end[:80]!r}")
    if key in graph.edges:
        raise ValueError(f"{key.source} to {key.target} is there twice")
    graph.put(key, Edge(fields.get("score"), fields.get("count", 0), fields.get("origins", {})))


def _list_of(document: Mapping[str, Any], key: str) -> list[Any]:
    rows = document.get(key, [])
    if not isinstance(rows, list) or (key == "learnt" and not all(isinstance(row, str) for row in rows)):
        raise ValueError(f"its {key} are no list" + (" of texts" if key == "learnt" else ""))
    return rows


_Fields = Mapping[str, tuple[Callable[[Any], bool], str]]


def _fields(row: Any, known: _Fields, needed: tuple[str, ...]) -> dict[str, Any]:
    """The known fields of a row.

    Raises:
        TypeError, LookupError: it has not what it needs, or a field is not what it should be.
    """
    if not isinstance(row, dict):
        raise TypeError("it is no object")
    for key in needed:
        if key not in row:
            raise LookupError(f"it has no {key}")
    found = {key: value for key, value in row.items() if key in known}
    for key, value in found.items():
        is_right, what = known[key]
        if not is_right(value):
            raise TypeError(f"{key} is {str(value)[:40]!r}, not {what}")
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < LARGEST


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < LARGEST


def _is_share(value: Any) -> bool:
    return _is_number(value) and value <= 1


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _kind_of(kinds: Mapping[str, Any]) -> tuple[Callable[[Any], bool], str]:
    return lambda value: isinstance(value, str) and value in kinds, f"one of {', '.join(kinds)}"


def _are_counts(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_count, value.values()))


def _are_days(value: Any) -> bool:
    return _are_counts(value) and all(day.isdecimal() and len(day) <= 7 and value[day] for day in value)


_NODE_KINDS = {kind.value: kind for kind in NodeKind}
_EDGE_KINDS = {kind.value: kind for kind in EdgeKind}
_TEXT = (_is_text, "a text")
_SCORE = (lambda value: value is None or _is_share(value), "a number from 0 to 1")
_COUNT = (_is_count, "a whole number from 0")
_NODE_FIELDS: _Fields = {
    "id": (lambda value: _is_text(value) and value != "", "a text"),
    "kind": _kind_of(_NODE_KINDS),
    "description": _TEXT,
    "score": _SCORE,
    "check": (_is_share, "a number from 0 to 1"),
    **dict.fromkeys(("calls", "successes", "measured"), _COUNT),
    **dict.fromkeys(("seconds", "last_use"), (_is_number, "a number from 0")),
    "days": (_are_days, "counts by day"),
}
_EDGE_FIELDS: _Fields = {
    "kind": _kind_of(_EDGE_KINDS),
    **dict.fromkeys(("source", "target", "resource"), _TEXT),
    "score": _SCORE,
    "count": _COUNT,
    "origins": (_are_counts, "whole numbers by name"),
}
