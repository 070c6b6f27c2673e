"""What the blocks of one file have in common, and how their ids tell them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from codenav.blocks import BlockKind, CodeBlock, block_id


@dataclass(frozen=True, slots=True)
class Place:
    """Where a file stands: what its blocks have in common."""

    source: str
    path: str
    """Relative to the root of the source, with `/`."""
    module: str = ""
    """Dotted name under which it can be imported; empty where there is none."""


Identity = tuple[str, BlockKind, str]
"""Qualified name, kind and text of a block."""


def next_id(place: Place, qualname: str, kind: BlockKind, text: str, seen: Counter[Identity]) -> str:
    """The id of a block; those of a file that agree in everything are told apart by their order."""
    identity = (qualname, kind, text)
    ordinal = seen[identity]
    seen[identity] = ordinal + 1
    return block_id(place.source, place.path, qualname, kind, text, ordinal)


def numbered(blocks: Iterable[CodeBlock]) -> list[CodeBlock]:
    """The blocks of one file with their ids; those that agree in everything are told apart by their order."""
    seen: Counter[Identity] = Counter()
    return [
        replace(
            block,
            id=next_id(Place(block.source, block.path), block.qualname, block.kind, block.text, seen),
        )
        for block in blocks
    ]
