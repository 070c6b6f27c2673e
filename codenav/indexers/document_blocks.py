"""Markdown, reStructuredText and plain text as blocks: one per section, without losing a character."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from email import message_from_string

from codenav.core.blocks import BlockKind, CodeBlock, LineSpan
from codenav.core.usage import estimate_tokens
from codenav.indexers.headings import Heading, markdown_headings, rst_headings
from codenav.indexers.place import Place, numbered

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
