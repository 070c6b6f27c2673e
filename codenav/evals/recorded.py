"""A run as reports and judges read it: its settings, and one result for each attempt."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codenav.core.errors import UsageError
from codenav.evals.results import ERROR, Result
from codenav.evals.runs import Head, RunFolder
from codenav.evals.scores import wilson
from codenav.evals.verdicts import Kept

OUTCOMES = ("correct", "wrong", "failed", "limit", ERROR)
"""The outcomes of an attempt. An `error` counts as not solved, and is run again by `resume`."""


@dataclass(frozen=True)
class Recorded:
    """A run that is read, not made."""

    name: str
    """The folder as it was named, for headings."""
    head: Head
    results: Sequence[Result]
    notices: Sequence[str] = ()
    """Lines on damage that was passed over."""
    judged: Mapping[tuple[str, int], Sequence[str]] = field(default_factory=dict)
    """The verdicts of judges by sample and epoch, a line each."""

    @classmethod
    def read(cls, folder: Path) -> Recorded:
        """Read the folder of a run.

        Raises:
            NotFound: there is no run in it.
            UsageError: its head is damaged.
        """
        run = RunFolder.open(folder)
        try:
            results = run.results()
        except OSError as error:
            raise UsageError(f"{folder} cannot be read: {error.strerror}", hint="check who may read it") from error
        return cls(str(folder), run.head, results, run.notices, Kept(folder).lines())

    @property
    def settings(self) -> Mapping[str, Any]:
        """The version of codenav, all facts and all settings by name; a setting counts before a fact of its name."""
        return {"codenav": self.head.codenav, **self.head.facts, **self.head.settings}

    @property
    def missing(self) -> int:
        """The number of attempts of this run or shard that have no result yet."""
        return max(0, len(self.head.attempts) - len(self.results))

    def counts(self) -> dict[str, int]:
        """The number of attempts of each outcome, in the order of `OUTCOMES`."""
        found = Counter(outcome_of(result) for result in self.results)
        return {outcome: found[outcome] for outcome in OUTCOMES}

    def solved(self) -> dict[str, float]:
        """Attempts, errors included, the correct ones of them, and their rate in percent with its 95 % interval."""
        correct, attempts = self.counts()["correct"], len(self.results)
        low, high = wilson(correct, attempts)
        rate = 100 * correct / attempts if attempts else 0.0
        return {"attempts": attempts, "correct": correct, "percent": rate, "low": low, "high": high}

    def totals(self) -> dict[str, float | None]:
        """Sums over all attempts, errors included, as they were paid for too. Dollars are None where one is unknown."""
        prices = [result.dollars for result in self.results]
        known = [price for price in prices if price is not None]
        return {
            "attempts": len(self.results),
            "steps": sum(result.steps for result in self.results),
            "tokens_in": sum(result.prompt_tokens for result in self.results),
            "tokens_out": sum(result.completion_tokens for result in self.results),
            "seconds": round(sum(result.seconds for result in self.results), 3),
            "dollars": sum(known) if known and len(known) == len(prices) else None,
        }

    def groups(self) -> dict[str, dict[str, int]]:
        """Attempts and correct ones by group of samples, errors included. Empty where samples have no groups."""
        found: dict[str, dict[str, int]] = {}
        for result in self.results:
            if result.group:
                entry = found.setdefault(result.group, {"attempts": 0, "correct": 0})
                entry["attempts"] += 1
                entry["correct"] += outcome_of(result) == "correct"
        return found

    def sample_scores(self) -> dict[str, float]:
        """The mean score over the epochs of each sample that has one, by id."""
        found: dict[str, list[float]] = {}
        for result in self.results:
            score = score_of(result)
            if score is not None:
                found.setdefault(result.id, []).append(score)
        return {id: statistics.fmean(scores) for id, scores in found.items()}


def outcome_of(result: Result) -> str:
    """The outcome of an attempt, one of `OUTCOMES`. Only a `done` may be correct or wrong."""
    if result.status == "done":
        return "correct" if result.scores.get("correct") is True else "wrong"
    return result.status if result.status in OUTCOMES else ERROR


def score_of(result: Result) -> float | None:
    """The score of an attempt from 0 to 1: `f1` where a task gives one, else 1 for correct. None for an `error`."""
    outcome = outcome_of(result)
    if outcome == ERROR:
        return None
    f1 = result.scores.get("f1")
    if isinstance(f1, int | float) and not isinstance(f1, bool):
        return float(f1)
    return float(outcome == "correct")
