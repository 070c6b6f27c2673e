"""Comments and attributes, and the search for those that belong to a definition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Mark:
    """A comment, or an attribute that is a sibling of its definition in the tree."""

    start: int
    end: int
    rows: tuple[int, int]
    comment: bool


class Marks:
    """The marks of a file, in order, added as a walk meets them."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._marks: list[Mark] = []

    def __iter__(self) -> Iterator[Mark]:
        return iter(self._marks)

    def add(self, node: Node, *, comment: bool) -> None:
        """Add the next mark."""
        start, end = node.start_byte, node.end_byte
        # In some grammars a line comment includes the end of its line.
        while end > start and self._data[end - 1 : end].isspace():
            end -= 1
        row = node.start_point.row
        last = node.end_point.row if end == node.end_byte else row + self._data.count(b"\n", start, end)
        self._marks.append(Mark(start, end, (row, last), comment))

    def above(self, start: int, row: int) -> list[Mark]:
        """The marks directly above a byte and its row, with no empty line and no code between."""
        above: list[Mark] = []
        for mark in reversed(self._marks):
            if mark.start >= start:
                continue
            if mark.end > start or row - mark.rows[1] > 1 or self._data[mark.end : start].strip():
                break
            if not self._begins_line(mark.start):
                break
            above.append(mark)
            start, row = mark.start, mark.rows[0]
        above.reverse()
        return above

    def comment_rows(self) -> set[int]:
        """The rows that begin with a comment or inside one."""
        rows: set[int] = set()
        for mark in self._marks:
            if mark.comment:
                rows.update(range(mark.rows[0] + (not self._begins_line(mark.start)), mark.rows[1] + 1))
        return rows

    def _begins_line(self, start: int) -> bool:
        """True if nothing but other marks comes before it on its line."""
        line = self._data[max(self._data.rfind(b"\n", 0, start) + 1, start - 500) : start].strip()
        return not line or line.endswith((b"*/", b"]", b")")) or line == b"<?php"
