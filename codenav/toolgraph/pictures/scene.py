"""The content of a picture of a tool graph: marks, lines and colours, the same for every format."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from codenav.core.errors import UsageError
from codenav.core.system.terminal_text import neutral
from codenav.toolgraph.graph import ToolGraph
from codenav.toolgraph.nodes import EdgeKey, EdgeKind, NodeKind
from codenav.toolgraph.pictures.layout import place
from codenav.toolgraph.showing import NodeFacts, node_named

MOST_NODES = 500
"""Default of the nodes in a picture. A screen has no room for more."""
HEAVIEST = 4
"""The most edges that leave one node in a picture, of one kind."""
EDGES_A_NODE = 2
"""The most edges in a picture for each of its nodes: more make a dense graph grey."""
ALWAYS = 25
"""The most important nodes, whose labels may lie over nodes that are less important."""
PALETTE = (
    "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#2aa5a0", "#d4a90f", "#ef6f9e", "#9c755f", "#6b6ecf",
    "#7fb23c", "#17748c",
)  # fmt: skip
"""The colours of groups, the largest group first."""
OTHERS = "#8d949c"
"""The colour of nodes in smaller groups, or in none."""
LABEL = 11.0
"""The height of the font of labels, in pixels."""
DESCRIPTION = 400
"""Most characters of a description."""
LONGEST_LABEL = 40
"""Characters; the names of nodes are whole where one points at them."""
CHARACTER = 0.56
"""The width of a character in parts of the height of the font, on average of a sans-serif font."""
MOST_PARTS = 8
"""The most parts of a dotted name that name a group."""
ACTIONS = "actions"
"""The name of the group of the actions that belong to no other."""


class Look(NamedTuple):
    """The look of a kind of edges."""

    name: str
    colour: str
    style: str = "solid"
    """As CSS has it."""
    dashes: str = ""
    """As SVG has them."""


LOOKS: Mapping[EdgeKind, Look] = {
    EdgeKind.NEXT: Look("called after", "#7a8794"),
    EdgeKind.RESOURCE: Look("only it gives", "#b3401c", "dashed", "6 3"),
    EdgeKind.WEAK_RESOURCE: Look("gives, as others do", "#d99a6c", "dotted", "2 3"),
    EdgeKind.CALL: Look("action calls", "#3f7fbf"),
    EdgeKind.SUBSTITUTE: Look("can replace", "#9a5fb8", "dotted", "1 3"),
}
"""The kinds of edges that are drawn; membership is the colour of a node."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A node in a picture."""

    id: str
    label: str
    x: float
    y: float
    radius: float
    group: int
    """The place of its group in `Scene.groups`."""
    square: bool
    """True for actions."""
    importance: float
    """The order in which labels get room."""
    facts: str
    """Its use, in a line."""
    description: str


@dataclass(frozen=True, slots=True)
class Line:
    """An edge in a picture."""

    kind: EdgeKind
    source: int
    """The place of its mark."""
    target: int
    weight: float
    label: str
    """Resource and count, for the list of a node's edges."""

    @property
    def width(self) -> float:
        """Pixels."""
        return 0.6 + 3.4 * self.weight


@dataclass(frozen=True, slots=True)
class DrawnGroup:
    """A colour in a picture."""

    name: str
    colour: str
    count: int


@dataclass(frozen=True, slots=True)
class Scene:
    """A picture of a graph, in pixels, with the origin at the upper left. Its texts are free of control characters."""

    title: str
    width: float
    height: float
    marks: Sequence[Mark]
    lines: Sequence[Line]
    groups: Sequence[DrawnGroup]
    left_out: str
    """A sentence that says what the picture does not show; empty if it shows everything."""


