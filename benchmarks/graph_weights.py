"""The weights of the votes of a tool graph: `SHIPPED` and `ALONE` of codenav/toolgraph/ranker.py are made here.

    python benchmarks/graph_weights.py --data DIR        # fit on all, and judge each set by the others
    python benchmarks/graph_weights.py --data DIR --json

DIR is a folder of sets as for `retrieval.py`. Each set is judged out of fold twice: requests drawn at random, and
requests whose tools no other request of the training side has, up to 100 of each. Coordinate ascent over the mean of
NDCG@5, for steps of NDCG@5 and hit@1, over sets; the smallest weight within a standard error of the best is taken
(research on tool graphs, section 3). `requests` is before the first call, `steps` after one; `alone` without episodes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import retrieval_sets

GRID = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.2, 1.6, 2.0, 2.5, 3.0)
ROUNDS = 3
KINDS: Mapping[str, tuple[bool, Sequence[str]]] = {
    "requests": (False, ("episodes", "rank", "usability")),
    "steps": (True, ("steps", "episodes", "next", "resource", "rank", "usability")),
    "alone, requests": (False, ("rank", "usability")),
    "alone, steps": (True, ("next", "resource", "rank", "usability")),
}
"""By what is fitted: whether after a call, and its votes, in the order of the ascent."""
CALLED = 0.6
"""The weight of the vote against what was called already, as in the research."""
MOST_CANDIDATES = 400


@dataclass
class Table:
    """The cases of a set as arrays: one row a case, one column a candidate."""

    first: np.ndarray
    votes: dict[str, np.ndarray]
    right: np.ndarray
    most: np.ndarray
    """The best DCG@5 of each case."""

    step: bool

    def quality(self, weights: Mapping[str, float]) -> np.ndarray:
        """The NDCG@5 of each case; of a step the mean of it and hit@1."""
        totals = self.first.copy()
        for name, weight in weights.items():
            if weight:
                totals += weight * self.votes[name]
        best = np.argpartition(-totals, 5, axis=1)[:, :5]
        best = np.take_along_axis(best, np.argsort(-np.take_along_axis(totals, best, axis=1), axis=1), axis=1)
        found = np.take_along_axis(self.right, best, axis=1)
        gains: np.ndarray = (found / np.log2(np.arange(2, 2 + best.shape[1]))).sum(axis=1) / self.most
        return (gains + found[:, 0]) / 2 if self.step else gains


def table(cases: Sequence[object], *, step: bool) -> Table:
    """The arrays of cases."""
    from codenav.toolgraph.gate import Case
    from codenav.toolgraph.votes import VOTES

    width = MOST_CANDIDATES
    first = np.full((len(cases), width), -10.0)
    votes = {name: np.zeros((len(cases), width)) for name in VOTES}
    right, most = np.zeros((len(cases), width)), np.zeros(len(cases))
    for row, case in enumerate(cases):
        assert isinstance(case, Case)
        names = list(
            dict.fromkeys([*sorted(case.right), *case.first, *(n for cast in case.casts.values() for n in cast)])
        )
        # What is right and was not found by anything is last, so that it cannot be found by its place in the row.
        known = set(case.first).union(*case.casts.values())
        names = sorted(name for name in names[:width] if name in known)
        for column, name in enumerate(names):
            first[row, column] = case.first.get(name, 0.0)
            right[row, column] = name in case.right
            for vote, cast in case.casts.items():
                if name in cast:
                    votes[vote][row, column] = cast[name].value
        most[row] = sum(1 / np.log2(place + 2) for place in range(min(5, len(case.right))))
    return Table(first - CALLED * -votes["called"], votes, right, most, step)


def tables(split: retrieval_sets.Split) -> Iterator[tuple[bool, Table]]:
    """The cases of a set: before any call, and after some."""
    import retrieval_votes

    from codenav.retrieval.stems import stems
    from codenav.toolgraph import gate
    from codenav.toolgraph.memory import Memory
    from codenav.toolgraph.votes import VOTES, Polling, Weights

    every = Weights(**dict.fromkeys(VOTES, 1.0))
    traces = [retrieval_votes.trace(request) for request in split.judged]
    known = Memory(traces, stems)
    requests, steps = [], []
    for taught, judged in (*gate.folds(known, unseen=True), *gate.folds(known, unseen=False)):
        polling = Polling(retrieval_votes.teach(taught), Memory(taught, stems))
        for number, (trace, called) in enumerate(judged):
            first = retrieval_votes.first_stage(split, trace.request)
            requests.append(gate.case(polling, trace, (), called, first, every))
            for at in {1 + number % (len(called) - 1), len(called) - 1} if trace.ordered and len(called) > 1 else ():
                steps.append(gate.case(polling, trace, called[:at], called[at : at + 1], first, every))
    yield False, table(requests, step=False)
    if steps:
        yield True, table(steps, step=True)


def fit(sets: Sequence[Table], votes: Sequence[str]) -> dict[str, float]:
    """Weights by coordinate ascent from 0, a set counting once."""
    weights = dict.fromkeys(votes, 0.0)
    for _ in range(ROUNDS):
        before = dict(weights)
        for name in votes:
            tried = {value: [one.quality({**weights, name: value}) for one in sets] for value in GRID}
            best = max(tried.values(), key=lambda each: float(np.mean([gains.mean() for gains in each])))
            weights[name] = min(value for value, each in tried.items() if _within(each, best))
        if weights == before:
            break
    return weights


def _within(tried: Sequence[np.ndarray], best: Sequence[np.ndarray]) -> bool:
    """True if the mean over sets is within a standard error of the best one's, by paired differences."""
    lost = [one - other for one, other in zip(best, tried, strict=True)]
    error = sum(float(each.var()) / len(each) for each in lost) ** 0.5 / len(lost)
    return float(np.mean([each.mean() for each in lost])) <= error


def mean(sets: Sequence[Table], weights: Mapping[str, float]) -> list[float]:
    """The quality of each set in %."""
    return [round(100 * float(one.quality(weights).mean()), 1) for one in sets]


def main() -> None:
    """Fit and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found: dict[bool, dict[str, Table]] = {False: {}, True: {}}
    sets = retrieval_sets.read(options.data, None, only=options.set)
    with tempfile.TemporaryDirectory() as temporary:
        import retrieval_rows  # noqa: F401  # Its rivals are in the cache of the person who measures.

        os.environ["CODENAV_HOME"] = temporary
        for split in sets:
            for step, made in tables(split):
                found[step][split.name] = made
            print(split.name, len(split.judged), file=sys.stderr, flush=True)
    told = {}
    for kind, (step, votes) in KINDS.items():
        each = found[step]
        if len(each) < 2:
            continue
        others = {name: fit([one for other, one in each.items() if other != name], votes) for name in each}
        told[kind] = {
            "weights": fit(list(each.values()), votes),
            "sets": {
                name: {"first": mean([one], {})[0], "judged": mean([one], others[name])[0], "weights": others[name]}
                for name, one in each.items()
            },
        }
    if options.json:
        print(json.dumps(told, indent=2))
        return
    for kind, result in told.items():
        print(f"\n{kind}: {result['weights']}\nQuality of the first stage, and with the weights of all other sets:")
        for name, one in result["sets"].items():
            print(f"  {name:<24} {one['first']:5.1f} {one['judged']:5.1f}  {one['weights']}")


if __name__ == "__main__":
    main()
