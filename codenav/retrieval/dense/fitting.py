"""The weights of words, meaning and memory beside each other, fitted on requests that trained none of them.

A softmax over all callables of the weighted sum is to give the callables that answered a request (McFadden 1974). The
weights begin alike and move as far as the requests say so: a few requests move them little, hundreds move them freely.
Fitted on the requests that trained the vectors they would believe the vectors alone, and cost a set whose callables
do not recur 15 points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.float32]

PRIOR = (5.0, 5.0, 5.0)
"""The weights before any request: of the first stage's score, 1 for its best hit; of the cosine; of the memory."""
CERTAINTY = 0.4
"""The penalty for the square of a weight's distance from there, beside the sum of the requests' losses."""
STEPS, LONGEST_STEP, SMALLEST_STEP = 100, 4.0, 1e-3
CUTS = (5, 10)


@dataclass(frozen=True)
class Weights:
    """The shares of what a callable is found by, the first stage's being 1 unless it counts for nothing."""

    words: float = 1.0
    meaning: float = 1.0
    memory: float = 1.0

    @classmethod
    def of(cls, fitted: npt.NDArray[np.float64]) -> Weights:
        """Make weights of a fitted vector, which only matters up to its length."""
        most = float(fitted[0]) if fitted[0] > 0.05 * fitted.max() else float(fitted.max()) or 1.0
        return cls(*(round(float(value) / most, 4) for value in fitted))

    @classmethod
    def read(cls, shares: Any) -> Weights:
        """The weights in a JSON document.

        Raises:
            ValueError: it has other keys or values.
        """
        known = {field.name for field in fields(cls)}
        if not isinstance(shares, dict) or set(shares) != known:
            raise ValueError("other keys than those of weights")
        if not all(type(value) in (int, float) and 0 <= value < 1e6 for value in shares.values()):
            raise ValueError("weights that are no numbers from 0")
        return cls(**shares)

    def sum(self, features: Scores) -> Scores:
        """The scores of callables from their features, the last axis of `features`."""
        found: Scores = features @ np.array([self.words, self.meaning, self.memory], dtype=np.float32)
        return found


@dataclass(frozen=True)
class Held:
    """A request that was held out."""

    features: Scores
    """For each callable: words, meaning, memory."""
    gold: Sequence[int]


def fit(requests: Sequence[Held], *, used: Sequence[bool] = (True, True, True)) -> Weights:
    """Fit the weights by Newton's method; one that is not `used` is 0."""
    columns = np.flatnonzero(used)
    prior = np.array(PRIOR)[columns]
    weights = prior.copy()
    tables = [(held.features[:, columns].astype(np.float64), list(held.gold)) for held in requests]
    for _ in range(STEPS):
        slope, bend = CERTAINTY * (weights - prior), CERTAINTY * np.eye(len(columns))
        for table, gold in tables:
            scores = table @ weights
            shares = np.exp(scores - scores.max())
            shares /= shares.sum()
            mean = shares @ table
            slope += mean - table[gold].mean(0)
            bend += (table * shares[:, None]).T @ table - np.outer(mean, mean)
        step = np.linalg.solve(bend, slope)
        step *= min(1.0, LONGEST_STEP / max(float(abs(step).max()), 1e-12))
        moved = np.maximum(weights - step, 0)
        if abs(moved - weights).max() < SMALLEST_STEP:
            break
        weights = moved
    every = np.zeros(len(PRIOR))
    every[columns] = weights
    return Weights.of(every)


def measured(scores: Sequence[Scores], gold: Sequence[Sequence[int]]) -> dict[str, float]:
    """Recall and NDCG at each of `CUTS`, the means over requests in per cent. What has no score is not found."""
    sums = {f"{measure}@{cut}": 0.0 for cut in CUTS for measure in ("recall", "ndcg")}
    for row, wanted in zip(scores, gold, strict=True):
        best = [place for place in np.argsort(-row, kind="stable")[: max(CUTS)] if row[place] > 0]
        right = set(wanted)
        gains = [float(place in right) / np.log2(rank + 2) for rank, place in enumerate(best)]
        for cut in CUTS:
            ideal = sum(1 / np.log2(rank + 2) for rank in range(min(cut, len(right))))
            sums[f"recall@{cut}"] += len(right & set(best[:cut])) / len(right)
            sums[f"ndcg@{cut}"] += sum(gains[:cut]) / ideal
    return {name: round(100 * float(value) / max(len(scores), 1), 1) for name, value in sums.items()}
