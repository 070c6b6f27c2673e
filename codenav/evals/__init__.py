"""Evals: tasks with samples, a runner that resumes, scores, judges and reports.

    import codenav.evals

    run = codenav.evals.run(MyTask(), out="runs/mine", model="gpt-5", jobs=8)
    print(run.table)

In: a task, which is a class with samples, a setting and a scorer (see `codenav.evals.Task`), and a run folder.
Out: results and reports in that folder.
May import: `core`, `session`, and what stands beneath a session.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from codenav.evals.results import Result
    from codenav.evals.runner import Progress, Run, run
    from codenav.evals.runs import Head, RunFolder, merge
    from codenav.evals.task import Attempt, Check, Column, Mode, Sample, Setting, Task, Tool, ToolCall

__all__ = [
    "Attempt",
    "Check",
    "Column",
    "Head",
    "Mode",
    "Progress",
    "Result",
    "Run",
    "RunFolder",
    "Sample",
    "Setting",
    "Task",
    "Tool",
    "ToolCall",
    "merge",
    "run",
]

_HOME = {
    "codenav.evals.results": ("Result",),
    "codenav.evals.runner": ("Progress", "Run", "run"),
    "codenav.evals.runs": ("Head", "RunFolder", "merge"),
    "codenav.evals.task": ("Attempt", "Check", "Column", "Mode", "Sample", "Setting", "Task", "Tool", "ToolCall"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'codenav.evals' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value
