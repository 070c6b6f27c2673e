"""The nodes and edges of a tool graph, the counts that they rest on, and their weights."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar, NamedTuple

from codenav.core.system.stored import Makers, Stored

HALF_LIFE = 180 * 86_400.0
"""Seconds after which a call counts half as much: an interface changes about twice a year. Chosen, not fitted."""
SLOW = 10.0
"""Seconds of a mean call that halve the weight: the limit up to which an answer keeps a person's attention (J. Nielsen,
Usability Engineering, 1993, 5.5)."""


class NodeKind(StrEnum):
    """The kinds of nodes."""

    CALLABLE = "callable"
    GROUP = "group"
    """A class, a module, a specification: what several callables are members of."""
    CATEGORY = "category"
    ACTION = "action"
    """A stage of work, made by hand (Chat2Graph)."""


class EdgeKind(StrEnum):
    """The kinds of edges."""

    NEXT = "next"
    """The target is called after the source."""
    RESOURCE = "resource"
    """The target takes what only the source gives."""
    WEAK_RESOURCE = "weak_resource"
    """The target takes what the source gives, and others too."""
    MEMBER = "member"
    """The source is a member of the target."""
    CALL = "call"
    """The source, an action, calls the target, a callable."""
    SUBSTITUTE = "substitute"
    """The target does what the source does."""


class EdgeKey(NamedTuple):
    """The key of an edge."""

    kind: EdgeKind
    source: str
    target: str
    resource: str = ""
    """The name of what goes from one to the other; empty for edges that are no resource's."""


RESOURCES = (EdgeKind.RESOURCE, EdgeKind.WEAK_RESOURCE)
COUNTED = (EdgeKind.NEXT, EdgeKind.CALL, *RESOURCES)
"""The kinds of edges whose weight is a share of counts."""


@dataclass(slots=True)
class Node(Stored):
    """A callable, or what callables belong to."""

    id: str
    """For a callable as by `traces.callable_name`."""
    kind: NodeKind = NodeKind.CALLABLE
    description: str = ""
    score: float | None = None
    """Given by hand, 0 to 1; None: the weight is that of what happened."""
    calls: int = 0
    successes: int = 0
    seconds: float = 0.0
    """The sum of those that were measured."""
    measured: int = 0
    last_use: float = 0.0
    """Seconds since the epoch; 0 if never."""
    check: float = 1.0
    """The weight that the check of a tool gave it, 0 to 1."""
    days: dict[str, int] = field(default_factory=dict)
    """The number of verified traces that used it, by days since the epoch, so that a use can be taken out again."""

    made: ClassVar[Makers] = {"kind": NodeKind}

    def copy(self) -> Node:
        """A node of its own with the same content."""
        return replace(self, days=dict(self.days))

    @property
    def weight(self) -> float:
        """The usability of a callable, 0 to 1, as of now."""
        return self.usability(time.time())

    def usability(self, at: float = 0.0) -> float:
        """The score given by hand, else `check` x reliability x speed.

        The node weight of tool-graph planning (static from cleaned paths, then changed by each call), from the figures
        by which API markets rate a service: success rate, latency, popularity. Reliability is Laplace's rule of
        succession, (successes + 1) / (calls + 2): two calls that never happened, one good and one bad, keep the weight
        of what was called once near 1/2, and what is called often and well comes near 1. Calls count half as much for
        each `HALF_LIFE` since the last one, so that what nobody used for long goes back to 1/2. Speed is
        1 / (1 + mean seconds / `SLOW`), the mean shrunk by one call of no time; what was never measured is not slow.

        Args:
            at: seconds since the epoch. 0: at the time of the last use.
        """
        if self.score is not None:
            return self.score
        age = max(0.0, at - self.last_use) if self.last_use and at else 0.0
        faded = math.exp2(-age / HALF_LIFE)
        reliability = (self.successes * faded + 1) / (self.calls * faded + 2)
        speed = 1 / (1 + self.seconds / (self.measured + 1) / SLOW)
        return self.check * reliability * speed


@dataclass(slots=True)
class Edge(Stored):
    """A relation of two nodes."""

    score: float | None = None
    """Given by hand, 0 to 1; None: the weight is that of what was counted, and 1.0 where nothing was."""
    count: int = 0
    origins: dict[str, int] = field(default_factory=dict)
    """Its counts by where they come from: `traces`, `code`, `code:KEY` of another source, `specs`, `episodes`."""

    def copy(self) -> Edge:
        """An edge of its own with the same content."""
        return replace(self, origins=dict(self.origins))


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
        """Put an edge in the place of the one that is there, if any. Both nodes exist."""
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
