"""The selection of mypy's errors that are faults of a step, with their lines in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass

from codenav.environments.checkers.answers import Remark
from codenav.environments.checkers.history import History
from codenav.environments.checkers.names import PROVIDED, Bindings

REPORTED = frozenset({
    "abstract", "arg-type", "attr-defined", "call-arg", "call-overload", "func-returns-value", "index", "name-defined",
    "operator", "return-value", "str-format", "unused-coroutine", "used-before-def",
})  # fmt: skip
"""The faults among mypy's error codes (mypy, "Error codes enabled by default"): names that do not exist, calls with
wrong arguments, missing attributes, operators and indices that a value does not have, uses of a value that a function
does not return, formats that do not fit, a coroutine that nobody awaits.

Left out: errors in code that runs all the same. A variable or an element that takes another type (`assignment`,
`no-redef`, `list-item`, `dict-item`, `var-annotated`), a value that may have one of several types, where the step
before has shown which (`union-attr`), rules for annotations and subclasses (`valid-type`, `override`, `return`,
`type-arg`), imports that mypy cannot follow.
"""

_LINE = re.compile(r"[^:]*\.py:(\d+):(?:\d+:)? (error|note): (.*?)(?:  \[([a-z-]+)\])?$")
_UNDEFINED = re.compile(r'^Name "([^"]+)" is (?:not defined|used before definition)')
_MISSING = re.compile(r' has no attribute "([^"]+)"')
_ELEMENT = re.compile(r'^Argument \d+ to "\w+" of "(?:list|dict|set|deque|defaultdict|Counter|OrderedDict|\w*Sequence|'
                      r'\w*Mapping|\w*Set)" has incompatible type')  # fmt: skip
"""`numbers.append("one")`: the type of the elements was only guessed from the first elements."""
_ARRAY = re.compile(r"^(?:Argument \S+ to|No overload variant of) .*\b(?:ndarray|_SupportsArray)\[")
"""numpy's stubs accept less than numpy: 15 of 955 examples in its docstrings would be called wrong (numpy 2.4)."""
_LONGEST = 300
"""Characters of a message, at most; the types in some are pages long."""
_OWN = re.compile(r"\bcodenav_(?:step|past_\d+)\.|\bcodenav_(?:end|was)_")


@dataclass(frozen=True)
class Context:
    """Facts about the step that mypy does not have."""

    tree: ast.Module
    bound: Bindings
    history: History


@dataclass
class _Error:
    line: int
    message: str
    code: str
    invariant: bool = False


def remarks(lines: Iterable[str], context: Context, *, skip: int) -> list[Remark]:
    """The faults in mypy's output for a step whose text begins after `skip` lines."""
    errors = _errors(lines)
    unsure = _retyped(errors, context.tree, skip)
    found = [
        Remark(error.code, _OWN.sub("", error.message)[:_LONGEST], error.line - skip)
        for error in errors
        if error.line > skip and error.code in REPORTED and _holds(error, context)
    ]
    return [remark for remark in dict.fromkeys(found) if not unsure or not _mentions(context.tree, remark.line, unsure)]


def _errors(lines: Iterable[str]) -> list[_Error]:
    errors: list[_Error] = []
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        number, severity, message, code = match.groups()
        if severity == "error":
            errors.append(_Error(int(number), message, code or ""))
        elif errors and "is invariant" in message:
            errors[-1].invariant = True
    return errors


def _holds(error: _Error, context: Context) -> bool:
    """True if the error is one at run time too."""
    history = context.history
    undefined = _UNDEFINED.match(error.message)
    if undefined:
        return not (history.open or context.bound.dynamic or undefined[1] in history.names | PROVIDED)
    missing = _MISSING.search(error.message)
    if missing and (missing[1].startswith("_") or missing[1] in history.set_attributes | context.bound.set_attributes):
        # Stubs omit private names, and an attribute that a step sets exists.
        return False
    if "does not explicitly export" in error.message:
        return False
    if error.message.startswith(('"None" has no', "None has no")):
        # The attribute or the variable starts as None and is filled elsewhere.
        return False
    if "codenav_past_" in error.message:
        # Two classes of the same name, from two steps.
        return False
    return not (error.invariant or _ELEMENT.match(error.message) or _ARRAY.match(error.message))


def _retyped(errors: Iterable[_Error], tree: ast.Module, skip: int) -> set[str]:
    """Variables that took a second type where mypy kept the first: its errors on them are void."""
    lines = {error.line - skip for error in errors if error.code in ("assignment", "no-redef")}
    if not lines:
        return set()
    return {
        node.id if isinstance(node, ast.Name) else node.attr
        for statement in ast.walk(tree)
        if isinstance(statement, ast.stmt) and statement.lineno in lines
        for node in ast.walk(statement)
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store)
    }


def _mentions(tree: ast.Module, line: int, names: set[str]) -> bool:
    """True if the code at a line uses one of the names."""
    return any(
        (node.id if isinstance(node, ast.Name) else node.attr) in names
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute) and node.lineno <= line <= (node.end_lineno or node.lineno)
    )
