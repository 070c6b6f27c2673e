"""Pieces of source as text: prototypes, doc comments, and the search for comments and attributes of a definition."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import cleandoc
from typing import TYPE_CHECKING

from codenav.indexers.python_text import SIGNATURE_CHARACTERS, cut, join_lines

if TYPE_CHECKING:
    from tree_sitter import Node

_STRING_OR_COMMENT = re.compile(
    r'(?P<keep>"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`(?:\\.|[^`\\])*`)|//[^\n]*|/\*.*?\*/', re.DOTALL
)
_STAR = re.compile(r"^[ \t]*\*(?!/) ?", re.MULTILINE)
_LINE = re.compile(r"^[ \t]*(?://[/!]*<?|#+)(?P<rest>.*)$")
_DIRECTIVE = re.compile(r"^(?://(?:go:|\s*\+build|nolint|export )|#\s*(?:frozen_string_literal|-\*-|!|encoding:))")
_GROUP = re.compile(r"[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif|else|endif)\b")
_WORDS = re.compile(rb"[ \t]*(?:(?:[A-Z][A-Z0-9_]{2,}|__[a-z_]+__)(?:[ \t]*\([^()\n]*+\))?[ \t]*)+")
_TAGS = re.compile(r"</?(?:summary|remarks|para)>")
_LICENCE = re.compile(r"copyright|licen[sc]ed? |SPDX-|all rights reserved|permission is hereby granted", re.IGNORECASE)


def prototype(source: str, limit: int = SIGNATURE_CHARACTERS) -> str:
    """A declaration on one line, without comments and without the `{` or `;` at its end."""
    source = source[: limit * 4]
    if "//" in source or "/*" in source:
        source = _STRING_OR_COMMENT.sub(lambda found: found.group("keep") or " ", source)
    lines = (" ".join(line.split()) for line in source.split("\n") if not _GROUP.match(line))
    return cut(join_lines(lines, len(source), opening="([<", closing=")]>").rstrip("{;, "), limit)


def beginning(data: bytes, parsed: bytes, start: int) -> int:
    """Where a definition begins that only words are before which were not parsed: `API int entry();`."""
    if parsed is data:
        return start
    line = data.rfind(b"\n", 0, start) + 1
    return start - len(data[line:start].lstrip()) if not parsed[line:start].strip() else start


def words_above(data: bytes, parsed: bytes, start: int) -> int:
    """Where the words that were not parsed begin in the lines above a definition: `__global__` above `void add(`."""
    line = data.rfind(b"\n", 0, start) + 1
    while parsed is not data and line and data[start : start + 1] != b"#":
        above = data.rfind(b"\n", 0, line - 1) + 1
        words = data[above : line - 1]
        if parsed[above : line - 1].strip() or not _WORDS.fullmatch(words):
            break
        start, line = line - 1 - len(words.lstrip()), above
    return start


def doc_text(comments: list[str]) -> str:
    """The text of the comments above a definition, without comment marks and directives to tools."""
    lines: list[str] = []
    for comment in comments:
        if comment.startswith("/*"):
            inner = comment.rstrip().removesuffix("/").strip("/*!").removeprefix("<")
            lines += cleandoc(_STAR.sub("", inner)).split("\n")
        elif comment.startswith("=begin"):
            lines += comment.split("\n")[1:-1]
        elif not _DIRECTIVE.match(comment):
            found = _LINE.match(comment)
            lines.append(found.group("rest") if found else comment)
    if lines and all(not line or line[0] == " " for line in lines):
        lines = [line[1:] for line in lines]
    return _TAGS.sub("", "\n".join(line.rstrip() for line in lines)).strip("\n")


def is_licence(text: str) -> bool:
    """True if a comment is a copyright or licence notice."""
    return _LICENCE.search(text) is not None


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
