"""A Python block before its text is cut out, and how it becomes a `CodeBlock`."""

from __future__ import annotations

import keyword
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from codenav.blocks import BlockKind, CodeBlock, LineSpan, block_id
from codenav.indexers.python_text import dedent


@dataclass(frozen=True, slots=True)
class Place:
    """Where a file stands: what its blocks have in common."""

    source: str
    path: str
    """Relative to the root of the source, with `/`."""
    module: str = ""
    """Dotted name under which it can be imported; empty where there is none."""


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


def finish(draft: Draft, data: bytes, place: Place, calls: Calls) -> CodeBlock:
    """The block, without an id: `numbered` gives that to all blocks of a file."""
    called: dict[str, None] = {}
    text = ""
    position = draft.start
    for start, end in sorted(draft.elided):
        if start >= position:
            called.update(dict.fromkeys(calls.between(position, start)))
            text += data[position:start].decode("utf-8", "replace")
            text += "..." if text.endswith(" ") else " ..."
            position = end
    if position < draft.end:
        called.update(dict.fromkeys(calls.between(position, draft.end)))
        text += data[position : draft.end].decode("utf-8", "replace")
    indent = data[data.rfind(b"\n", 0, draft.start) + 1 : draft.start].decode("utf-8", "replace")
    if draft.kind is BlockKind.DOCUMENT:
        line = f"import {place.module}" if place.module else ""
    else:
        line = import_line(place.module, draft.importable)
    return CodeBlock(
        id="",
        kind=draft.kind,
        name=draft.name,
        qualname=draft.qualname,
        path=place.path,
        lines=LineSpan(draft.rows[0] + 1, draft.rows[1] + 1),
        text=dedent(text, "" if indent.strip() else indent),
        signature=draft.signature,
        docstring=draft.docstring,
        language="python",
        source=place.source,
        import_line=line,
        calls=tuple(called),
    )


def numbered(blocks: Iterable[CodeBlock]) -> list[CodeBlock]:
    """The blocks of one file with their ids; those that agree in everything are told apart by their order."""
    seen: Counter[tuple[str, BlockKind, str]] = Counter()
    named = []
    for block in blocks:
        key = (block.qualname, block.kind, block.text)
        ordinal = seen[key]
        seen[key] += 1
        id = block_id(block.source, block.path, block.qualname, block.kind, block.text, ordinal)
        named.append(replace(block, id=id))
    return named
