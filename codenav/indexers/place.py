"""The place of a file in its source, and the ids of the blocks in it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from codenav.blocks import BlockKind, CodeBlock, block_id


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a file in its source, which all its blocks share."""

    source: str
    path: str
    """Relative to the root of the source, with `/`."""
    module: str = ""
    """The dotted name to import it by; empty if it cannot be imported."""
    public: Mapping[str, str] = field(default_factory=dict)
    """The public names of what is defined at its top level, by the name there."""

    @property
    def public_digest(self) -> str:
        """A short hash of the public names; empty for none."""
        text = "\n".join(f"{name} {dotted}" for name, dotted in sorted(self.public.items()))
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest() if text else ""


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
