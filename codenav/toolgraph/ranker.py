"""The ranker of a tool graph: the order of hits, and of what to call next, by its votes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from codenav.core.blocks import Hit, Moved, Vote, beside_best
from codenav.toolgraph.gate import Gate, scale
from codenav.toolgraph.graph import NodeKind, ToolGraph
from codenav.toolgraph.memory import Memory
from codenav.toolgraph.votes import OF_EPISODES, Casts, Polling, Shipped, Weights

SHIPPED = Shipped(Weights(episodes=1.6), Weights(steps=1.2, episodes=0.4, next=0.05, called=0.6))
"""The weights that benchmarks/graph_weights.py fitted over twelve sets of tools; see docs/retrieval.md."""
ALONE = Shipped(Weights(rank=0.2), Weights(next=0.8, called=0.6))
"""Those of a graph without episodes: what they say better is left to it."""
LEAST = 0.0005
"""The share of a score below which a vote is not named."""
MOST = 10
"""The callables to call next that are suggested, unless the caller wants others."""
BROUGHT = 10
"""The most callables that come to the hits of a search though no word found them."""
SURE = 0.02
"""The sum of votes from which on they do, the best hit's score being 1."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A callable to call next."""

    name: str
    score: float
    """Its score in the first stage, the best 1, with all votes added."""
    votes: tuple[Vote, ...]
    """The votes for it and against it, largest first."""


class GraphRanker:
    """A `protocols.Ranker` by the votes of a tool graph and of verified episodes. It is `protocols.Bringing`, too."""

    def __init__(
        self,
        graph: ToolGraph,
        *,
        names: Mapping[str, str],
        memory: Memory | None = None,
        gate: Gate | None = None,
        weights: Shipped | None = None,
        free: Callable[[str, str], bool] = lambda request, query: True,
    ) -> None:
        """`names`: ids of nodes by the ids of the blocks that define them. `gate`: the votes that are off here.

        `weights`: None for `SHIPPED`, or for `ALONE` if there is no episode to remember. `free`: of a request and a
        query, False if the query names or filters, so that nothing comes to its hits.
        """
        self._names, self._free = names, free
        self._blocks: dict[str, str] = {}
        self._polling = Polling(graph, memory)
        gate, weights = gate or Gate(), weights or (SHIPPED if memory else ALONE)
        self._of_requests = weights.requests.times(gate.of_requests)
        self._of_steps = weights.steps.times(gate.steps)

    def rank(self, request: str, query: str, calls: Sequence[str], hits: Sequence[Hit]) -> list[Hit]:
        """The hits by their score, as by `beside_best`, with all votes added. See `protocols.Ranker`.

        The best hit of the first stage keeps its place unless episodes put another one before it: the other votes bring
        up what is likely too, and the request says what is meant.
        """
        scores = beside_best([hit.score for hit in hits])
        names = [self._names.get(hit.id, "") for hit in hits]
        first: dict[str, float] = {}
        for name, score in zip(names, scores, strict=True):
            if name:
                first[name] = max(score, first.get(name, 0.0))
        weights = self._weights(calls)
        casts = self._polling.cast(list(weights), request or query, calls, first, others=False)
        votes = [_votes(name, weights, casts) if name else () for name in names]
        totals = [score + sum(vote.weight for vote in each) for score, each in zip(scores, votes, strict=True)]
        order = sorted(range(len(hits)), key=lambda place: (-totals[place], place))
        if hits:
            by_episodes = [
                score + sum(vote.weight for vote in each if vote.name in OF_EPISODES)
                for score, each in zip(scores, votes, strict=True)
            ]
            best = max(range(len(hits)), key=lambda place: (by_episodes[place], -place))
            if order[0] != best:
                order.remove(best)
                order.insert(0, best)
        for new, place in enumerate(order):
            hits[place].moved = None if new == place else Moved(place + 1, votes[place])
        return [hits[place] for place in order]

    def brings(
        self, request: str, query: str, calls: Sequence[str], known: Collection[str]
    ) -> dict[str, tuple[Vote, ...]]:
        """The votes of episodes for callables that are not among the hits, by block. See `protocols.Bringing`.

        A callable of several blocks has one hit: the last of them, which of overloads is the one that does the work.
        """
        if not (request and self._polling.memory and self._free(request, query)):
            return {}
        if not self._blocks:
            self._blocks = {name: id for id, name in self._names.items()}
        weights = {name: weight for name, weight in self._weights(calls).items() if name in OF_EPISODES}
        casts = self._polling.cast(list(weights), request, calls, {})
        sums: dict[str, float] = defaultdict(float)
        for vote, cast in casts.items():
            for name, (value, _) in cast.items():
                sums[name] += weights[vote] * value
        there = {*calls, *(self._names.get(id) for id in known)}
        sure = [name for name, whole in sums.items() if whole >= SURE and name in self._blocks and name not in there]
        best = sorted(sure, key=lambda name: (-sums[name], name))[:BROUGHT]
        return {self._blocks[name]: _votes(name, weights, casts) for name in best}

    def next(
        self, request: str, calls: Sequence[str], first: Mapping[str, float] | None = None, *, limit: int = MOST
    ) -> list[Suggestion]:
        """The callables to call next, best first.

        Args:
            calls: what was called so far, in order.
            first: scores of callables in a search for the request, by name; what is in none may be suggested, too.
        """
        scores = scale(first or {})
        weights = self._weights(calls, called=True)
        casts = self._polling.cast(list(weights), request, calls, scores)
        nodes = self._polling.graph.nodes
        for each in casts.values():
            for name in each:
                if name not in nodes or nodes[name].kind is NodeKind.CALLABLE:
                    scores.setdefault(name, 0.0)
        found = []
        for name, score in scores.items():
            votes = _votes(name, weights, casts)
            whole = score + sum(vote.weight for vote in votes)
            if whole > 0:
                found.append(Suggestion(name, whole, votes))
        found.sort(key=lambda one: (-one.score, one.name))
        return found[:limit]

    def _weights(self, calls: Sequence[str], *, called: bool = False) -> dict[str, float]:
        """The weights of the votes that are asked, by their names."""
        weights = (self._of_steps if calls else self._of_requests).items()
        if not called:
            weights.pop("called", None)
        return weights


def _votes(name: str, weights: Mapping[str, float], casts: Mapping[str, Casts]) -> tuple[Vote, ...]:
    """The votes for and against a callable, largest first."""
    found = [
        Vote(vote, weights[vote] * cast[name].value, cast[name].because) for vote, cast in casts.items() if name in cast
    ]
    found = [vote for vote in found if abs(vote.weight) >= LEAST]
    return tuple(sorted(found, key=lambda vote: (-abs(vote.weight), vote.name)))