def scene_of(graph: ToolGraph, title: str, *, around: str = "", hops: int = 1, most: int = MOST_NODES) -> Scene:
    """Make the picture of a graph: its most used nodes with the heaviest edges of each, coloured by their group.

    Args:
        graph: the graph, which is not changed.
        title: the name of the picture.
        around: the name of a node; then the picture shows what is at most `hops` edges away from it.
        hops: see `around`.
        most: the most nodes.

    Raises:
        NotFound, UsageError: as `showing.node_named`, or there is nothing to draw.
    """
    near = _near(graph, node_named(graph, around).id, hops) if around else graph.nodes
    ids = [id for id in near if graph.nodes[id].kind in (NodeKind.CALLABLE, NodeKind.ACTION)]
    if not ids:
        raise UsageError("the graph has nothing to draw: no callables and no actions", hint="codenav graph learn")
    importance = {id: _importance(graph, id) for id in ids}
    chosen = sorted(ids, key=lambda id: (-importance[id], id))[:most]
    number = {id: place for place, id in enumerate(chosen)}
    weight = graph.weighing()
    keys, dropped = _heaviest(graph, number, weight)
    names = group_names(graph, chosen)
    sizes = Counter(names.values())
    order = [name for name, _ in sorted(sizes.items(), key=lambda one: (one[0] == "", -one[1], one[0]))]
    groups, group_of = _coloured(order, sizes)
    largest = max(importance.values()) or 1.0
    radii = [
        4.0 + 11.0 * (importance[id] / largest) ** 1.5 + 3.0 * (graph.nodes[id].kind is NodeKind.ACTION)
        for id in chosen
    ]
    weights = {key: weight(key) for key in keys}
    places = place(
        radii,
        [order.index(names[id]) for id in chosen],
        [(number[key.source], number[key.target], weights[key]) for key in keys],
    )
    marks = [
        Mark(
            neutral(id), neutral(cut(id.rpartition(".")[2] or id, LONGEST_LABEL)), round(float(x), 1),
            round(float(y), 1), round(radius, 1), group_of[names[id]], graph.nodes[id].kind is NodeKind.ACTION,
            round(importance[id], 3), NodeFacts.of(graph.nodes[id]).line,
            neutral(graph.nodes[id].description)[:DESCRIPTION],
        )
        for id, radius, (x, y) in zip(chosen, radii, places, strict=True)
    ]  # fmt: skip
    lines = [
        Line(key.kind, number[key.source], number[key.target], round(weights[key], 3), _edge_text(graph, key))
        for key in sorted(keys, key=lambda key: weights[key])
    ]
    # Labels lie beside nodes, at either side.
    room = max(len(mark.label) for mark in marks) * LABEL * CHARACTER + 4
    marks = [replace(mark, x=round(mark.x + room, 1)) for mark in marks]
    right = max(mark.x + mark.radius for mark in marks) + room
    below = max(mark.y + mark.radius for mark in marks)
    return Scene(neutral(title), right, below, marks, lines, groups, _left_out(len(ids) - len(chosen), dropped))


def cut(name: str, most: int) -> str:
    """A name of limited length, without its middle."""
    return name if len(name) <= most else f"{name[: most // 2 - 1]}…{name[-most // 2 :]}"


def group_names(graph: ToolGraph, ids: Sequence[str]) -> dict[str, str]:
    """The name of the group of each node: what it is a member of, else the beginning that its name shares with others.

    Beginnings are as long as they can be with no more of them than there are colours. Empty: no group.
    """
    found = {}
    rest = []
    for id in ids:
        groups = sorted(key.target for key, _ in graph.outgoing(id, EdgeKind.MEMBER))
        if groups:
            found[id] = groups[0]
        elif graph.nodes[id].kind is NodeKind.ACTION:
            found[id] = ACTIONS
        else:
            rest.append(id)
    room = max(1, len(PALETTE) - len(set(found.values())))
    return {**found, **_beginnings(rest, room)}


def _beginnings(ids: Iterable[str], room: int) -> dict[str, str]:
    """The beginning of each dotted name, with as many parts as make no more groups than there is room for."""
    found = dict.fromkeys(ids, "")
    for depth in range(1, MOST_PARTS + 1):
        longer = {id: ".".join(id.split(".")[:-1][:depth]) for id in found}
        if len(set(longer.values())) > room:
            break
        found = longer
    return found


def _coloured(order: Sequence[str], sizes: Mapping[str, int]) -> tuple[list[DrawnGroup], dict[str, int]]:
    """The groups with a colour of their own, the rest together in grey; and the place of each in them."""
    own = [name for name in order if name][: len(PALETTE)]
    groups = [DrawnGroup(neutral(name), colour, sizes[name]) for name, colour in zip(own, PALETTE, strict=False)]
    number = {name: place for place, name in enumerate(own)}
    rest = [name for name in order if name not in number]
    if rest:
        number |= dict.fromkeys(rest, len(groups))
        named = "no group" if rest == [""] else f"{len(rest)} smaller groups"
        groups.append(DrawnGroup(named, OTHERS, sum(sizes[name] for name in rest)))
    return groups, number


