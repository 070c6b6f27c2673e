"""Tool graphs made by hand: actions, the tools that they call, groups and scores, as YAML or JSON."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from codenav.core.errors import UsageError
from codenav.core.options import near_one
from codenav.toolgraph.graph import ToolGraph
from codenav.toolgraph.nodes import EdgeKind, Node, NodeKind

FORMAT = 1
"""The format of these files. A file need not name it."""

KEYS = ("format", "tools", "actions", "groups", "categories")
TOOL_KEYS = ("description", "score", "substitutes")
ACTION_KEYS = ("description", "tools", "next")
GROUP_KEYS = ("description", "members", "actions")
SEE = "docs/toolgraph.md shows the form"


def looks_made_by_hand(document: Any) -> bool:
    """True for a document of this form rather than of `storage`, which has lists of nodes and edges."""
    return isinstance(document, Mapping) and "nodes" not in document and any(key in document for key in KEYS[1:])


def graph_of(document: Any, name: str = "the file") -> ToolGraph:
    """The graph of a document. `name` is that of the document, for messages.

    Raises:
        UsageError: the document is of a newer format, or is not of this form; the message says where.
    """
    if not isinstance(document, Mapping):
        raise UsageError(f"{name} describes no actions: it is no mapping", hint=SEE)
    _known(document, KEYS, name)
    number = document.get("format", FORMAT)
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise UsageError(f"{name}: its format is {str(number)[:40]!r}, no number from 1", hint=SEE)
    if number > FORMAT:
        raise UsageError(f"{name} is of format {number}, and this codenav reads up to {FORMAT}", hint="upgrade codenav")
    reading = _Reading(name)
    reading.tools(document.get("tools"))
    reading.actions(document.get("actions"))
    # Categories have groups as members.
    for key, kind in (("groups", NodeKind.GROUP), ("categories", NodeKind.CATEGORY)):
        reading.groups(key, kind, document.get(key))
    reading.checked()
    return reading.graph


class _Reading:
    """A graph as it is read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.graph = ToolGraph()
        self.described: dict[str, str] = {}
        """The tools that have an entry of their own, and where it is."""

    def tools(self, given: Any) -> None:
        for id, row, place in self._entries(given, "tools", TOOL_KEYS):
            score = self._score(row.get("score"), place)
            self.graph.nodes[id] = Node(id, NodeKind.CALLABLE, self._description(row, place), score)
            self.described[id] = place
        for id, row, place in self._entries(given, "tools", TOOL_KEYS):
            for other, score in self._scored(row.get("substitutes"), f"{place}.substitutes"):
                self._node(other, NodeKind.CALLABLE, place)
                self.graph.edge(EdgeKind.SUBSTITUTE, id, other).score = score

    def actions(self, given: Any) -> None:
        rows = list(self._entries(given, "actions", ACTION_KEYS))
        for id, row, place in rows:
            self._node(id, NodeKind.ACTION, place).description = self._description(row, place)
        for id, row, place in rows:
            for tool, score in self._scored(row.get("tools"), f"{place}.tools"):
                self._node(tool, NodeKind.CALLABLE, f"{place}.tools")
                self.graph.edge(EdgeKind.CALL, id, tool).score = score
            for other, score in self._scored(row.get("next"), f"{place}.next"):
                self._action(other, f"{place}.next")
                self.graph.edge(EdgeKind.NEXT, id, other).score = score

    def groups(self, key: str, kind: NodeKind, given: Any) -> None:
        for id, row, place in self._entries(given, key, GROUP_KEYS):
            group = Node(id, kind, self._description(row, place))
            self._node(id, kind, place)
            members = [member for member, _ in self._scored(row.get("members"), f"{place}.members")]
            called_by = self._scored(row.get("actions"), f"{place}.actions")
            for action, _ in called_by:
                self._action(action, f"{place}.actions")
            try:
                for member in members if called_by else ():
                    self.graph.add_tool(member, called_by)
                self.graph.add_group(group, members)
            except UsageError as error:
                raise self._wrong(place, str(error)) from error

    def checked(self) -> None:
        """Refuse a tool with an entry of its own that nothing uses: its name is probably misspelled somewhere."""
        for id, place in self.described.items():
            edges = (*self.graph.incoming(id), *self.graph.outgoing(id))
            if not edges and any(node.kind is NodeKind.ACTION for node in self.graph.nodes.values()):
                raise self._wrong(place, "no action calls it, and no group has it", self._near(id))

    def _entries(self, given: Any, key: str, keys: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any], str]]:
        """Each entry as name, content and place."""
        seen = set()
        for id, row, place in self._pairs(given, key):
            if id in seen:
                raise self._wrong(place, "is there twice")
            seen.add(id)
            if row is None or isinstance(row, str):
                # `order: Makes an order.`, or a name alone in a list.
                row = {"description": row}
            elif isinstance(row, Sequence) and key in ("groups", "categories"):
                row = {"members": row}
            elif not isinstance(row, Mapping):
                raise self._wrong(place, "is no mapping")
            _known(row, keys, f"{self.name}: {place}")
            yield id, row, place

    def _scored(self, given: Any, place: str) -> list[tuple[str, float | None]]:
        """Names with their scores; those in a list have none."""
        scores = isinstance(given, Mapping)
        return [(id, self._score(value if scores else None, at)) for id, value, at in self._pairs(given, place)]

    def _pairs(self, given: Any, key: str) -> Iterator[tuple[str, Any, str]]:
        """Each name with its value and its place: of a mapping, or of a list of names."""
        pairs: Iterable[tuple[Any, Any]] = ()
        if isinstance(given, Mapping):
            pairs = given.items()
        elif isinstance(given, Sequence) and not isinstance(given, str):
            pairs = [(name, None) for name in given]
        elif given is not None:
            raise self._wrong(key, "is neither a mapping nor a list")
        for number, (id, value) in enumerate(pairs):
            place = f"{key}.{id}" if isinstance(id, str) and id else f"{key}[{number}]"
            if not isinstance(id, str) or not id.strip():
                raise self._wrong(place, "has no name")
            yield id, value, place

    def _score(self, given: Any, place: str) -> float | None:
        if given is None:
            return None
        fine = isinstance(given, int | float) and not isinstance(given, bool)
        if not fine or not math.isfinite(given) or not 0 <= given <= 1:
            raise self._wrong(place, f"the score {str(given)[:40]!r} is no number from 0 to 1")
        return float(given)

    def _description(self, row: Mapping[str, Any], place: str) -> str:
        given = row.get("description") or ""
        if not isinstance(given, str):
            raise self._wrong(place, "its description is no text")
        return given.strip()

    def _node(self, id: str, kind: NodeKind, place: str) -> Node:
        found = self.graph.node(id, kind)
        if found.kind is not kind:
            raise self._wrong(place, f"{id} is there as {found.kind.value}, too")
        return found

    def _action(self, id: str, place: str) -> None:
        if self.graph.get_action(id) is None:
            actions = [node.id for node in self.graph.nodes.values() if node.kind is NodeKind.ACTION]
            raise self._wrong(place, f"there is no action {id!r}", self._near(id, actions))

    def _near(self, id: str, known: Sequence[str] = ()) -> str:
        near = difflib.get_close_matches(id, [other for other in known or self.graph.nodes if other != id], n=1)
        return f"did you mean {near[0]!r}?" if near else SEE

    def _wrong(self, place: str, what: str, hint: str = SEE) -> UsageError:
        return UsageError(f"{self.name}: {place}: {what}", hint=hint)


def _known(given: Mapping[str, Any], keys: Sequence[str], place: str) -> None:
    for key in given:
        if key not in keys:
            raise UsageError(f"{place} has a key {str(key)[:40]!r}", hint=near_one(str(key), keys))
