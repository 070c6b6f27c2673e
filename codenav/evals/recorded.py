"""A run as reports and judges read it: settings, results, and the figures of its table per epoch, mean and spread."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from codenav.core.errors import UsageError
from codenav.core.system.stored import Document
from codenav.evals.results import ERROR, Result
from codenav.evals.runs import Head, RunFolder
from codenav.evals.scores import over_epochs, wilson
from codenav.evals.task import Column, Task
from codenav.evals.verdicts import VerdictFile

OUTCOMES = ("correct", "wrong", "failed", "limit", ERROR)
"""The outcomes of an attempt. An `error` counts as not solved, and is run again by `resume`."""


@dataclass(frozen=True)
class RunRecord:
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
    def read(cls, folder: Path) -> RunRecord:
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
        return cls(str(folder), run.head, results, run.notices, VerdictFile(folder).lines())

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

    def made_with(self) -> dict[str, str]:
        """The facts of a run that its figures stand for, by their headings."""
        sampling = self.head.settings.get("sampling") or {}
        facts = {
            "profile": self.head.facts.get("profile"),
            "model digest": self.head.facts.get("model_digest"),
            "sampling": ", ".join(f"{name} {value}" for name, value in sampling.items() if value is not None),
            "data commit": str(self.head.facts.get("commit") or "")[:12],
            "codenav": self.head.codenav,
            **self.head.place.get("versions", {}),
        }
        return {name: str(value) for name, value in facts.items() if value}

    def solved_attempts(self) -> dict[tuple[str, int], bool]:
        """True for each attempt that is solved, by sample and epoch; an error is not."""
        return {(result.id, result.epoch): outcome_of(result) == "correct" for result in self.results}

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


@dataclass(frozen=True)
class Figure(Document):
    """A figure of a run: one value for each epoch."""

    epochs: Sequence[float]
    attempts: int = 0
    """The attempts that it is a share of, in all epochs; 0 if it is none."""

    stored: ClassVar[Sequence[str]] = ("mean", "spread", "interval", "epochs")

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of a share."""
        return wilson(round(self.mean * self.attempts / 100), self.attempts) if self.attempts else None

    @property
    def mean(self) -> float:
        """The mean over the epochs."""
        return over_epochs(self.epochs)[0]

    @property
    def spread(self) -> float | None:
        """Two standard deviations over the epochs. None for one epoch."""
        return over_epochs(self.epochs)[1]


COSTS = (
    Column("steps", "actions of the agent for a sample", "steps"),
    Column("tokens in", "tokens of all prompts for a sample"),
    Column("tokens out", "tokens of all answers for a sample"),
    Column("seconds", "wall clock for a sample"),
    Column("dollars", "price of all model calls for a sample, where it is known"),
)
"""Columns of every task: means over the attempts that did not end as an error."""

_COSTS = ("steps", "prompt_tokens", "completion_tokens", "seconds", "dollars")
"""The attributes of a result behind `COSTS`."""


def figures_of(run: RunRecord, task: Task | None) -> dict[str, Figure]:
    """All figures of a run by column: those of its task, then `COSTS`. An epoch with nothing but errors has none.

    Raises:
        UsageError: the scores are not those that the task makes now.
    """
    found: dict[str, list[float]] = {}
    shares = {column.name for column in task.columns if column.share} if task else _truths(run)
    by_epoch = scores_by_epoch(run.results)
    for epoch, scores in by_epoch.items():
        for name, value in _aggregated(run, task, scores).items():
            found.setdefault(name, []).append(float(value))
        results = [result for result in run.results if result.epoch == epoch and result.status != ERROR]
        for column, attribute in zip(COSTS, _COSTS, strict=True):
            costs = [getattr(result, attribute) for result in results]
            # A mean over a part of the samples would pass for that of all.
            if None not in costs:
                found.setdefault(column.name, []).append(statistics.fmean(costs))
    attempts = sum(map(len, by_epoch.values()))
    return {name: Figure(tuple(values), attempts if name in shares else 0) for name, values in found.items()}


def scores_by_epoch(results: Sequence[Result]) -> dict[int, list[Mapping[str, Any]]]:
    """The scores of each epoch for `Task.aggregate`, an error as an attempt that did nothing.

    An epoch with nothing but errors is left out.
    """
    found: dict[int, list[Mapping[str, Any]]] = {}
    for epoch in sorted({result.epoch for result in results if result.status != ERROR}):
        of_epoch = [result for result in results if result.epoch == epoch]
        found[epoch] = [result.scores for result in of_epoch if result.scores or result.status != ERROR]
    return found


def _truths(run: RunRecord) -> set[str]:
    """Scores of an unknown task that are a truth value in each attempt."""
    names = {name for result in run.results for name in result.scores}
    return {name for name in names if all(isinstance(result.scores.get(name), bool) for result in run.results)}


def _aggregated(run: RunRecord, task: Task | None, scores: Sequence[Mapping[str, Any]]) -> Mapping[str, float]:
    if task is None:
        return _means(scores)
    try:
        return task.aggregate(scores)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise UsageError(
            f"the scores of {run.name} are not those of {run.head.task} in this codenav: {error!r}",
            hint=f"use codenav {run.head.codenav or 'of the version that made the run'}, or run it again",
        ) from error


def _means(scores: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The mean of each score that is a number or a truth value, the latter in percent: columns of an unknown task."""
    found: dict[str, list[float]] = {}
    for score in scores:
        for name, value in score.items():
            if isinstance(value, bool):
                found.setdefault(name, []).append(100.0 * value)
            elif isinstance(value, int | float):
                found.setdefault(name, []).append(float(value))
    return {name: statistics.fmean(values) for name, values in found.items()}


def _printed(name: str, value: float) -> str:
    """The value in the form of its column."""
    if name.startswith("tokens"):
        return f"{value:,.0f}"
    return f"{value:.4f}" if name == "dollars" else f"{value:.1f}"


def cell(name: str, figure: Figure | None) -> str:
    """A figure as the paper prints it: `80.6 ±5.1`, a share with its interval. One epoch has no `±`; none is a dash."""
    if figure is None:
        return "–"
    spread, interval = figure.spread, figure.interval
    text = _printed(name, figure.mean) + ("" if spread is None else f" ±{_printed(name, spread)}")
    return text + (f" ({interval[0]:.1f} to {interval[1]:.1f})" if interval else "")
