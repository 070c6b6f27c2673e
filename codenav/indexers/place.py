"""The place of a file in its source, and the ids of the blocks in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from codenav.blocks import BlockKind, CodeBlock, block_id


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a file in its source, which all its blocks share."""

    source: str
    path: str
    """Relative to the root of the source, with `/`."""
    module: str = ""
    """The dotted name to import it by; empty if it cannot be imported."""


Identity = tuple[str, BlockKind, str]
"""Qualified name, kind and text of a block."""


def next_id(place: Place, qualname: str, kind: BlockKind, text: str, seen: Counter[Identity]) -> str:
    """The id of a block; identical blocks of a file are told apart by their order."""
    identity = (qualname, kind, text)
    ordinal = seen[identity]
    seen[identity] = ordinal + 1
    return block_id(place.source, place.path, qualname, kind, text, ordinal)


def numbered(blocks: Iterable[CodeBlock]) -> list[CodeBlock]:
    """The blocks of one file with their ids; identical blocks are told apart by their order."""
    seen: Counter[Identity] = Counter()
    return [
        replace(block, id=next_id(Place(block.source, block.path), block.qualname, block.kind, block.text, seen))
        for block in blocks
    ]
