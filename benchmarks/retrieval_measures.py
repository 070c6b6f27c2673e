"""Measures of rankings of tools, and their intervals by the bootstrap over clusters of requests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

RECALL, GAIN = "recall@5", "ndcg@5"
MEASURES = (RECALL, GAIN, "recall@10", "hit@1")
SAMPLES, SEED = 1000, 11
"""Resamples of an interval, and their seed: the same clusters are drawn for every row."""


def measured(ranked: Sequence[int], gold: set[int]) -> tuple[float, ...]:
    """The values of `MEASURES` for a ranking, each from 0 to 100."""
    hits = [row in gold for row in ranked[:10]]
    gain = sum(1 / math.log2(place + 2) for place, hit in enumerate(hits[:5]) if hit)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(len(gold), 5)))
    first = float(bool(hits) and hits[0])
    return tuple(100 * value for value in (sum(hits[:5]) / len(gold), gain / ideal, sum(hits) / len(gold), first))


@dataclass
class Found:
    """What a row measured on a set, case by case."""

    values: list[tuple[float, ...]] = field(default_factory=list)
    clusters: list[str] = field(default_factory=list)
    unseen: list[bool] = field(default_factory=list)
    """For each case true if nothing that was learnt from has its set of tools or its task."""

    def of_unseen(self) -> Found:
        """The unseen cases alone."""
        kept = [place for place, unseen in enumerate(self.unseen) if unseen]
        each = ([some[place] for place in kept] for some in (self.values, self.clusters))
        return Found(*each, [True] * len(kept))

    def mean(self, measure: str) -> float:
        """The mean over all cases."""
        return float(np.mean([one[MEASURES.index(measure)] for one in self.values]))

    def samples(self, measure: str) -> np.ndarray:
        """The means of the resamples; with the same cases in each row, rows may be subtracted from each other."""
        place = MEASURES.index(measure)
        names, inverse = np.unique(self.clusters, return_inverse=True)
        sums = np.bincount(inverse, weights=[one[place] for one in self.values], minlength=len(names))
        sizes = np.bincount(inverse, minlength=len(names))
        drawn = np.random.default_rng(SEED).integers(len(names), size=(SAMPLES, len(names)))
        return np.asarray(sums[drawn].sum(1) / sizes[drawn].sum(1))


Rows = Mapping[str, Found]
"""The rows of one set by label."""


def interval(samples: np.ndarray) -> tuple[float, float]:
    """The interval of 95 %."""
    low, high = np.percentile(samples, (2.5, 97.5))
    return float(low), float(high)


def over_sets(sets: Sequence[Found], measure: str) -> tuple[float, np.ndarray]:
    """The mean over sets, each counting once, and its resamples."""
    each = [one.samples(measure) for one in sets]
    return float(np.mean([one.mean(measure) for one in sets])), np.mean(each, axis=0)


def difference(ours: Sequence[Found], theirs: Sequence[Found], measure: str) -> tuple[float, float, float]:
    """Ours minus theirs in the mean over sets, with its interval; the same cases must have been judged."""
    mine, my_samples = over_sets(ours, measure)
    other, other_samples = over_sets(theirs, measure)
    return (mine - other, *interval(my_samples - other_samples))


def bar(is_met: bool, name: str, told: str) -> str:
    """The line of a bar: whether it is met, its name, and what was measured."""
    return f"{'met' if is_met else 'NOT met'}: {name}: {told}"
