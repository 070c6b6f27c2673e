"""The benchmarks by name. Their modules are imported when they are used."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from codenav.core.errors import CodeNavError, UsageError
from codenav.core.options import near_one
from codenav.evals.benchmark import Benchmark
from codenav.evals.task import Task


@dataclass(frozen=True)
class Entry:
    """A benchmark that `codenav eval` knows."""

    factory: str
    """Module and class: called with the checkout and the options of the benchmark."""
    about: str
    """One line."""
    checkout: str
    """Repository that `--data` names a checkout of."""


BENCHMARKS = {
    "m3tooleval": Entry(
        "codenav.evals.m3tooleval:M3ToolEval",
        "82 tasks in five domains; scored is the answer",
        "https://github.com/xingyaoww/code-act",
    ),
    "api-bank": Entry(
        "codenav.evals.api_bank:ApiBank",
        "186 dialogues; scored are the APIs that were called",
        "https://github.com/AlibabaResearch/DAMO-ConvAI",
    ),
    "mnms": Entry(
        "codenav.evals.mnms:Mnms",
        "multi-modal tasks; scored are the tools of the program",
        "https://github.com/RAIVNLab/mnms",
    ),
}
"""In the order of the CodeNav paper's table 1, from left to right by how little they need."""


def entry(name: str) -> Entry:
    """Return the entry of a benchmark.

    Raises:
        UsageError: there is none of that name.
    """
    if name not in BENCHMARKS:
        raise UsageError(f"no benchmark {name!r}", hint=near_one(name, list(BENCHMARKS)))
    return BENCHMARKS[name]


def task_class(name: str) -> type[Any]:
    """Return the class of a benchmark, without any data.

    Raises:
        UsageError: there is none of that name.
    """
    module, _, attribute = entry(name).factory.partition(":")
    return cast(type[Any], getattr(import_module(module), attribute))


def scorer_of(name: str, own: Sequence[Task] = ()) -> Task | None:
    """One of `own` tasks, else a known benchmark without a checkout: its `columns` and `aggregate` alone can be used.

    None: there is none of that name.
    """
    task = next((task for task in own if task.name == name), None)
    return task or (object.__new__(task_class(name)) if name in BENCHMARKS else None)


def make(name: str, data: str | Path, options: Mapping[str, Any] | None = None, **runs_in: Any) -> Benchmark:
    """Return a benchmark on a checkout.

    Options that are None are left out. One that the benchmark does not have is refused; `runs_in`, the `python` and
    `sandbox` of the sessions, are passed on to those that have them.

    Raises:
        UsageError: there is no such benchmark or option, or the checkout is not the one.
    """
    factory = task_class(name)
    known = inspect.signature(factory).parameters
    given = {key: value for key, value in (options or {}).items() if value is not None}
    for key in given:
        if key not in known:
            raise UsageError(f"{name} has no option --{key.replace('_', '-')}", hint=f"codenav eval run {name} --help")
    given |= {key: value for key, value in runs_in.items() if value and key in known}
    try:
        return cast(Benchmark, factory(Path(data), **given))
    except CodeNavError:
        raise
    except OSError as error:
        raise UsageError(f"cannot read {error.filename or data}: {error.strerror}", hint="look at --data") from error
