"""The progress of a run of samples on stderr, and its end on stdout."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from codenav.cli.options import counted, say
from codenav.core.system.terminal_text import flattened
from codenav.evals.results import ERROR, Result

if TYPE_CHECKING:
    from codenav.evals.runner import Progress, Run

EVERY = 10.0
"""Seconds between two lines of progress where stderr is no terminal."""


class ProgressLine:
    """A line with the attempts that ended and the time left: rewritten on a terminal, else one every 10 seconds."""

    def __init__(self, *, quiet: bool = False) -> None:
        """With `quiet` nothing is shown."""
        self._quiet, self._terminal = quiet, sys.stderr.isatty()
        self._last = time.monotonic()
        self._wide = 0
        self._correct = self._count = 0

    def __call__(self, progress: Progress) -> None:
        """Show the state of a run."""
        self._count += progress.result.status != ERROR
        self._correct += bool(progress.result.scores.get("correct"))
        now = time.monotonic()
        last = progress.done == progress.total
        if self._quiet or not (self._terminal or last or now - self._last >= EVERY):
            return
        self._last = now
        text = f"{progress.done} of {counted(progress.total, 'attempt')}, {self._correct} of {self._count} correct"
        text += f", {counted(progress.errors, 'error')}" if progress.errors else ""
        text += "" if last else f", {span(progress.seconds_left)} left"
        if not self._terminal:
            say(text, err=True)
            return
        with contextlib.suppress(OSError):
            click.echo(f"\r{text:<{self._wide}}", nl=False, err=True)
        self._wide = len(text)

    def rest(self) -> None:
        """End the line."""
        if self._wide:
            self._wide = 0
            say("", err=True)


def span(seconds: float) -> str:
    """Return a time for a person: `40 s`, `12 min`, `2 h 5 min`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def document(run: Run, results: list[Result]) -> dict[str, Any]:
    """Return the JSON document of a run's end."""
    head = run.folder.head
    return {
        "run": str(run.folder.path),
        "task": head.task,
        "mode": head.mode,
        "model": head.model,
        "epochs": head.epochs,
        "shard": head.shard,
        "statuses": dict(sorted(Counter(one.status for one in results).items())),
        "correct": sum(bool(one.scores.get("correct")) for one in results),
        "missing": run.missing,
        "table": [dict(row) for row in run.table],
    }


def show_end(run: Run) -> None:
    """Print how a run ended: statuses, the columns of each epoch, and what to do next."""
    results, head = run.results, run.folder.head
    for notice in run.folder.notices:
        say(f"Note: {notice}", err=True)
    of = document(run, results)
    told = ", ".join(f"{count} {status}" for status, count in of["statuses"].items()) or "none"
    say(f"{head.task}, {head.mode}, {head.model}: {counted(len(results), 'attempt')} ({told}), {of['correct']} correct")
    for number, row in enumerate(run.table, start=1):
        cells = ", ".join(f"{column.name} {row[column.name]:.1f}" for column in run.task.columns if column.name in row)
        say(f"epoch {number}: {cells}" if len(run.table) > 1 else cells)
    reasons = Counter(flattened(one.reason, 200) for one in results if one.status == ERROR)
    for reason, count in reasons.most_common(3):
        say(f"Error: {counted(count, 'attempt')}: {reason}", err=True)
    if run.missing:
        say(f"Try: codenav eval resume {run.folder.path}", err=True)
    else:
        say(f"Report: codenav eval report {run.folder.path}", err=True)
