"""Personalised PageRank near some nodes of a tool graph."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence

from codenav.toolgraph.graph import EdgeKind, ToolGraph

RESTART = 0.5
"""The chance that a walk starts anew. With 1/2 it is two steps long on the mean."""
ENOUGH = 1e-3
"""The part of all walks below which it is not followed where they go from a node."""
MOST_PUSHES = 60
"""The most nodes from which walks are followed: what bounds the time, whatever the size of the graph."""
MOST_WAYS = 30
"""The most ways that are followed from a node, the heaviest."""
KINDS = (EdgeKind.NEXT, EdgeKind.RESOURCE, EdgeKind.WEAK_RESOURCE)

Ways = Sequence[tuple[str, float]]
"""Nodes with the share of the walks that go there."""


def pagerank(start: Mapping[str, float], ways: Callable[[str], Ways]) -> dict[str, float]:
    """The share of walks that end at each node, if they begin at those of `start` in proportion to their values.

    By local pushes (Andersen, Chung, Lang 2006): only nodes that a good part of the walks reaches are touched, so that
    the time does not depend on the size of the graph. A walk without a way on ends where it is.
    """
    whole = sum(start.values())
    if whole <= 0:
        return {}
    ended: dict[str, float] = {}
    walking = {id: value / whole for id, value in start.items() if value > 0}
    waiting = deque(sorted(walking, key=lambda id: (-walking[id], id)))
    queued = set(waiting)
    for _ in range(MOST_PUSHES):
        if not waiting:
            break
        id = waiting.popleft()
        queued.discard(id)
        amount = walking.pop(id)
        onward = ways(id)
        ended[id] = ended.get(id, 0.0) + amount * (1 - (1 - RESTART) * sum(share for _, share in onward))
        for target, share in onward:
            walking[target] = walking.get(target, 0.0) + amount * (1 - RESTART) * share
            if target not in queued and walking[target] >= ENOUGH:
                queued.add(target)
                waiting.append(target)
    for id, amount in walking.items():
        ended[id] = ended.get(id, 0.0) + amount
    return ended


class WaysOf:
    """The ways from the nodes of a graph, either way along its edges; each found once."""

    def __init__(self, graph: ToolGraph, *, even: bool = False) -> None:
        """`even`: all edges weigh the same."""
        self._graph, self._even = graph, even
        self._found: dict[str, Ways] = {}

    def __call__(self, id: str) -> Ways:
        """The ways from a node."""
        found = self._found.get(id)
        if found is None:
            found = self._found[id] = self._ways(id)
        return found

    def _ways(self, id: str) -> Ways:
        graph, weights = self._graph, dict[str, float]()
        for edges, away in ((graph.outgoing(id, *KINDS), True), (graph.incoming(id, *KINDS), False)):
            for key, edge in edges:
                other = key.target if away else key.source
                amount = 1.0 if self._even else edge.count or (1.0 if edge.score is None else edge.score)
                if other != id and amount > 0:
                    weights[other] = weights.get(other, 0.0) + amount
        best = sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:MOST_WAYS]
        # A call of something else that never happened, as in `Relations.weight`.
        whole = sum(weight for _, weight in best) + 1
        return [(other, weight / whole) for other, weight in best]
