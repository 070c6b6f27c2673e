"""The self-check of M3ToolEval: all tasks again with the adapted tools, and both graders on the expected results."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from codenav.evals.benchmark import write_files
from codenav.evals.m3tooleval.adapt import PACKAGE, Statement, code_base, file_of, module_of
from codenav.evals.m3tooleval.grading import accepts, upstream_accepts
from codenav.evals.m3tooleval.upstream import Domain, read
from codenav.evals.task import Check

TASKS, FILES = 82, 5
CUT_OFF = 14
"""Tasks for which upstream's checker accepts a number whose fraction was cut off."""


def checks(
    root: Path,
    domains: Sequence[Domain],
    out: Path,
    *,
    known: bool,
    backend: str,
    notice: Callable[[str], None],
) -> list[Check]:
    """All checks, for the benchmark at `root`.

    `out` is an empty folder; `known`: figures are known for its commit; `backend`: of the sandbox that imports tasks.
    """
    golds = {task.name: ast.literal_eval(task.expected) for domain in domains for task in domain.tasks}
    notice(f"{len(golds)} tasks are built again with the adapted tools")
    again = {task.name: task.expected for domain in rebuild(root, domains, out, backend) for task in domain.tasks}
    before = {task.name: task.expected for domain in domains for task in domain.tasks}
    cut = {name: int(gold) for name, gold in golds.items() if isinstance(gold, float) and gold != int(gold)}
    wrongly = sum(upstream_accepts(str(value), golds[name]) for name, value in cut.items())
    figures = [
        Check("tasks", TASKS, len(golds)),
        Check("files of tools", FILES, len(domains)),
        Check("numbers without their fraction that upstream's checker accepts (its fault)", CUT_OFF, wrongly),
    ]
    return [
        *(figures if known else []),
        _all("same expected results from the adapted tools", golds, lambda name: again.get(name) == before[name]),
        _all("accepted by upstream's checker", golds, lambda name: upstream_accepts(str(golds[name]), golds[name])),
        _all("accepted by ours as values", golds, lambda name: accepts(golds[name], golds[name])),
        _all("accepted by ours as texts", golds, lambda name: accepts(str(golds[name]), golds[name])),
        _all("spoilt, refused by ours", golds, lambda name: not accepts(spoil(golds[name]), golds[name])),
        _all("without their fraction, refused by ours", cut, lambda name: not accepts(cut[name], golds[name])),
    ]


def rebuild(root: Path, domains: Sequence[Domain], out: Path, backend: str) -> list[Domain]:
    """The domains once more, from copies of upstream's modules that import their tools from the adapted code base."""
    files = code_base(domains, docstrings=False)
    write_files(files, out)
    shutil.copytree(root / "tasks", out / "tasks", symlinks=True)
    for domain in domains:
        own = {name for node in ast.parse(files[file_of(domain)]).body for name in Statement.of(node).binds}
        tree = ast.parse(domain.file.read_text(encoding="utf-8"))
        imports = (ast.Import, ast.ImportFrom)
        kept = [node for node in tree.body if isinstance(node, imports) or not Statement.of(node).binds & own]
        taken = f"from {module_of(domain)} import {', '.join(sorted(own))}"
        text = "\n".join([taken, *map(ast.unparse, kept)])
        (out / domain.file.relative_to(root)).write_text(text, encoding="utf-8")
    return read(out, backend=backend, folders=["tasks", PACKAGE])


def spoil(gold: Any) -> Any:
    """A value of the same type that is wrong."""
    if isinstance(gold, bool):
        return not gold
    if isinstance(gold, int | float):
        return 2 * gold + 1
    if isinstance(gold, str):
        return gold[:-1] + ("x" if gold[-1:] != "x" else "y")
    if isinstance(gold, Mapping):
        return {key: spoil(value) for key, value in gold.items()}
    return type(gold)([*gold[:-1], spoil(gold[-1])])


def _all(name: str, tasks: Collection[str], holds: Callable[[str], bool]) -> Check:
    """A check that something holds for each task; its detail names the others."""
    others = sorted(task for task in tasks if not holds(task))
    return Check(name, len(tasks), len(tasks) - len(others), "\n".join(others))
