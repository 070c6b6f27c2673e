"""The figures of a table: aggregates of a run per epoch, their mean and their spread."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from codenav.core.errors import UsageError
from codenav.core.system.stored import Document
from codenav.evals.recorded import Recorded
from codenav.evals.results import ERROR, Result
from codenav.evals.scores import over_epochs, wilson
from codenav.evals.task import Column

Aggregate = Callable[[Sequence[Mapping[str, Any]]], Mapping[str, float]]
Scorer = tuple[Sequence[Column], Aggregate]
"""The columns of a task, and their values for the scores of one epoch."""


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
    Column("steps", "actions of the agent for a sample"),
    Column("tokens in", "tokens of all prompts for a sample"),
    Column("tokens out", "tokens of all answers for a sample"),
    Column("seconds", "wall clock for a sample"),
    Column("dollars", "price of all model calls for a sample, where it is known"),
)
"""Columns of every task: means over the attempts that did not end as an error."""

_COST: Mapping[str, Callable[[Result], float | None]] = {
    "steps": lambda result: result.steps,
    "tokens in": lambda result: result.prompt_tokens,
    "tokens out": lambda result: result.completion_tokens,
    "seconds": lambda result: result.seconds,
    "dollars": lambda result: result.dollars,
}


def figures_of(run: Recorded, scorer: Scorer | None) -> dict[str, Figure]:
    """All figures of a run by column: those of its task, then `COSTS`. An epoch with nothing but errors has none.

    Raises:
        UsageError: the scores are not those that the task makes now.
    """
    found: dict[str, list[float]] = {}
    shares = {column.name for column in scorer[0] if column.share} if scorer else _truths(run)
    attempts = 0
    for epoch in run.epochs:
        every = [result for result in run.results if result.epoch == epoch]
        results = [result for result in every if result.status != ERROR]
        if not results:
            continue
        # An error counts as an attempt that did nothing.
        scores = [result.scores for result in every if result.scores or result.status != ERROR]
        attempts += len(scores)
        for name, value in _aggregated(run, scorer, scores).items():
            found.setdefault(name, []).append(float(value))
        for name, cost in _COST.items():
            costs = [amount for result in results if (amount := cost(result)) is not None]
            # A mean over a part of the samples would pass for that of all.
            if len(costs) == len(results):
                found.setdefault(name, []).append(statistics.fmean(costs))
    return {name: Figure(tuple(values), attempts if name in shares else 0) for name, values in found.items()}


def _truths(run: Recorded) -> set[str]:
    """Scores of an unknown task that are a truth value in each attempt."""
    names = {name for result in run.results for name in result.scores}
    return {name for name in names if all(isinstance(result.scores.get(name), bool) for result in run.results)}


def _aggregated(run: Recorded, scorer: Scorer | None, scores: Sequence[Mapping[str, Any]]) -> Mapping[str, float]:
    if scorer is None:
        return means(scores)
    try:
        return scorer[1](scores)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise UsageError(
            f"the scores of {run.name} are not those of {run.head.task} in this codenav: {error!r}",
            hint=f"use codenav {run.head.codenav or 'of the version that made the run'}, or run it again",
        ) from error


def means(scores: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The mean of each score that is a number or a truth value, the latter in percent: columns of an unknown task."""
    found: dict[str, list[float]] = {}
    for score in scores:
        for name, value in score.items():
            if isinstance(value, bool):
                found.setdefault(name, []).append(100.0 * value)
            elif isinstance(value, int | float):
                found.setdefault(name, []).append(float(value))
    return {name: statistics.fmean(values) for name, values in found.items()}


def printed(name: str, value: float) -> str:
    """The value in the form of its column."""
    if name.startswith("tokens"):
        return f"{value:,.0f}"
    return f"{value:.4f}" if name == "dollars" else f"{value:.1f}"


def cell(name: str, figure: Figure | None) -> str:
    """A figure as the paper prints it: `80.6 ±5.1`, a share with its interval. One epoch has no `±`; none is a dash."""
    if figure is None:
        return "–"
    spread, interval = figure.spread, figure.interval
    told = printed(name, figure.mean) + ("" if spread is None else f" ±{printed(name, spread)}")
    return told + (f" ({interval[0]:.1f} to {interval[1]:.1f})" if interval else "")
