"""Task files of m&m's: JSON lines with requests and plans, which are Python literals: read, never evaluated."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codenav.core.errors import NotFound, UsageError

LONGEST = 1_000_000
"""Characters of one plan. Upstream's have some hundreds."""

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
    def wrong(what: str) -> UsageError:
        return UsageError(f"{where}: {what}", hint=_FIELDS)

    id, request = row.get("id"), row.get("user_request")
    if isinstance(id, bool) or not isinstance(id, int | str) or not _ID.fullmatch(str(id)):
        raise wrong("id is no number")
    if not isinstance(request, str) or not request.strip():
        raise wrong("user_request is no text")
    plan = _plan(_literal(row.get("plan_str"), "plan_str", wrong), "plan_str", tools, wrong)
    others = row.get("alt_plans_str")
    found: object = [] if others is None else _literal(others, "alt_plans_str", wrong)
    if found is None:
        found = []
    if not isinstance(found, list):
        raise wrong("alt_plans_str is no list of plans")
    return PlannedTask(str(id), request, plan, [_plan(one, "alt_plans_str", tools, wrong) for one in found])


Wrong = Callable[[str], UsageError]


def _literal(text: object, field: str, wrong: Wrong) -> object:
    if not isinstance(text, str):
        raise wrong(f"{field} is no text")
    if len(text) > LONGEST:
        raise wrong(f"{field} has more than {LONGEST:,} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(text.strip())
    except SyntaxError:
        raise wrong(f"{field} is no Python literal") from None
    except (ValueError, TypeError, MemoryError, RecursionError):
        raise wrong(f"{field} holds code in place of a literal; nothing of it was run") from None


def _plan(found: object, field: str, tools: frozenset[str], wrong: Wrong) -> list[Node]:
    if not isinstance(found, list) or not found:
        raise wrong(f"{field} is no list of calls")
    nodes = []
    for node in found:
        if not isinstance(node, dict) or not isinstance(node.get("name"), str):
            raise wrong(f"a call of {field} has no name")
        number, args = node.get("id"), node.get("args")
        if isinstance(number, bool) or not isinstance(number, int):
            raise wrong(f"a call of {field} has no number as its id")
        if not isinstance(args, dict) or not all(isinstance(key, str) and key.isidentifier() for key in args):
            raise wrong(f"the args of {node['name']!r} in {field} are no dict of names")
        name = node["name"].strip().replace(" ", "_")
        if name not in tools:
            raise wrong(f"{field} names an unknown tool: {node['name']!r}")
        nodes.append(Node(number, name, args))
    if len({node.id for node in nodes}) < len(nodes):
        raise wrong(f"two calls of {field} have the same id")
    return nodes
