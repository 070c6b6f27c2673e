"""Drafts of code blocks, whose text is cut out later, and the conversion of those of Python to `CodeBlock`."""

from __future__ import annotations

import keyword
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from codenav.core.blocks import BlockKind, CodeBlock, LineSpan
from codenav.indexers.place import Identity, Place, next_id
from codenav.indexers.python_text import dedent


@dataclass(slots=True)
class BlockDraft:
    """A block whose text is cut out later, once its elisions are known."""

    kind: BlockKind
    name: str
    qualname: str
    start: int
    """Offset of the start in the source, with doc comment, attributes and decorators."""
    end: int
    rows: tuple[int, int]
    """First and last row, 0-based."""
    signature: str = ""
    docstring: str = ""
    importable: str = ""
    """What an import needs: for Python the module-level name, else the whole line; empty if it cannot be imported."""

    def block(
        self,
        text: str,
        place: Place,
        *,
        language: str,
        import_line: str,
        calls: Iterable[str],
        id: str = "",
        public_name: str = "",
    ) -> CodeBlock:
        """The block with its text."""
        return CodeBlock(
            id=id,
            kind=self.kind,
            name=self.name,
            qualname=self.qualname,
            path=place.path,
            lines=LineSpan(self.rows[0] + 1, self.rows[1] + 1),
            text=text,
            signature=self.signature,
            docstring=self.docstring,
            language=language,
            source=place.source,
            module=place.module or place.within,
            public_name=public_name,
            import_line=import_line,
            calls=tuple(calls),
        )


NAME_LENGTH = 200
"""Characters. Of a longer dotted name of a call only the last part is read."""


@dataclass(slots=True)
class Draft(BlockDraft):
    """A draft of a Python block. Its offsets are characters."""

    elided: list[tuple[int, int]] = field(default_factory=list)
    """Ranges to show as `...`: bodies of definitions that are separate blocks, and values of long assignments."""


@dataclass(frozen=True, slots=True)
class Calls:
    """The dotted names that a file calls, in order of the offset where each begins."""

    starts: Sequence[int]
    names: Sequence[str]

    def between(self, start: int, end: int) -> Sequence[str]:
        """The names that begin in a range of offsets."""
        return self.names[bisect_left(self.starts, start) : bisect_left(self.starts, end)]


def names_to_import(place: Place, top: str, qualname: str) -> tuple[str, str]:
    """The public name of a definition in `top`, what its module has at its top level, and the statement to import it.

    The name is empty for what is private, the statement if there is none.
    """
    offered = place.public.get(top, "")
    module, _, name = (offered or f"{place.module}.{top}").rpartition(".")
    inner = qualname.removeprefix(top)
    private = any(part.startswith("_") and not part.endswith("__") for part in inner.split("."))
    can = module and top.isidentifier() and name.isidentifier() and not keyword.iskeyword(name)
    return "" if private or not offered else offered + inner, f"from {module} import {name}" if can else ""


def number_rows(drafts: Sequence[Draft], source: str) -> None:
    """Set the rows of drafts, which are in order of their starts."""
    row = at = 0
    for draft in drafts:
        row += source.count("\n", at, draft.start)
        at = draft.start
        draft.rows = (row, row + source.count("\n", at, draft.end))


def finish(draft: Draft, source: str, place: Place, calls: Calls, seen: Counter[Identity]) -> CodeBlock:
    """The block of a draft. The draft's offsets count in `source`; `seen` is shared by the blocks of a file."""
    called: dict[str, None] = {}
    text = ""
    position = draft.start
    for start, end in sorted(draft.elided):
        if start >= position:
            called.update(dict.fromkeys(calls.between(position, start)))
            text += source[position:start]
            text += "..." if text.endswith(" ") else " ..."
            position = end
    if position < draft.end:
        called.update(dict.fromkeys(calls.between(position, draft.end)))
        text += source[position : draft.end]
    indent = source[source.rfind("\n", 0, draft.start) + 1 : draft.start]
    public = ""
    if draft.kind is BlockKind.DOCUMENT:
        line = f"import {place.module}" if place.module else ""
    else:
        public, line = names_to_import(place, draft.importable, draft.qualname)
    text = dedent(text, "" if indent.strip() else indent)
    id = next_id(place, draft.qualname, draft.kind, text, seen)
    return draft.block(text, place, language="python", import_line=line, calls=called, id=id, public_name=public)
