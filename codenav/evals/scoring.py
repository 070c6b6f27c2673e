"""The columns and the aggregate of a task by its name, without its data."""

from __future__ import annotations

from collections.abc import Iterable

from codenav.evals.figures import Scorer
from codenav.evals.registry import scorers
from codenav.evals.task import Task


def scorer_of(name: str, own: Iterable[Task] = ()) -> Scorer | None:
    """The scorer of one of `own` tasks, else of a known benchmark. None: there is none of that name."""
    task = next((task for task in own if task.name == name), None) or scorers().get(name)
    return (task.columns, task.aggregate) if task else None