def _near(graph: ToolGraph, id: str, hops: int) -> list[str]:
    """The nodes that are so many edges away, the nearest first."""
    found = dict.fromkeys([id])
    edge = [id]
    for _ in range(hops):
        ends = [key.target for one in edge for key, _ in graph.outgoing(one)]
        ends += [key.source for one in edge for key, _ in graph.incoming(one)]
        edge = [one for one in dict.fromkeys(ends) if one not in found]
        found |= dict.fromkeys(edge)
        if not edge:
            break
    return list(found)


def _importance(graph: ToolGraph, id: str) -> float:
    """The use of a node, and the number of edges to it and from it, each as a logarithm."""
    edges = [edge for _, edge in (*graph.outgoing(id), *graph.incoming(id))]
    return math.log1p(graph.nodes[id].calls) + math.log1p(sum(max(1, edge.count) for edge in edges))


def _heaviest(
    graph: ToolGraph, chosen: Mapping[str, int], weigh: Callable[[EdgeKey], float]
) -> tuple[list[EdgeKey], int]:
    """The heaviest edges of each node and kind, between the nodes of a picture; and how many others there are."""
    kept: list[tuple[int, float, EdgeKey]] = []
    total = 0
    for id in chosen:
        for kind in LOOKS:
            edges = [key for key, _ in graph.outgoing(id, kind) if key.target in chosen]
            total += len(edges)
            # Of several resources between two nodes one line is drawn.
            lines = {key.target: key for key in sorted(edges, key=weigh)}
            heaviest = sorted((-weigh(key), key) for key in lines.values())[:HEAVIEST]
            kept += [(rank, weight, key) for rank, (weight, key) in enumerate(heaviest)]
    # The heaviest of every node come before the second of any.
    drawn = [key for _, _, key in sorted(kept)[: EDGES_A_NODE * len(chosen)]]
    return drawn, total - len(drawn)


def _edge_text(graph: ToolGraph, key: EdgeKey) -> str:
    count = graph.edges[key].count
    return neutral(" ".join(part for part in (key.resource, f"{count} times" if count > 1 else "") if part))


def _left_out(nodes: int, edges: int) -> str:
    counts = ((nodes, "node"), (edges, "lighter edge"))
    parts = [f"{number:,} {what}{'' if number == 1 else 's'}" for number, what in counts if number]
    return f"Left out: {' and '.join(parts)}." if parts else ""


def labels_of(scene: Scene) -> list[tuple[int, float, float]]:
    """The labels for which there is room, as mark, left end and middle height: those of important nodes first."""
    order = sorted(enumerate(scene.marks), key=lambda one: -one[1].importance)
    # Left, top, right and bottom of what is in the way of others.
    taken = np.empty((2 * len(order), 4))
    used = 0

    def take(*box: float) -> None:
        nonlocal used
        taken[used] = box
        used += 1

    def free(*box: float) -> bool:
        there = taken[:used]
        return not ((there[:, :2] < box[2:]) & (there[:, 2:] > box[:2])).all(axis=1).any()

    def take_marks(marks: Iterable[tuple[int, Mark]]) -> None:
        for _, mark in marks:
            take(mark.x - mark.radius, mark.y - mark.radius, mark.x + mark.radius, mark.y + mark.radius)

    take_marks(order[:ALWAYS])
    placed = []
    for rank, (number, mark) in enumerate(order):
        if rank == ALWAYS:
            take_marks(order[ALWAYS:])
        width, gap = len(mark.label) * LABEL * CHARACTER, mark.radius + 3
        for left, middle in (
            (mark.x + gap, mark.y),
            (mark.x - gap - width, mark.y),
            (mark.x - width / 2, mark.y + gap + LABEL / 2),
            (mark.x - width / 2, mark.y - gap - LABEL / 2),
        ):
            box = (left, middle - LABEL / 2, left + width, middle + LABEL / 2)
            if free(*box):
                take(*box)
                placed.append((number, left, middle))
                break
    return placed
