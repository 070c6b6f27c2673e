"""The votes of a tool graph and of a memory on callables: the value of each vote, and its reason."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import copysign
from typing import NamedTuple, Self

from codenav.core.system.stored import Stored
from codenav.core.system.terminal_text import flattened
from codenav.toolgraph.graph import EdgeKind, ToolGraph
from codenav.toolgraph.memory import Memory

USABILITY, NEXT, RESOURCE, RANK, EPISODES, STEPS = "usability", "next", "resource", "rank", "episodes", "steps"
CALLED = "called"
"""The vote against what was called already, among the callables to call next."""
OF_EPISODES = frozenset((EPISODES, STEPS))
"""The votes of episodes: these alone may take the first place from the best hit of the first stage."""
SEEDS = 30
"""The best callables from which walks begin."""
SHARPNESS = 3
"""The power of their scores: the first of them matter most."""
GIVERS = 5
"""The last calls whose results may go into the next one."""
WEAK = 0.5
"""The weight of a resource that others give, too, next to one that nobody else gives."""
QUOTED = 60
"""The most characters of a request that are quoted as a reason."""
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


class Cast(NamedTuple):
    """The opinion of a vote on a callable."""

    value: float
    """About 0 to 1; below 0 if it speaks against it."""
    because: str


Casts = Mapping[str, Cast]
"""Casts by the name of the callable."""


@dataclass(frozen=True, slots=True)
class Weights(Stored):
    """The amount that each vote adds to a score, the best of the first stage being 1. 0: it is not asked."""

    usability: float = 0.0
    next: float = 0.0
    resource: float = 0.0
    rank: float = 0.0
    episodes: float = 0.0
    steps: float = 0.0
    called: float = 0.0

    def times(self, shares: Mapping[str, float]) -> Self:
        """The weights with some of them multiplied."""
        return replace(self, **{name: getattr(self, name) * share for name, share in shares.items() if name in VOTES})

    def items(self) -> dict[str, float]:
        """The weights that are not 0, by vote."""
        return {name: weight for name in VOTES if (weight := getattr(self, name))}


VOTES = tuple(one.name for one in fields(Weights))


@dataclass(frozen=True, slots=True)
class Shipped:
    """The weights before the first call, and after a call."""

    requests: Weights
    steps: Weights


class Polling:
    """The votes of a graph and a memory."""

    def __init__(self, graph: ToolGraph, memory: Memory | None = None) -> None:
        """`graph` stays as it is meanwhile."""
        self.graph, self.memory = graph, memory
        self._weigh = graph.weighing()
        self._ways = WaysOf(graph)
        self._quotes: dict[int, str] = {}

    def cast(
        self,
        votes: Sequence[str],
        request: str,
        calls: Sequence[str],
        first: Mapping[str, float],
        *,
        others: bool = True,
    ) -> dict[str, Casts]:
        """The opinions of these votes. `first`: the scores of callables in the first stage, the best 1.

        `others`: they may speak for callables that it did not find, too.
        """
        asked: Mapping[str, Callable[[], Casts]] = {
            EPISODES: lambda: self._episodes(request, None if others else first),
            STEPS: lambda: self._steps(request, calls, None if others else first),
            USABILITY: lambda: self._usability(first),
            NEXT: lambda: self._next(calls),
            RESOURCE: lambda: self._resource(calls),
            CALLED: lambda: {name: Cast(-1.0, "called already") for name in calls},
        }
        found = {name: asked[name]() for name in votes if name in asked}
        if RANK in votes:
            known = found[EPISODES] if EPISODES in found else self._episodes(request, first)
            found[RANK] = self._rank(first, known)
        return found

    def _episodes(self, request: str, only: Container[str] | None) -> Casts:
        """The answers to similar requests; of two answers the surer one counts more than by as much as it is surer."""
        shares = self.memory.answers(request) if self.memory and request else {}
        return {
            name: Cast(copysign(value**2, value), self._quoted(episode))
            for name, (value, episode) in shares.items()
            if only is None or name in only
        }

    def _steps(self, request: str, calls: Sequence[str], only: Container[str] | None) -> Casts:
        shares = self.memory.next_steps(request, calls) if self.memory and request else {}
        return {
            name: Cast(value, self._quoted(episode))
            for name, (value, episode) in shares.items()
            if only is None or name in only
        }

    def _quoted(self, episode: int) -> str:
        found = self._quotes.get(episode)
        if found is None:
            assert self.memory is not None
            trace = self.memory.traces[episode]
            found = self._quotes[episode] = f'episode {trace.id}: "{flattened(trace.request, QUOTED)}"'
        return found

    def _usability(self, first: Mapping[str, float]) -> Casts:
        """The weight of a callable over that of one that was never called: half of it tells nothing."""
        found = {}
        for name in first:
            node = self.graph.nodes.get(name)
            if node is not None and (node.calls or node.score is not None or node.check != 1.0):
                because = f"{node.successes} of {node.calls} calls worked" if node.calls else "by its score or check"
                found[name] = Cast(2 * node.weight - 1, because)
        return found

    def _next(self, calls: Sequence[str]) -> Casts:
        if not calls:
            return {}
        edges = self.graph.outgoing(calls[-1], EdgeKind.NEXT)
        return {key.target: Cast(self._weigh(key), f"after {calls[-1]}") for key, _ in edges}

    def _resource(self, calls: Sequence[str]) -> Casts:
        found: dict[str, Cast] = {}
        for giver in dict.fromkeys(reversed(calls[-GIVERS:])):
            for key, _ in self.graph.outgoing(giver, EdgeKind.RESOURCE, EdgeKind.WEAK_RESOURCE):
                value = self._weigh(key) * (WEAK if key.kind is EdgeKind.WEAK_RESOURCE else 1.0)
                if key.target not in found or found[key.target].value < value:
                    found[key.target] = Cast(value, f"takes {key.resource or 'what comes'} from {giver}")
        return found

    def _rank(self, first: Mapping[str, float], episodes: Casts) -> Casts:
        """The part of walks that end at a callable without having begun there, the most being 1."""
        scores = {name: score + (episodes[name].value if name in episodes else 0.0) for name, score in first.items()}
        best = sorted(scores, key=lambda name: (-scores[name], name))[:SEEDS]
        start = {name: max(scores[name], 0.0) ** SHARPNESS for name in best if name in self.graph.nodes}
        found = pagerank(start, self._ways)
        top = max(found.values(), default=0.0)
        near = f"near {best[0]}" if best else ""
        return {name: Cast(value / top, near) for name, value in found.items()} if top > 0 else {}


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

    def __init__(self, graph: ToolGraph) -> None:
        self._graph = graph
        self._found: dict[str, Ways] = {}

    def __call__(self, id: str) -> Ways:
        """The ways from a node."""
        if id not in self._found:
            self._found[id] = self._ways(id)
        return self._found[id]

    def _ways(self, id: str) -> Ways:
        graph, weights = self._graph, dict[str, float]()
        for edges, away in ((graph.outgoing(id, *KINDS), True), (graph.incoming(id, *KINDS), False)):
            for key, edge in edges:
                other = key.target if away else key.source
                amount = edge.count or (1.0 if edge.score is None else edge.score)
                if other != id and amount > 0:
                    weights[other] = weights.get(other, 0.0) + amount
        best = sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:MOST_WAYS]
        # A call of something else that never happened, as in `Relations.weight`.
        whole = sum(weight for _, weight in best) + 1
        return [(other, weight / whole) for other, weight in best]
