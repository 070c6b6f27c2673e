"""Definitions found line by line, for files and parts of files that the parser cannot read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_DEFINITION = re.compile(r"([ \t\f]*)(?:(async)[ \t]+)?(def|class)[ \t]+([^\W\d]\w*)")
_DECORATOR = re.compile(r"[ \t\f]*@")

DEPTH = 100
"""The deepest nesting of definitions. CPython refuses deeper indentation (`MAXINDENT` in Parser/tokenizer)."""


@dataclass(frozen=True, slots=True)
class LineDefinition:
    """A `def` or `class`, and its extent by indentation. Rows are 0-based, both ends included."""

    is_class: bool
    names: tuple[str, ...]
    """From the outermost definition to this one."""
    in_class: bool
    in_function: bool
    """True if any enclosing definition is a function."""
    first: int
    """First row, decorators included."""
    row: int
    """The row of `def` or `class`."""
    last: int
    indent: str


def definitions_by_lines(lines: list[str]) -> Iterator[LineDefinition]:
    """The definitions on lines that begin with `def`, `async def` or `class`, even inside strings."""
    ends = _ends(lines)
    open_ones: list[tuple[int, str, bool]] = []
    first = 0
    for row, line in enumerate(lines):
        if _DECORATOR.match(line):
            continue
        decorated_from, first = first, row + 1
        found = _DEFINITION.match(line)
        if not found:
            continue
        width = _width(found.group(1))
        while open_ones and open_ones[-1][0] >= width:
            open_ones.pop()
        if len(open_ones) < DEPTH:
            yield LineDefinition(
                is_class=found.group(3) == "class",
                names=(*(name for _, name, _ in open_ones), found.group(4)),
                in_class=bool(open_ones) and open_ones[-1][2],
                in_function=any(not is_class for _, _, is_class in open_ones),
                first=decorated_from,
                row=row,
                last=ends[row],
                indent=found.group(1),
            )
        open_ones.append((width, found.group(4), found.group(3) == "class"))


def _ends(lines: list[str]) -> list[int]:
    """For each row, the last row of the block that it opens: before the next line with as little indentation."""
    ends = list(range(len(lines)))
    stack: list[tuple[int, int]] = []
    last_text = 0
    for row, line in enumerate(lines):
        stripped = line.strip()
        # A closing bracket at the margin ends a long list of parameters, not the block.
        if not stripped or stripped[0] in ")]}#":
            last_text = row if stripped and stripped[0] != "#" else last_text
            continue
        width = _width(line)
        while stack and stack[-1][0] >= width:
            ends[stack.pop()[1]] = last_text
        stack.append((width, row))
        last_text = row
    for _, row in stack:
        ends[row] = last_text
    return ends


def _width(line: str) -> int:
    """Columns of indentation; a tab goes to the next multiple of 8, as in Python."""
    expanded = line.replace("\f", "").expandtabs(8)
    return len(expanded) - len(expanded.lstrip(" "))
