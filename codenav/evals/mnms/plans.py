"""Task files of m&m's: JSON lines with requests and plans, Python literals that are read and never evaluated; draws."""

from __future__ import annotations

import ast
import hashlib
import json
import random
import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codenav.core.errors import NotFound, UsageError

LONGEST = 1_000_000
"""Characters of one plan. Upstream's have some hundreds."""
TRIES = 10_000
"""Seeds that are tried before a draw is too small to hold every tool."""

WHERE = (
    "m&m's keeps its task files apart from its code: download one of the data set zixianma/mnms from huggingface.co "
    "(test_human_verified_filtered.json has 882 tasks) and name it with --tasks"
)
_FIELDS = "a line has id, user_request, plan_str, and perhaps code_str and alt_plans_str"
_ID = re.compile(r"[\w.:-]{1,100}", re.ASCII)


@dataclass(frozen=True)
class Node:
    """One call of a plan."""

    id: int
    name: str
    """Of the tool's function, with `_`."""
    args: dict[str, Any]
    """Values, or text with references such as `<node-0>.image` to the outputs of earlier nodes."""


Plan = Sequence[Node]


@dataclass(frozen=True)
class PlannedTask:
    """A line of a task file."""

    id: str
    request: str
    plan: Plan
    alternatives: Sequence[Plan] = ()

    @property
    def plans(self) -> list[Plan]:
        """The plan and its alternatives."""
        return [self.plan, *self.alternatives]

    @property
    def names(self) -> list[list[str]]:
        """The names of the tools, for each plan."""
        return [[node.name for node in plan] for plan in self.plans]


@dataclass(frozen=True)
class TaskFile:
    """A task file that was read."""

    path: Path
    sha256: str
    tasks: Sequence[PlannedTask]


def read_tasks(path: Path, tools: Collection[str]) -> TaskFile:
    """Read a task file; `tools` are the names of the known functions.

    Raises:
        NotFound: there is no such file.
        UsageError: a line is not in the format, names an unknown tool, repeats an id, or has code for a literal.
    """
    if not path.is_file():
        raise NotFound(f"no task file {path}", hint=WHERE)
    try:
        content = path.read_bytes()
        text = content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}", hint=_FIELDS) from error
    tasks: dict[str, PlannedTask] = {}
    for number, row in _rows(path, text):
        task = _task(row, f"{path.name}, line {number}", frozenset(tools))
        if task.id in tasks:
            raise UsageError(f"{path.name}, line {number}: the id {task.id} is there twice", hint="remove one of them")
        tasks[task.id] = task
    if not tasks:
        raise UsageError(f"{path} holds no task", hint=_FIELDS)
    return TaskFile(path, hashlib.sha256(content).hexdigest(), list(tasks.values()))


def _rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    # Only "\n" ends a line of JSON lines: `splitlines` would also cut inside of strings.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path.name}, line {number} is no JSON: {error}", hint=_FIELDS) from error
        if not isinstance(row, dict):
            raise UsageError(f"{path.name}, line {number} is no JSON object", hint=_FIELDS)
        yield number, row


def _task(row: dict[str, Any], where: str, tools: frozenset[str]) -> PlannedTask:
    id, request, others = row.get("id"), row.get("user_request"), row.get("alt_plans_str")
    try:
        if isinstance(id, bool) or not isinstance(id, int | str) or not _ID.fullmatch(str(id)):
            raise ValueError("id is no number")
        if not isinstance(request, str) or not request.strip():
            raise ValueError("user_request is no text")
        plan = _plan(_literal(row.get("plan_str"), "plan_str"), "plan_str", tools)
        found = (None if others is None else _literal(others, "alt_plans_str")) or []
        if not isinstance(found, list):
            raise ValueError("alt_plans_str is no list of plans")
        return PlannedTask(str(id), request, plan, [_plan(one, "alt_plans_str", tools) for one in found])
    except ValueError as error:
        raise UsageError(f"{where}: {error}", hint=_FIELDS) from None


def _literal(text: object, field: str) -> object:
    if not isinstance(text, str) or len(text) > LONGEST:
        raise ValueError(f"{field} is no text of at most {LONGEST:,} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(text.strip())
    except SyntaxError:
        raise ValueError(f"{field} is no Python literal") from None
    except (ValueError, TypeError, MemoryError, RecursionError):
        raise ValueError(f"{field} holds code in place of a literal; nothing of it was run") from None


def _plan(found: object, field: str, tools: frozenset[str]) -> list[Node]:
    if not isinstance(found, list) or not found:
        raise ValueError(f"{field} is no list of calls")
    nodes = []
    for node in found:
        match node:
            case {"id": int(number), "name": str(title), "args": dict(args)} if not isinstance(number, bool):
                name = title.strip().replace(" ", "_")
            case _:
                raise ValueError(f"a call of {field} has not a number as id, a name, and args")
        if not all(isinstance(key, str) and key.isidentifier() for key in args):
            raise ValueError(f"the args of {title!r} in {field} are no dict of names")
        if name not in tools:
            raise ValueError(f"{field} names an unknown tool: {title!r}")
        nodes.append(Node(number, name, args))
    if len({node.id for node in nodes}) < len(nodes):
        raise ValueError(f"two calls of {field} have the same id")
    return nodes


@dataclass(frozen=True)
class Draw:
    """Some tasks of a file. The paper took 200 at random and did not publish which."""

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

    def drawn(seed: int) -> Draw:
        among = set(random.Random(seed).sample(ids, size))
        chosen = [task for task in tasks if task.id in among]
        return Draw(chosen, seed, sorted(wanted - {name for task in chosen for name in task.names[0]}))

    found = (drawn(tried) for tried in range(seed, seed + TRIES))
    return next((one for one in found if not one.missing), None) or drawn(seed)
