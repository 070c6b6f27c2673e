"""The gate of votes: what did not help on the requests that an index knows the answers of is off for that index."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log2
from statistics import fmean, pstdev

from codenav.core.blocks import beside_best
from codenav.core.system.stored import Stored
from codenav.core.traces import Trace
from codenav.toolgraph.graph import ToolGraph
from codenav.toolgraph.memory import Memory, Words
from codenav.toolgraph.votes import CALLED, EPISODES, Casts, Polling, Shipped, Weights

FOLDS = 4
LEAST_CASES = 20
"""Requests below which nothing is measured: fewer tell of chance, not of votes."""
UNMEASURED: Mapping[str, float] = {EPISODES: 0.5}
"""The shares before the first call where nothing was measured: among few requests many are alike by chance."""
MOST_CASES = 200
"""Requests that are judged at most, and a step of each; all teach."""
SHARES = (0.0, 0.5, 1.0, 1.5)
"""The shares of its shipped weight that a vote may have."""
PLACES = 5
"""The first places that count: NDCG@5."""

Search = Callable[[str], Mapping[str, float]]
"""The scores of callables in the first stage for a request, by name."""
Teach = Callable[[Sequence[Trace]], ToolGraph]
"""Makes the graph that some traces teach."""


@dataclass(frozen=True, slots=True)
class Gate(Stored):
    """The shares of their shipped weights that votes have for an index; what is not named has all of it."""

    requests: Mapping[str, float] = field(default_factory=dict)
    """Before the first call: shares by vote, 0 for what is off."""
    steps: Mapping[str, float] = field(default_factory=dict)
    """After a call."""
    cases: int = 0
    """The number of requests that it was measured on; 0: it was not."""

    @property
    def of_requests(self) -> Mapping[str, float]:
        """The shares before the first call, measured or not."""
        return self.requests if self.cases else UNMEASURED

    def stricter(self, other: Gate) -> Gate:
        """The least share of each vote in both."""
        if not (self.cases or other.cases):
            return self
        requests, steps = (
            {name: min(one.get(name, 1.0), two.get(name, 1.0)) for name in {**one, **two}}
            for one, two in ((self.of_requests, other.of_requests), (self.steps, other.steps))
        )
        return Gate(requests, steps, cases=self.cases + other.cases)


@dataclass(frozen=True, slots=True)
class Case:
    """A request out of fold, with what the votes say of it."""

    first: Mapping[str, float]
    casts: Mapping[str, Casts]
    right: frozenset[str]


def measure(
    traces: Sequence[Trace],
    search: Search,
    teach: Teach,
    words: Words,
    weights: Shipped,
) -> Gate:
    """Measure which votes help on the traces of an index, each judged by what the others teach.

    Half of them are judged by requests that other callables answered, half by all others: what is asked for is partly
    new. With under `LEAST_CASES` requests, or too few different answers, nothing is measured.
    """
    known = Memory(traces, words)
    if len(known) < LEAST_CASES or len(set(map(frozenset, known.called))) < FOLDS:
        return Gate()
    ids: set[str] = set()
    requests: list[Case] = []
    steps: list[Case] = []
    for taught, judged in (*folds(known, unseen=True), *folds(known, unseen=False)):
        polling = Polling(teach(taught), Memory(taught, words))
        for number, (trace, called) in enumerate(judged):
            ids.add(trace.id)
            first = scale(search(trace.request))
            requests.append(case(polling, trace, (), called, first, weights.requests))
            if trace.ordered and len(called) > 1:
                # One step of each: those of an episode are much alike, and each costs time.
                at = 1 + number % (len(called) - 1)
                steps.append(case(polling, trace, called[:at], called[at : at + 1], first, weights.steps))
    return Gate(shares(requests, weights.requests), shares(steps, weights.steps), cases=len(ids))


def folds(known: Memory, *, unseen: bool) -> Iterator[tuple[list[Trace], list[tuple[Trace, tuple[str, ...]]]]]:
    """For each fold the traces that teach, and some of the others, which are judged, with what they called.

    `unseen`: traces that call the same callables are in one fold.
    """
    keys = ["\0".join(sorted(called)) for called in known.called] if unseen else [one.id for one in known.traces]
    ordered = sorted(set(keys), key=lambda key: hashlib.sha256(key.encode("utf-8", "replace")).digest())
    place = {key: number % FOLDS for number, key in enumerate(ordered)}
    rows = list(zip([place[key] for key in keys], known.traces, known.called, strict=True))
    most = MOST_CASES // FOLDS // 2
    for number in range(FOLDS):
        judged = [(trace, called) for at, trace, called in rows if at == number]
        step = max(1.0, len(judged) / most)
        some = [judged[int(place * step)] for place in range(min(len(judged), most))]
        yield [trace for at, trace, _ in rows if at != number], some


def case(
    polling: Polling,
    trace: Trace,
    calls: Sequence[str],
    right: Sequence[str],
    first: Mapping[str, float],
    weights: Weights,
) -> Case:
    """A trace after some of its calls, with what the votes say that have a weight."""
    return Case(first, polling.cast([*weights.items()], trace.request, calls, first), frozenset(right))


def shares(judged: Sequence[Case], weights: Weights) -> dict[str, float]:
    """The share of each vote with which the right callables come first most often; what is 1 is left out.

    Another share than the one before is taken only if it is better by more than the standard error of the difference.
    """
    if len(judged) < LEAST_CASES:
        return {}
    asked = [name for name in weights.items() if name != CALLED]
    found = dict.fromkeys(asked, 1.0)
    now = [quality(case, weights) for case in judged]
    for _ in range(2):
        for name in asked:
            best, gained, values = found[name], 0.0, now
            for share in SHARES:
                tried = [quality(case, weights.times({**found, name: share})) for case in judged]
                gains = [new - old for new, old in zip(tried, now, strict=True)]
                mean = fmean(gains)
                if mean > gained and mean > pstdev(gains) / len(gains) ** 0.5:
                    best, gained, values = share, mean, tried
            found[name], now = best, values
    return {name: share for name, share in found.items() if share != 1.0}


def quality(case: Case, weights: Weights) -> float:
    """The NDCG@5 of a case with these weights, 0 to 1."""
    totals = dict(case.first)
    for name, weight in weights.items().items():
        for callable, cast in case.casts.get(name, {}).items():
            totals[callable] = totals.get(callable, 0.0) + weight * cast.value
    best = sorted(totals, key=lambda name: (-totals[name], name))[:PLACES]
    gained = sum(1 / log2(place + 2) for place, name in enumerate(best) if name in case.right)
    return gained / sum(1 / log2(place + 2) for place in range(min(PLACES, len(case.right))))


def scale(scores: Mapping[str, float]) -> dict[str, float]:
    """Scores beside the best, as by `beside_best`, best first."""
    ordered = dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))
    return dict(zip(ordered, beside_best([*ordered.values()]), strict=True))
