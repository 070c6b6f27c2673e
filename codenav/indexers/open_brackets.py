"""Brackets and strings that a file in mid-edit leaves open, closed where the next statement begins."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

_PYTHON = re.compile(
    rb"#[^\n]*|(?P<triple>\"\"\"|''')(?:(?:\\.|[^\\])*?(?P=triple))?"
    rb"|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|[()\[\]{}]|\n|[^\s()\[\]{}'\"#]+",
    re.DOTALL,
)
_BRACES = rb"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"?|%s|`[^`]*`|[()\[\]{}]|\n|[^\s()\[\]{}'\"`/]+|[/'`]"
_CHARACTERS = re.compile(_BRACES % rb"'(?:\\.|[^'\\\n])'", re.DOTALL)
_STRINGS = re.compile(_BRACES % rb"'(?:\\.|[^'\\\n])*'", re.DOTALL)
"""The tokens where single quotes are around characters (`'a` is a lifetime in Rust), and where around strings."""
_STATEMENT = re.compile(
    rb"(?:async\s+)?def\s+\w|class\s+\w+\s*[:(\[]|@[A-Za-z_][\w.]*\s*(?:\(|$)|from\s+[.\w]+\s+import\b|else\s*:"
    rb"|(?:assert|break|continue|del|elif|except|finally|global|import|nonlocal|pass|raise|return|try|while|with)\b"
    rb"|(?:if|for)\s.*:\s*$",
    re.MULTILINE,
)
"""The beginnings of lines of Python that no bracket can hold."""
_ASSIGNMENT = re.compile(rb"[A-Za-z_][\w.]*\s*(?::[^=\n]*)?=(?!=)[^\n]*(?<![,\s])\s*$", re.MULTILINE)
"""A line that may be an assignment, or an argument by keyword."""
_HEADER = re.compile(rb"\s*(?:async\s+)?(?:def|class|if|elif|for|while|with|except)\b")
_DEFINED = re.compile(rb"^[ \t]*(?:(?:async +)?def +\w+ *\(|class +\w+ *[:(])", re.MULTILINE)
_UNINDENTED = re.compile(rb"\s*(?:inline\s+)?(?:namespace|extern)\b")
"""The line of a brace whose content may begin in the same column."""
_DEPTH = 200
"""Brackets in brackets. With more of them open, a file is no source that a person is writing."""
_CLOSING = {b"(": b")", b"[": b"]", b"{": b"}"}


@dataclass(frozen=True, slots=True)
class _Open:
    """A bracket that is open."""

    closing: bytes
    indent: int
    """Columns before its line."""
    line: int
    """Offset of its line."""


Text = TypeVar("Text", str, bytes)


@dataclass(slots=True)
class Closed(Generic[Text]):
    """A source with what was missing put in."""

    text: Text
    places: list[int]
    """Offsets in `text` of what was put in, in order."""

    def written(self, offset: int) -> int:
        """The offset in the file of an offset in `text`."""
        return offset - bisect_left(self.places, offset)


def completed(source: Text, missing: list[tuple[int, Text]]) -> Closed[Text]:
    """A source with what is missing, each piece with its offset."""
    pieces: list[Text] = []
    places: list[int] = []
    last = size = 0
    for at, piece in missing:
        pieces += [source[last:at], piece]
        size += at - last
        places += range(size, size + len(piece))
        size += len(piece)
        last = at
    pieces.append(source[last:])
    return Closed(source[:0].join(pieces), places)


def closed_python(text: str) -> Closed[str] | None:
    """Python source with the missing brackets and quotes; None if none is missing."""
    data = text.encode("utf-8", "replace")
    missing = _Reading(data, _PYTHON, None).missing()
    pieces, count, last = [], 0, 0
    for at, piece in missing:
        count += len(data[last:at].decode())
        pieces.append((count, piece.decode()))
        last = at
    return completed(text, pieces) if pieces else None


def closed_braces(data: bytes, language: str, defines: Callable[[bytes], bool]) -> Closed[bytes] | None:
    """The same for a language with braces; `defines` is true for a line that begins a definition."""
    strings = language in ("javascript", "typescript", "tsx", "php")
    missing = _Reading(data, _STRINGS if strings else _CHARACTERS, defines).missing()
    return completed(data, missing) if missing else None


class _Reading:
    """One reading of a source, token by token."""

    def __init__(self, data: bytes, tokens: re.Pattern[bytes], defines: Callable[[bytes], bool] | None) -> None:
        self._data, self._tokens, self._defines = data, tokens, defines
        self._open: list[_Open] = []
        self._missing: list[tuple[int, bytes]] = []
        self._line, self._indent = 0, 0
        self._code = 0
        """Where the last token ended that is no comment."""

    def missing(self) -> list[tuple[int, bytes]]:
        """The missing pieces, each with its offset; none for a source with too many open brackets."""
        quotes = self._defines is None and any(self._data.count(quote) % 2 for quote in (b'"""', b"'''"))
        at, fresh = 0, True
        while (found := self._tokens.search(self._data, at)) and len(self._open) < _DEPTH:
            token, at = found[0], found.end()
            if token == b"\n":
                self._line, fresh = at, True
                continue
            if token[:1] == b"#" or token[:2] in (b"//", b"/*"):
                continue
            if fresh:
                self._begin(found.start())
                fresh = False
            if quotes and found["triple"] and (len(token) == 3 or _DEFINED.search(token)):
                # All strings after the one that is open begin where they should end.
                quotes = False
                end = self._data.find(b"\n", found.start())
                at = end if end >= 0 else len(self._data)
                self._missing.append((at, found["triple"]))
            elif token in _CLOSING:
                self._open.append(_Open(_CLOSING[token], self._indent, self._line))
            elif token in (b")", b"]", b"}"):
                self._close(token)
            self._code = at
        if found:
            return []
        self._end(0)
        return self._missing

    def _begin(self, start: int) -> None:
        """Take the first token of a line: brackets that cannot go on are closed where the code before it ended."""
        self._indent = len(self._data[self._line : start].expandtabs(8))
        if not self._open:
            return
        rest = self._data[start : start + 500].partition(b"\n")[0]
        if self._defines is None:
            if (
                _STATEMENT.match(rest)
                or (self._indent <= self._open[0].indent and _ASSIGNMENT.match(rest))
                or (self._data[self._code - 1 : self._code] == b":" and _HEADER.match(self._data, self._open[0].line))
            ):
                self._end(0)
        elif rest[:1] == b"}":
            # It closes what its own column opened.
            self._end(1 + self._last(lambda item: item.indent == self._indent and item.closing == b"}"))
        elif self._defines(self._data[self._line : start] + rest):
            self._end(1 + self._last(lambda item: item.indent < self._indent or self._is_unindented(item), none=-1))

    def _last(self, fits: Callable[[_Open], bool], none: int = _DEPTH) -> int:
        """The number of the last open bracket that fits; `none` if none does."""
        return next((number for number in reversed(range(len(self._open))) if fits(self._open[number])), none)

    def _is_unindented(self, item: _Open) -> bool:
        return _UNINDENTED.match(self._data, item.line) is not None

    def _close(self, token: bytes) -> None:
        level = self._last(lambda item: item.closing == token)
        if level < len(self._open):
            self._end(level + 1)
            self._open.pop()

    def _end(self, level: int) -> None:
        """Close all brackets from one on, at the end of the code so far; a header of Python gets its colon."""
        if len(self._open) <= level:
            return
        at, text = self._code, b"".join(item.closing for item in reversed(self._open[level:]))
        if self._defines is None and level == 0 and _HEADER.match(self._data, self._open[0].line):
            if self._data[at - 1 : at] == b":":
                at -= 1
            else:
                text += b":"
        elif text[:1] != b"}" and self._data[at - 1 : at] == b";":
            at -= 1
        self._missing.append((at, text))
        del self._open[level:]
