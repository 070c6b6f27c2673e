"""The module that imports the benchmark's own modules in a sandbox, and returns what they define in JSON types.

It uses the standard library only. The benchmark computes its expected results at import with reference solutions, so
there is no way to them that does not run its code.
"""

import ast
import importlib.abc
import importlib.machinery
import inspect
import os
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any
from unittest.mock import MagicMock

NOT_NEEDED = ("tqdm", "IPython")
"""Packages that the benchmark's runner needs and its tasks do not."""


class _Blank(types.ModuleType):
    """A stand-in for a package of the benchmark's own runner, with every name: progress bars, an interactive shell."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock


class _Blanks(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The finder and loader of the packages that are not needed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        blank = name.partition(".")[0] in NOT_NEEDED
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if blank else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Blank(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def tools_of(module: Any, tasks: Any) -> Iterator[dict[str, str]]:
    """Each tool once: name, upstream's description and signature, kind, and the top-level name that defines it."""
    for tool in {tool.name: tool for task in tasks for tool in task.tools.values()}.values():
        function = tool.function
        if inspect.ismethod(function):
            kind, root = "method", type(function.__self__).__name__
        elif inspect.isfunction(function) and vars(module).get(function.__name__) is function:
            kind, root = "function", function.__name__
        else:
            kind, root = "builtin", ""
        yield {
            "name": tool.name,
            "description": tool.description,
            "signature": tool.fn_signature,
            "kind": kind,
            "root": root,
        }


def row_of(task: Any) -> dict[str, str]:
    """Name, instruction and expected result of a task."""
    expected = task.expected_output
    written = repr(expected)
    try:
        plain = ast.literal_eval(written) == expected
    except (ValueError, SyntaxError):
        plain = False
    if not plain:
        raise ValueError(f"the expected result of {task.name} is no plain data: {written[:200]}")
    return {"name": task.name, "instruction": task.instruction, "expected": written, "type": type(expected).__name__}


def domains_of() -> Iterator[dict[str, Any]]:
    """Each module that registered tasks, in the benchmark's order. The benchmark lies in the work folder."""
    sys.meta_path.insert(0, _Blanks())
    import tasks.base  # type: ignore[import-not-found]

    for registered, _length in tasks.base.task_iterators:
        found = [module for module in sys.modules.values() if vars(module).get("TASKS") is registered]
        if len(found) != 1:
            raise ValueError("tasks were registered that are no module's TASKS")
        own = list(registered)
        yield {
            "name": found[0].__name__.rpartition(".")[2],
            "file": os.path.relpath(str(found[0].__file__)),
            "tools": list(tools_of(found[0], own)),
            "tasks": [row_of(task) for task in own],
        }
