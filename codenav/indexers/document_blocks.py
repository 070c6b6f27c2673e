"""Markdown and reStructuredText to blocks: one per section, and not a character lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from codenav.blocks import BlockKind, CodeBlock, LineSpan
from codenav.indexers.headings import Heading, markdown_headings, rst_headings
from codenav.indexers.python_draft import Place, numbered
from codenav.usage import estimate_tokens

SECTION_TOKENS = 1_500
"""A longer section is cut into parts at paragraph borders: three hits in full still fit an observation."""

_HEADINGS: dict[str, Callable[[list[str]], Iterable[Heading]]] = {
    "markdown": markdown_headings,
    "restructuredtext": rst_headings,
}


def document_blocks(text: str, place: Place, language: str) -> list[CodeBlock]:
    """The sections of a document in order. Their texts joined are the document.

    What stands before the first heading is a section named after the file. A document of white space alone gives
    no block. `text` has `\\n` line ends.
    """
    if not text.strip():
        return []
    lines = text.split("\n")
    stem = place.path.rpartition("/")[2].rpartition(".")[0]
    blocks = []
    for first, last, heading, titles in _sections(lines, _HEADINGS[language](lines), stem):
        whole = "\n".join(lines[first:last]) + ("" if last == len(lines) else "\n")
        row = first
        parts = list(_parts(whole))
        for number, part in enumerate(parts, 1):
            suffix = f" (part {number})" if len(parts) > 1 else ""
            path = [*titles[:-1], titles[-1] + suffix]
            end = row + part.count("\n") - (1 if part.endswith("\n") else 0)
            blocks.append(
                CodeBlock(
                    id="",
                    kind=BlockKind.DOCUMENT,
                    name=path[-1],
                    qualname=" > ".join(path),
                    path=place.path,
                    lines=LineSpan(row + 1, max(row, end) + 1),
                    text=part,
                    signature=heading or stem,
                    language=language,
                    source=place.source,
                )
            )
            row += part.count("\n")
    return numbered(blocks)


def _sections(lines: list[str], headings: Iterable[Heading], stem: str) -> Iterator[tuple[int, int, str, list[str]]]:
    """First line, line after the last, heading line and path of titles of each section; blank ones join the next."""
    trail: list[tuple[int, str]] = []
    first, line, titles = 0, "", [stem]
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
    """The section whole, or cut after blank lines, else after lines, else anywhere."""
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
    """Pieces of at most `SECTION_TOKENS`, as large as they come: paragraphs with the blank lines below, lines."""
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
