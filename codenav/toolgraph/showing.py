"""A tool graph as text: all of it in a few lines, or one node with what is around it."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar

from codenav.core.errors import NotFound, UsageError
from codenav.core.system.stored import Document
from codenav.core.system.terminal_text import few
from codenav.toolgraph.graph import ToolGraph
from codenav.toolgraph.nodes import EdgeKind, Node, NodeKind

RELATIONS: Mapping[EdgeKind, tuple[str, str]] = {
    EdgeKind.NEXT: ("after it", "before it"),
    EdgeKind.RESOURCE: ("gives, as the only one", "takes from it alone"),
    EdgeKind.WEAK_RESOURCE: ("gives", "takes from"),
    EdgeKind.MEMBER: ("belongs to", "members"),
    EdgeKind.CALL: ("calls", "called by"),
    EdgeKind.SUBSTITUTE: ("can be replaced by", "replaces"),
}
"""The relation of a node to the target of an edge from it, and to the source of an edge to it."""
ORDER = (
    "belongs to", "called by", "calls", "before it", "after it", "takes from it alone", "takes from",
    "gives, as the only one", "gives", "can be replaced by", "replaces", "members",
)  # fmt: skip
"""The relations in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class NodeFacts(Document):
    """A node as it is shown."""

    id: str
    kind: NodeKind
    description: str
    weight: float
    """The usability, 0 to 1."""
    score: float | None
    """Given by hand; the weight is this, then."""
    calls: int
    successes: int
    mean_seconds: float | None
    """None if no call was measured."""
    last_use: str
    """A day, UTC; empty if never or not known."""
    check: float

    digits: ClassVar[Mapping[str, int]] = {"weight": 4}

    @classmethod
    def of(cls, node: Node) -> NodeFacts:
        """The facts of a node."""
        mean = round(node.seconds / node.measured, 4) if node.measured else None
        day = datetime.fromtimestamp(min(node.last_use, 253_402_300_799), UTC).date().isoformat()
        return cls(
            node.id, node.kind, node.description, node.weight, node.score, node.calls, node.successes, mean,
            day if node.last_use else "", node.check,
        )  # fmt: skip

    @property
    def line(self) -> str:
        """The facts in one line, without the id."""
        if self.kind is not NodeKind.CALLABLE:
            return self.kind.value
        parts = [f"usability {self.weight:.2f}" + (" (by hand)" if self.score is not None else "")]
        parts.append(f"{self.successes} of {self.calls} calls went well" if self.calls else "never called")
        if self.mean_seconds is not None:
            parts.append(f"{self.mean_seconds:.3g} s a call")
        if self.last_use:
            parts.append(f"last {self.last_use}")
        if self.check < 1:
            parts.append(f"check {self.check:.2f}")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Relation(Document):
    """An edge as it is seen from one of its ends."""

    relation: str
    """One of `ORDER`."""
    kind: EdgeKind
    id: str
    """The node at the other end."""
    resource: str
    weight: float
    score: float | None
    count: int
    origins: Mapping[str, int]

    digits: ClassVar[Mapping[str, int]] = {"weight": 4}

    @property
    def line(self) -> str:
        """The edge in one line, without its relation."""
        text = f"{self.weight:.2f}  {self.id}" + (f"  ({self.resource})" if self.resource else "")
        if self.count:
            times = "once" if self.count == 1 else f"{self.count} times"
            several = len(self.origins) > 1
            origins = (f"{count} {origin}" if several else origin for origin, count in sorted(self.origins.items()))
            text += f"  {times}: {', '.join(origins)}"
        return text + ("  by hand" if self.score is not None else "")


