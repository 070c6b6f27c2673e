"""Hints on the errors of a step: names that are there, with their import lines and parameters."""

from __future__ import annotations

import ast
import builtins
import difflib
import re
from collections.abc import Callable, Iterable

from codenav.core.blocks import BlockKind
from codenav.core.execution import ExecutionError
from codenav.core.protocols import Index
from codenav.core.system.syntax import parsed
from codenav.navigation.offers import Offers

NAMED = 4
"""Names that a hint lists."""
LONGEST = 20_000
"""Characters of a message that is read: the values of a person's data may stand in it."""

_NAME = re.compile(r"name '(\w+)' is not defined")
_IMPORTED = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")
_MODULE = re.compile(r"No module named '([\w.]+)'")
_OF_MODULE = re.compile(r"module '([\w.]+)' has no attribute '(\w+)'")
_ATTRIBUTE = re.compile(
    r"(?<![\w.])'?([\w.]+)'? object has no attribute '(\w+)'|type object '(\w+)' has no attribute '(\w+)'"
)
_CALLED = re.compile(
    r"(?<![\w.<>])(?P<name>[\w.<>]+)\(\)"
    r" (?:got an unexpected keyword|got some positional|got multiple values|takes|missing)"
)

Names = Callable[[str], Iterable[str]]
"""The public names of the value of an expression of the step, as its sandbox tells them."""


class Hints:
    """The hints that an index can give."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._offers = Offers(index)

    def on(self, error: ExecutionError, names: Names) -> str:
        """Advice that may mend an error, a few lines; empty if nothing is known. `names` may raise nothing."""
        message = error.message[:LONGEST]
        match error.type.rpartition(".")[2]:
            case "NameError" if found := _NAME.search(message):
                return self._named(found[1])
            case "ImportError" if found := _IMPORTED.search(message):
                return self._named(found[1])
            case "ModuleNotFoundError" if found := _MODULE.search(message):
                return self._named(found[1].rpartition(".")[2])
            case "AttributeError" if found := _OF_MODULE.search(message):
                return self._named(found[2])
            case "AttributeError" if found := _ATTRIBUTE.search(message):
                if f".{found[2] or found[4]}" not in error.line:
                    return self._argument(error.line)
                return self._attribute(found[1] or found[3], found[2] or found[4], error.line, names)
            case "TypeError" if found := _CALLED.search(message):
                return self._called(found["name"], message)
        return ""

    def _named(self, name: str) -> str:
        """The definitions of a name, else of those most like it."""
        found = [block for block in self._offers.named(name) if block.import_line]
        if not found:
            near = self._offers.near(name)
            found = [block for one in near[:NAMED] for block in self._offers.named(one) if block.import_line]
        offers = self._offers.of(found, name)[:NAMED]
        return "\n".join(["Hint: there is", *map(str, offers)]) if offers else ""

    def _attribute(self, kind: str, name: str, line: str, names: Names) -> str:
        """The attributes of a value most like the one that it does not have."""
        value = _value_before(line, name)
        there = list(names(value)) if value else []
        there = there or dir(getattr(builtins, kind, None)) if kind in dir(builtins) else there
        shown = [one for one in there if not one.startswith("_")]
        near = difflib.get_close_matches(name, shown, NAMED, 0.5)
        listed = ", ".join([*near, *(one for one in shown if one not in near)][: 4 * NAMED])
        elsewhere = self._named(name) if not near else ""
        first = f"Hint: {value or 'it'} is a {kind}; it has: {listed}" if listed else ""
        return "\n".join(filter(None, (first, elsewhere)))

    def _argument(self, line: str) -> str:
        """The parameters of the callables of a line whose argument has another type than they need."""
        names = [name.rpartition(".")[2] for name in re.findall(r"([^\W\d][\w.]*)\(", line)]
        blocks = [block for name in names for block in self._offers.named(name) if block.import_line]
        offers = self._offers.of(blocks, line)[:1]
        return f"Hint: it needs an argument of another type:\n{offers[0]}" if offers else ""

    def _called(self, name: str, message: str) -> str:
        """The parameters of a callable; that an instance comes first, if one is missing."""
        *owner, last = name.split(".")
        blocks = [one for one in self._offers.named(last) if one.qualname.endswith(name) or not owner]
        if last == "__init__" and owner:
            blocks = [one for one in self._offers.named(owner[-1]) if one.kind is BlockKind.CLASS]
        offers = self._offers.of(blocks, name)[:1]
        if not offers:
            return ""
        made = "make an instance first: " if "'self'" in message else "it is called like this: "
        return f"Hint: {made}\n{offers[0]}"


def _value_before(line: str, name: str) -> str:
    """The dotted name whose attribute `name` a line of code takes; empty where it is another expression."""
    tree = parsed(line.strip().rstrip(":"))
    if tree is None:
        found = re.search(rf"([^\W\d][\w.]*)\.{re.escape(name)}\b", line)
        return found[1] if found else ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == name and not isinstance(node.value, ast.Call):
            text = ast.unparse(node.value)
            return text if re.fullmatch(r"[^\W\d][\w.]*", text) else ""
    return ""
