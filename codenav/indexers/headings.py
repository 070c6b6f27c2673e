"""Headings of Markdown and reStructuredText documents."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of a section. The section begins at `row` (0-based): its overline, or the first line of the title."""

    row: int
    level: int
    """1 for the topmost."""
    title: str
    line: str
    """The title as written, without its underline."""


_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})(.*)$")
_CONTAINER = re.compile(r" {0,3}(?:>|[-*+](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$)|\||<)")
_BREAK = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_CODE = re.compile(r" {4}|\t")
_HTML = (
    (re.compile(r" {0,3}<!--"), re.compile("-->")),
    (
        re.compile(r" {0,3}<(?:script|pre|style|textarea)(?:[\s>]|$)", re.I),
        re.compile(r"</(?:script|pre|style|textarea)>", re.I),
    ),
)
"""Start and end of raw HTML blocks (CommonMark 0.31, section 4.6, conditions 1 and 2)."""


def markdown_headings(lines: list[str]) -> Iterator[Heading]:
    """ATX and setext headings (CommonMark 0.31, sections 4.2 and 4.3), except in fences, comments and front matter."""
    paragraph: int | None = None
    lazy = False
    closing: re.Pattern[str] | None = None
    for row in range(_front_matter(lines), len(lines)):
        line = lines[row]
        if closing is not None:
            closing = None if closing.search(line) else closing
            continue
        closing = _opens(line)
        atx = _ATX.match(line)
        setext = _SETEXT.match(line)
        if atx:
            yield Heading(row, len(atx.group(1)), _atx_title(atx.group(2) or ""), line.strip())
        elif setext and paragraph is not None:
            title = " ".join(part.strip() for part in lines[paragraph:row])
            yield Heading(paragraph, 1 if setext.group(1)[0] == "=" else 2, title, title)
        elif line.strip() and closing is None and not _BREAK.match(line):
            # The lines below a quote, a list item or a table continue it: they are never the text of a setext title.
            lazy = lazy or _CONTAINER.match(line) is not None
            if paragraph is None and not _CODE.match(line):
                paragraph = row
            paragraph = None if lazy else paragraph
            continue
        paragraph, lazy = None, False


def _atx_title(written: str) -> str:
    """The title without the `#` characters that may close it."""
    title = written.strip()
    bare = title.rstrip("#")
    return title if bare and not bare[-1].isspace() else bare.rstrip()


def _front_matter(lines: list[str]) -> int:
    """The number of lines of front matter at the top, its `---` lines included."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    for row in range(1, min(len(lines), 200)):
        if lines[row].rstrip() in ("---", "..."):
            return row + 1
    return 0


def _opens(line: str) -> re.Pattern[str] | None:
    """The pattern for the end of the fence, comment or raw HTML that this line opens; None if it opens none."""
    fence = _FENCE.match(line)
    if fence and not (fence.group(1)[0] == "`" and "`" in fence.group(2)):
        mark = fence.group(1)
        return re.compile(rf"^[ \t]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$")
    for start, end in _HTML:
        begun = start.match(line)
        if begun:
            return None if end.search(line, begun.end()) else end
    return None


_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*$")


def rst_headings(lines: list[str]) -> Iterator[Heading]:
    """Titles with an underline, or with an overline and an underline; levels are by order of first use.

    As in docutils, an underline shorter than its title counts if it has at least four characters.
    """
    styles: list[tuple[str, bool]] = []
    last = -1
    for row in range(1, len(lines)):
        mark = _adornment(lines[row])
        title = lines[row - 1].rstrip()
        if not mark or row - 1 <= last or not title.strip() or _adornment(title):
            continue
        over = row >= 2 and row - 2 > last and lines[row - 2].rstrip() == lines[row].rstrip()
        if not over and (title[0].isspace() or not _begins_block(lines, row - 1)):
            continue
        if len(lines[row].rstrip()) < min(4, _columns(title.strip())):
            continue
        style = (mark, over)
        if style not in styles:
            styles.append(style)
        yield Heading(row - 2 if over else row - 1, styles.index(style) + 1, title.strip(), title.strip())
        last = row


def _adornment(line: str) -> str:
    found = _ADORNMENT.match(line.rstrip())
    return found.group(1) if found else ""


def _begins_block(lines: list[str], row: int) -> bool:
    """True if a line is the first of its paragraph: after a blank line, a title, or an explicit markup block."""
    if row == 0:
        return True
    above = lines[row - 1]
    return not above.strip() or above[0].isspace() or above.startswith("..") or bool(_adornment(above))


def _columns(text: str) -> int:
    """The width of a text in terminal columns: wide East Asian characters take two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
