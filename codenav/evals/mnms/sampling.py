"""The draw of tasks: the paper took 200 at random and did not publish which."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from codenav.evals.mnms.plans import PlannedTask

TRIES = 10_000
"""Seeds that are tried before a draw is too small to hold every tool."""


@dataclass(frozen=True)
class Draw:
    """Some tasks of a file."""

    tasks: Sequence[PlannedTask]
    """In the order of the file."""
    seed: int | None
    """The seed that drew them: the one asked for, or a later one. None: all tasks."""
    missing: Sequence[str] = ()
    """Tools of the file that no drawn task has. The macro averages count them as 0."""


def draw(tasks: Sequence[PlannedTask], size: int, seed: int) -> Draw:
    """Draw `size` tasks; 0, or as many as there are, means all.

    An average over all tools needs every tool, so the seed is raised until each tool of the file is drawn. If no seed
    within `TRIES` does that, the draw is that of the first seed, and says what is missing.
    """
    if not 0 < size < len(tasks):
        return Draw(tasks, None)
    wanted = {name for task in tasks for name in task.names[0]}
    # Numbers are sorted as numbers: the same ids give the same draw, whatever the order of the file.
    ids = sorted((task.id for task in tasks), key=lambda id: (not id.isdecimal(), int(id) if id.isdecimal() else 0, id))
    by_id = {task.id: task for task in tasks}
    for tried in range(seed, seed + TRIES):
        chosen = random.Random(tried).sample(ids, size)
        if {name for id in chosen for name in by_id[id].names[0]} == wanted:
            break
    else:
        tried = seed
        chosen = random.Random(seed).sample(ids, size)
    among = set(chosen)
    drawn = [task for task in tasks if task.id in among]
    return Draw(drawn, tried, sorted(wanted - {name for task in drawn for name in task.names[0]}))