@dataclass(frozen=True)
class Shown(Document):
    """The view of a graph: its size, and one node with its edges or the nodes that are used most."""

    nodes: Mapping[str, int]
    """Number of nodes by kind."""
    edges: Mapping[str, int]
    """Number of edges by kind."""
    node: NodeFacts | None = None
    """The node that was asked for."""
    relations: Sequence[Relation] = ()
    """Its edges, by relation, the heaviest first."""
    relations_left_out: int = 0
    most_used: Sequence[NodeFacts] = field(default=())
    """If no node was asked for: the callables with most calls, then those with most learnt edges."""

    def lines(self) -> Iterator[str]:
        """The lines for a person."""
        if self.node is None:
            for counts, what in ((self.nodes, "node"), (self.edges, "edge")):
                total = sum(counts.values())
                kinds = ", ".join(f"{number} {kind}" for kind, number in counts.items())
                yield f"{total} {what}{'' if total == 1 else 's'}" + (f": {kinds}" if kinds else "")
            if self.most_used:
                yield "most used:" if self.most_used[0].calls else "most edges:"
            for node in self.most_used:
                yield f"  {node.id}  {node.line}"
            return
        yield f"{self.node.id}  {self.node.line}"
        if self.node.description:
            yield f"  {' '.join(self.node.description.split())[:300]}"
        shown = ""
        for relation in self.relations:
            if relation.relation != shown:
                shown = relation.relation
                yield f"{shown}:"
            yield f"  {relation.line}"
        if not self.relations:
            yield "no edges"
        if self.relations_left_out:
            yield f"{self.relations_left_out} more (--limit)"


def show(graph: ToolGraph, around: str = "", *, limit: int = 10) -> Shown:
    """A graph in short, or the node of a name with its edges, at most `limit` of each relation.

    Raises:
        NotFound, UsageError: as `node_named`.
    """
    nodes = Counter(node.kind.value for node in graph.nodes.values())
    edges = Counter(key.kind.value for key in graph.edges)
    sizes = ({kind.value: nodes[kind] for kind in NodeKind if nodes[kind]},
             {kind.value: edges[kind] for kind in EdgeKind if edges[kind]})  # fmt: skip
    if not around:
        tied = Counter(id for key, edge in graph.edges.items() if edge.count for id in (key.source, key.target))
        used = [
            node for node in graph.nodes.values() if node.kind is NodeKind.CALLABLE and (node.calls or tied[node.id])
        ]
        used.sort(key=lambda node: (-node.calls, -tied[node.id], node.id))
        return Shown(*sizes, most_used=[NodeFacts.of(node) for node in used[:limit]])
    node = node_named(graph, around)
    found = sorted(_relations(graph, node.id), key=lambda one: (ORDER.index(one.relation), -one.weight, one.id))
    seen: Counter[str] = Counter()
    kept = []
    for relation in found:
        seen[relation.relation] += 1
        if seen[relation.relation] <= limit:
            kept.append(relation)
    return Shown(*sizes, node=NodeFacts.of(node), relations=kept, relations_left_out=len(found) - len(kept))


def node_named(graph: ToolGraph, name: str) -> Node:
    """The node with that id, or the only one whose id ends with that name.

    Raises:
        NotFound: there is none.
        UsageError: there are several.
    """
    if name in graph.nodes:
        return graph.nodes[name]
    ends = sorted(id for id in graph.nodes if id.endswith(f".{name}"))
    if len(ends) == 1:
        return graph.nodes[ends[0]]
    if ends:
        raise UsageError(f"{name} is the name of {len(ends)} nodes: {few(ends, 3)}", hint="name one whole")
    near = difflib.get_close_matches(name, graph.nodes, n=1) or [id for id in graph.nodes if name.lower() in id.lower()]
    raise NotFound(
        f"the graph has no node {name!r}",
        hint=f"did you mean {near[0]!r}?" if near else "codenav graph show lists some",
    )


def _relations(graph: ToolGraph, id: str) -> Iterator[Relation]:
    weight = graph.weighing()
    for way, edges in enumerate((graph.outgoing(id), graph.incoming(id))):
        for key, edge in edges:
            yield Relation(
                RELATIONS[key.kind][way], key.kind, (key.target, key.source)[way], key.resource, weight(key),
                edge.score, edge.count, edge.origins,
            )  # fmt: skip
