"""Two runs of one task, sample by sample."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from codenav.evals.recorded import Recorded, outcome_of
from codenav.evals.results import ERROR, Result


@dataclass(frozen=True)
class Compared:
    """The samples that both runs have results for, each by its mean score over the epochs."""

    first: str
    second: str
    better: Sequence[str]
    """Ids of samples on which the first run scored higher."""
    worse: Sequence[str]
    equal: Sequence[str]

    @classmethod
    def of(cls, first: Recorded, second: Recorded) -> Compared:
        """Compare two runs."""
        ours, theirs = scores_of(first), scores_of(second)
        both = [id for id in ours if id in theirs]
        return cls(
            first.name,
            second.name,
            [id for id in both if ours[id] > theirs[id]],
            [id for id in both if ours[id] < theirs[id]],
            [id for id in both if ours[id] == theirs[id]],
        )

    def to_dict(self) -> dict[str, Any]:
        """The comparison in JSON types."""
        return {
            "first": self.first,
            "second": self.second,
            "better": list(self.better),
            "worse": list(self.worse),
            "equal": len(self.equal),
        }


def score_of(result: Result) -> float | None:
    """The score of an attempt from 0 to 1: `f1` where a task gives one, else 1 for correct. None for an `error`."""
    outcome = outcome_of(result)
    if outcome == ERROR:
        return None
    f1 = result.scores.get("f1")
    if isinstance(f1, int | float) and not isinstance(f1, bool):
        return float(f1)
    return float(outcome == "correct")


def scores_of(run: Recorded) -> dict[str, float]:
    """The mean score of each sample that has one, by id."""
    found: dict[str, list[float]] = {}
    for result in run.results:
        score = score_of(result)
        if score is not None:
            found.setdefault(result.id, []).append(score)
    return {id: statistics.fmean(scores) for id, scores in found.items()}
