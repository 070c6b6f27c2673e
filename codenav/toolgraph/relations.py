"""The nodes and edges of a graph with the ways between them, and the weights of edges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from codenav.toolgraph.nodes import Edge, EdgeKey, EdgeKind, Node, NodeKind

RESOURCES = (EdgeKind.RESOURCE, EdgeKind.WEAK_RESOURCE)
COUNTED = (EdgeKind.NEXT, EdgeKind.CALL, *RESOURCES)
"""The kinds of edges whose weight is a share of counts."""


class Relations:
    """Nodes and the edges between them, found by their id and by either end."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.edges: dict[EdgeKey, Edge] = {}
        self.learnt: set[str] = set()
        """The episodes and traces that its counts rest on: `episodes:ID`, `traces:ID`."""
        self._out: dict[str, dict[EdgeKey, None]] = defaultdict(dict)
        self._in: dict[str, dict[EdgeKey, None]] = defaultdict(dict)

    def __eq__(self, other: object) -> bool:
        """Two graphs are equal if their nodes and edges are, in any order, and what they learnt."""
        if not isinstance(other, Relations):
            return NotImplemented
        return (self.nodes, self.edges, self.learnt) == (other.nodes, other.edges, other.learnt)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.nodes)} nodes and {len(self.edges)} edges>"

    def node(self, id: str, kind: NodeKind = NodeKind.CALLABLE) -> Node:
        """The node with that id, which is made if there is none."""
        found = self.nodes.get(id)
        if found is None:
            found = self.nodes[id] = Node(id, kind)
        return found

    def edge(self, kind: EdgeKind, source: str, target: str, resource: str = "") -> Edge:
        """The edge between two nodes, which is made if there is none. Both nodes exist.

        Raises:
            KeyError: there is no such node.
        """
        key = EdgeKey(kind, source, target, resource)
        found = self.edges.get(key)
        if found is None:
            self.nodes[source], self.nodes[target]
            found = self.edges[key] = Edge()
            self._out[source][key] = self._in[target][key] = None
        return found

    def put(self, key: EdgeKey, edge: Edge) -> None:
        """Put a copy of an edge in the place of the one that is there, if any. Both nodes exist."""
        self.take(key, edge.copy())

    def take(self, key: EdgeKey, edge: Edge) -> None:
        """Put an edge itself in the place of the one that is there, if any. Both nodes exist."""
        self.edges[key] = edge
        self._out[key.source][key] = self._in[key.target][key] = None

    def count(self, kind: EdgeKind, source: str, target: str, resource: str = "", *, origin: str, by: int = 1) -> None:
        """Count an edge once more, or `by` times; an edge whose count falls to 0 and that has no score is removed."""
        edge = self.edge(kind, source, target, resource)
        edge.count += by
        edge.origins[origin] = edge.origins.get(origin, 0) + by
        if edge.origins[origin] <= 0:
            del edge.origins[origin]
        if edge.count <= 0 and edge.score is None:
            self.remove_edge(EdgeKey(kind, source, target, resource))

    def remove_edge(self, key: EdgeKey) -> None:
        """Remove an edge, if it is there."""
        if self.edges.pop(key, None) is not None:
            del self._out[key.source][key], self._in[key.target][key]

    def remove_node(self, id: str) -> None:
        """Remove a node with its edges, if it is there."""
        for key in (*self._out.get(id, ()), *self._in.get(id, ())):
            self.remove_edge(key)
        self._out.pop(id, None)
        self._in.pop(id, None)
        self.nodes.pop(id, None)

    def outgoing(self, id: str, *kinds: EdgeKind) -> Iterator[tuple[EdgeKey, Edge]]:
        """The edges from a node, of these kinds or of all."""
        return self._chosen(self._out.get(id, {}), kinds)

    def incoming(self, id: str, *kinds: EdgeKind) -> Iterator[tuple[EdgeKey, Edge]]:
        """The edges to a node, of these kinds or of all."""
        return self._chosen(self._in.get(id, {}), kinds)

    def _chosen(self, keys: Mapping[EdgeKey, None], kinds: tuple[EdgeKind, ...]) -> Iterator[tuple[EdgeKey, Edge]]:
        return ((key, self.edges[key]) for key in tuple(keys) if not kinds or key.kind in kinds)

    def weight(self, key: EdgeKey) -> float:
        """The weight of an edge, 0 to 1: its score, else the share of what was counted, else 1.0.

        A `next` or `call` edge: how likely its target follows its source, count / (counts of all such edges from the
        source + 1), as ToolNet weighs edges. A resource edge: how likely its target has the resource from its source,
        count / (counts of all edges by which the target takes that resource + 1). The 1 in both is a pseudo-count, a
        call of something else that never happened: what was seen once is not certain. Other kinds are facts: 1.0.

        Raises:
            KeyError: there is no such edge.
        """
        return self.weighing()(key)

    def weighing(self) -> Callable[[EdgeKey], float]:
        """A function that gives the weight of each edge as `weight` does, while the graph stays as it is.

        It adds up the rivals of an edge once: all weights of a node with 20,000 edges take as long as one of them.
        """
        counted: dict[tuple[EdgeKind, str, str], int] = {}

        def weight(key: EdgeKey) -> float:
            of = _rivals(key)
            if of not in counted:
                taken = key.kind in RESOURCES
                edges = self.incoming(key.target, *RESOURCES) if taken else self.outgoing(key.source, key.kind)
                counted[of] = sum(rival.count for other, rival in edges if _rivals(other) == of)
            return _weight(key, self.edges[key], counted[of])

        return weight


def _rivals(key: EdgeKey) -> tuple[EdgeKind, str, str]:
    """The key that an edge has in common with those that it shares its weight with."""
    if key.kind in RESOURCES:
        return EdgeKind.RESOURCE, key.target, key.resource
    return key.kind, key.source, ""


def _weight(key: EdgeKey, edge: Edge, counted: int) -> float:
    if edge.score is not None:
        return edge.score
    return edge.count / (1 + counted) if key.kind in COUNTED and edge.count else 1.0
