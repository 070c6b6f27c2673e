"""Markdown, reStructuredText and plain text as blocks: one per section, without losing a character."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from email import message_from_string

from codenav.core.blocks import BlockKind, CodeBlock, LineSpan
from codenav.core.usage import estimate_tokens
from codenav.indexers.place import Place, numbered


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


SECTION_TOKENS = 1_500
"""Tokens. A longer section is split between paragraphs: three hits in full still fit an observation."""

_HEADINGS: dict[str, Callable[[list[str]], Iterable[Heading]]] = {
    "markdown": markdown_headings,
    "restructuredtext": rst_headings,
    "text": rst_headings,
}
"""The function that finds the headings, by language. Plain text has titles too: with a line of `=` or `-` below."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a document, or a part of a long one."""

    row: int
    """Its first row, 0-based."""
    text: str
    titles: tuple[str, ...]
    """From the outermost section to this one."""
    heading: str
    """As written; the name of the file for the text before the first heading."""

    def block(self, place: Place, language: str) -> CodeBlock:
        """The section as a block without an id."""
        last = self.row + self.text.count("\n") - (1 if self.text.endswith("\n") else 0)
        return CodeBlock(
            id="",
            kind=BlockKind.DOCUMENT,
            name=self.titles[-1],
            qualname=" > ".join(self.titles),
            path=place.path,
            lines=LineSpan(self.row + 1, max(self.row, last) + 1),
            text=self.text,
            signature=self.heading,
            language=language,
            source=place.source,
        )


def document_blocks(text: str, place: Place, language: str) -> list[CodeBlock]:
    """The sections of a document in order. Their texts joined are the document.

    The text before the first heading is a section named after the file. A document of white space alone gives no
    block. `text` has `\\n` line ends. In a language that is not one of documents, the text is one section.
    """
    name = place.path.rpartition("/")[2]
    stem = name.rpartition(".")[0] or name
    return numbered(section.block(place, language) for section in sections(text, language, stem, []))


def metadata_blocks(text: str, place: Place) -> list[CodeBlock]:
    """The sections of the README that the metadata of a distribution hold, in its own markup; else the metadata."""
    head, _, body = text.partition("\n\n")
    fields = message_from_string(head)
    kind = str(fields.get("Description-Content-Type", "")).partition(";")[0].strip()
    language = {"text/markdown": "markdown", "text/plain": "text"}.get(kind, "restructuredtext")
    if not body.strip():
        return numbered(section.block(place, "text") for section in sections(text, "text", "METADATA", []))
    rows = head.count("\n") + 2
    found = sections(body, language, "README", [])
    return numbered(replace(section, row=section.row + rows).block(place, language) for section in found)


def sections(text: str, language: str, stem: str, trail: list[tuple[int, str]]) -> Iterator[Section]:
    """The sections of a text; long ones in parts.

    `trail` holds level and title of the headings above the text, and afterwards of those above its end: consecutive
    texts (the cells of a notebook) share one.
    """
    if not text.strip():
        return
    lines = text.split("\n")
    find = _HEADINGS.get(language)
    for first, last, heading, titles in _sections(lines, find(lines) if find else (), stem, trail):
        whole = "\n".join(lines[first:last]) + ("" if last == len(lines) else "\n")
        row = first
        parts = list(_parts(whole))
        for number, part in enumerate(parts, 1):
            suffix = f" (part {number})" if len(parts) > 1 else ""
            yield Section(row, part, (*titles[:-1], titles[-1] + suffix), heading or stem)
            row += part.count("\n")


def _sections(
    lines: list[str], headings: Iterable[Heading], stem: str, trail: list[tuple[int, str]]
) -> Iterator[tuple[int, int, str, list[str]]]:
    """First line, line after the last, heading line and path of titles of each section; a blank one joins the next."""
    first, line, titles = 0, "", [title for _, title in trail] or [stem]
    for heading in headings:
        if any(text.strip() for text in lines[first : heading.row]):
            yield first, heading.row, line, titles
            first = heading.row
        while trail and trail[-1][0] >= heading.level:
            trail.pop()
        trail.append((heading.level, heading.title[:200] or "untitled"))
        line, titles = heading.line[:300], [title for _, title in trail]
    yield first, len(lines), line, titles


def _parts(section: str) -> Iterator[str]:
    """The section as a whole, or split after blank lines, else after lines, else anywhere."""
    if estimate_tokens(section) <= SECTION_TOKENS:
        yield section
        return
    part: list[str] = []
    size = 0
    for atom in _atoms(section):
        tokens = estimate_tokens(atom)
        if part and size + tokens > SECTION_TOKENS:
            yield "".join(part)
            part, size = [], 0
        part.append(atom)
        size += tokens
    if part:
        yield "".join(part)


def _atoms(section: str) -> Iterator[str]:
    """The largest pieces of at most `SECTION_TOKENS`: paragraphs with the blank lines below, lines, parts of lines."""
    for paragraph in _paragraphs(section):
        if estimate_tokens(paragraph) <= SECTION_TOKENS:
            yield paragraph
            continue
        for line in paragraph.splitlines(keepends=True) if "\n" in paragraph else [paragraph]:
            yield from (line[at : at + SECTION_TOKENS] for at in range(0, len(line), SECTION_TOKENS))


def _paragraphs(section: str) -> Iterator[str]:
    part: list[str] = []
    blank = False
    for line in section.split("\n"):
        if blank and line.strip():
            yield "\n".join(part) + "\n"
            part = []
        blank = not line.strip()
        part.append(line)
    yield "\n".join(part)
