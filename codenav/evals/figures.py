"""The figures of a table: aggregates of a run per epoch, their mean and their spread."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from codenav.core.errors import UsageError
from codenav.core.system.stored import Document
from codenav.evals.recorded import Recorded
from codenav.evals.results import ERROR, Result
from codenav.evals.scores import over_epochs, wilson
from codenav.evals.task import Column, Task


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


def figures_of(run: Recorded, task: Task | None) -> dict[str, Figure]:
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


def _truths(run: Recorded) -> set[str]:
    """Scores of an unknown task that are a truth value in each attempt."""
    names = {name for result in run.results for name in result.scores}
    return {name for name in names if all(isinstance(result.scores.get(name), bool) for result in run.results)}


def _aggregated(run: Recorded, task: Task | None, scores: Sequence[Mapping[str, Any]]) -> Mapping[str, float]:
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
