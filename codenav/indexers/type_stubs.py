"""Stubs: what a `.pyi` file adds to the module beside it, or says of a compiled one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.indexers.place import Place
from codenav.indexers.python_draft import names_to_import

_KINDS = (BlockKind.CLASS, BlockKind.FUNCTION, BlockKind.METHOD, BlockKind.ASSIGNMENT)


def stub_blocks(blocks: Iterable[CodeBlock], place: Place, beside: Iterable[CodeBlock] | None) -> list[CodeBlock]:
    """The blocks of a stub; of one with a module beside it, those whose names that does not define.

    These it has from compiled code, or makes as it runs. The private ones are left out: they are types for the stub
    alone, and nothing can import them. `LIMIT: int` in a stub stands for a value, unlike in a module.
    """
    if beside is not None:
        known = {block.qualname for block in beside}
        blocks = [
            block
            for block in blocks
            if block.kind in _KINDS
            and block.qualname not in known
            and block.qualname != "statements"
            and not _private(block.qualname)
        ]
    return [
        _with_names(block, place) if block.kind is BlockKind.ASSIGNMENT and not block.import_line else block
        for block in blocks
    ]


def _with_names(block: CodeBlock, place: Place) -> CodeBlock:
    public, line = names_to_import(place, block.qualname, block.qualname)
    return replace(block, public_name=public, import_line=line)


def _private(qualname: str) -> bool:
    top = qualname.partition(".")[0]
    return top.startswith("_") and not top.endswith("__")
