"""Blocks of Jupyter notebooks: the sections of their text, each code cell, and the definitions in cells."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from codenav.core.blocks import BlockKind, CodeBlock, LineSpan
from codenav.indexers.document_blocks import Section, sections
from codenav.indexers.place import Place, numbered
from codenav.indexers.python_blocks import python_blocks

BROKEN = "not a notebook of format 4"

_DEFINITIONS = {BlockKind.FUNCTION, BlockKind.METHOD, BlockKind.CLASS}
_MAGIC = re.compile(r"^([ \t]*)([%!?]|\w[\w.]*\?+$)", re.MULTILINE)
"""Lines that IPython interprets itself: `%magic`, `!command`, `?name`, `name?`."""

_ASSIGNED_MAGIC = re.compile(r"^([ \t]*)(\w+[ \t]*=[ \t]*[%!])", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a notebook."""

    number: int
    """Its position, from 1."""
    row: int
    """Its first row in the text of the notebook, 0-based."""
    kind: str
    """`markdown`, `code` or `raw`."""
    text: str


def notebook_blocks(text: str, place: Place) -> tuple[list[CodeBlock] | None, str]:
    """The blocks of a notebook in order, or None and `BROKEN`.

    Line numbers count in the cells' sources one below the other, with an empty line between two cells: a script
    from `jupyter nbconvert` has the same order. Outputs are left out. A code cell is a DOCUMENT named after its
    number and the heading above. Definitions in a Python cell are separate blocks; a cell of nothing but definitions
    is not a DOCUMENT as well.
    """
    try:
        data = json.loads(text)
        cells = list(_cells(data))
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
        return None, BROKEN
    language = _language(data)
    stem = place.path.rpartition("/")[2].rpartition(".")[0]
    trail: list[tuple[int, str]] = []
    blocks: list[CodeBlock] = []
    for cell in cells:
        if cell.kind == "code":
            blocks += _code(cell, place, language, [title for _, title in trail] or [stem])
        else:
            kind = "text" if cell.kind == "raw" else "markdown"
            blocks += [_document(section, cell, place, kind) for section in sections(cell.text, kind, stem, trail)]
    return numbered(blocks), ""


def _cells(data: Any) -> Iterator[Cell]:
    row = 0
    for number, cell in enumerate(data["cells"], 1):
        source = cell.get("source", "")
        text = source if isinstance(source, str) else "".join(source)
        text = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode("utf-8")
        kind = cell.get("cell_type", "raw")
        yield Cell(number, row, kind if kind in ("code", "markdown") else "raw", text)
        row += text.count("\n") + (1 if text.endswith("\n") else 2)


def _language(data: Any) -> str:
    """The language that the notebook declares; Python if it declares none."""
    known = data.get("metadata", {})
    for part, key in (("kernelspec", "language"), ("language_info", "name")):
        said = known.get(part, {}).get(key) if isinstance(known, dict) and isinstance(known.get(part), dict) else None
        if isinstance(said, str) and said:
            return said.lower()[:50].encode("utf-8", "replace").decode("utf-8")
    return "python"


def _document(section: Section, cell: Cell, place: Place, language: str) -> CodeBlock:
    block = section.block(place, language)
    return replace(block, lines=LineSpan(block.lines.start + cell.row, block.lines.end + cell.row))


def _code(cell: Cell, place: Place, language: str, titles: list[str]) -> Iterator[CodeBlock]:
    if not cell.text.strip():
        return
    python = language in ("python", "python3", "ipython") and not cell.text.lstrip().startswith("%%")
    calls: dict[str, None] = {}
    defined: list[CodeBlock] = []
    if python:
        for block in python_blocks(_without_magic(cell.text), Place(place.source, place.path)):
            calls.update(dict.fromkeys(block.calls))
            if block.kind in _DEFINITIONS:
                lines = LineSpan(block.lines.start + cell.row, block.lines.end + cell.row)
                defined.append(replace(block, lines=lines, import_line=""))
    covered = {row for block in defined for row in range(block.lines.start, block.lines.end + 1)}
    written = cell.text.split("\n")
    if any(line.strip() and row not in covered for row, line in enumerate(written, cell.row + 1)):
        first = next(line.strip() for line in written if line.strip())
        name = f"cell {cell.number}"
        yield CodeBlock(
            id="",
            kind=BlockKind.DOCUMENT,
            name=name,
            qualname=" > ".join([*titles, name]),
            path=place.path,
            lines=LineSpan(cell.row + 1, cell.row + len(cell.text.rstrip("\n").split("\n"))),
            text=cell.text,
            signature=first[:200],
            language="python" if python else language,
            source=place.source,
            calls=tuple(calls),
        )
    yield from defined


def _without_magic(code: str) -> str:
    """The code with magic lines turned into comments."""
    if "%" not in code and "!" not in code and "?" not in code:
        return code
    return _ASSIGNED_MAGIC.sub(r"\1pass # \2", _MAGIC.sub(r"\1pass # \2", code))
