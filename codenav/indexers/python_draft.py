"""A Python block before its text is cut out, and how it becomes a `CodeBlock`."""

from __future__ import annotations

import keyword
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from codenav.blocks import BlockKind, CodeBlock, LineSpan
from codenav.indexers.place import Identity, Place, next_id
from codenav.indexers.python_text import dedent


@dataclass(slots=True)
class Draft:
    """A block whose text waits until it is known what to leave out."""

    kind: BlockKind
    name: str
    qualname: str
    start: int
    """Byte offset, decorators included."""
    end: int
    rows: tuple[int, int]
    """First and last, 0-based."""
    signature: str = ""
    docstring: str = ""
    importable: str = ""
    """The module-level name to import; empty where nothing can be imported."""
    elided: list[tuple[int, int]] = field(default_factory=list)
    """Byte ranges to show as `...`: bodies that are blocks of their own."""


@dataclass(frozen=True, slots=True)
class Calls:
    """The dotted names that a file calls, and the byte where each begins, in order."""

    starts: Sequence[int]
    names: Sequence[str]

    def between(self, start: int, end: int) -> Sequence[str]:
        """The names that begin in a range of bytes."""
        return self.names[bisect_left(self.starts, start) : bisect_left(self.starts, end)]


def import_line(module: str, name: str) -> str:
    """`from networkx.algorithms.x import f`; empty where one of them cannot be written."""
    if not module or not name.isidentifier() or keyword.iskeyword(name):
        return ""
    return f"from {module} import {name}"


def finish(draft: Draft, source: str | bytes, place: Place, calls: Calls, seen: Counter[Identity]) -> CodeBlock:
    """The block. `source` is what the offsets of `draft` count in; `seen` counts what the blocks of the file share."""
    called: dict[str, None] = {}
    text = ""
    position = draft.start
    for start, end in sorted(draft.elided):
        if start >= position:
            called.update(dict.fromkeys(calls.between(position, start)))
            text += _cut(source, position, start)
            text += "..." if text.endswith(" ") else " ..."
            position = end
    if position < draft.end:
        called.update(dict.fromkeys(calls.between(position, draft.end)))
        text += _cut(source, position, draft.end)
    before = source.rfind("\n", 0, draft.start) if isinstance(source, str) else source.rfind(b"\n", 0, draft.start)
    indent = _cut(source, before + 1, draft.start)
    if draft.kind is BlockKind.DOCUMENT:
        line = f"import {place.module}" if place.module else ""
    else:
        line = import_line(place.module, draft.importable)
    text = dedent(text, "" if indent.strip() else indent)
    return CodeBlock(
        id=next_id(place, draft.qualname, draft.kind, text, seen),
        kind=draft.kind,
        name=draft.name,
        qualname=draft.qualname,
        path=place.path,
        lines=LineSpan(draft.rows[0] + 1, draft.rows[1] + 1),
        text=text,
        signature=draft.signature,
        docstring=draft.docstring,
        language="python",
        source=place.source,
        import_line=line,
        calls=tuple(called),
    )


def _cut(source: str | bytes, start: int, end: int) -> str:
    piece = source[start:end]
    return piece if isinstance(piece, str) else piece.decode("utf-8", "replace")
