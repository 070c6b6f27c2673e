"""Drafts of code blocks, whose text is not cut out yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from codenav.core.blocks import BlockKind, CodeBlock, LineSpan
from codenav.indexers.place import Place


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
