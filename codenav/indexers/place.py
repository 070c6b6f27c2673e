"""The place of a file in its source, and the ids of the blocks in it."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from codenav.core.blocks import BlockKind, CodeBlock, block_id


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a file in its source, which all its blocks share."""

    source: str
    path: str
    """Relative to the root of the source, with `/`."""
    module: str = ""
    """The dotted name to import it by; empty if it cannot be imported."""
    public: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By the name of each public definition at its top level: the public name, and the statement to import it, which is
    empty in Python, where it follows from the name."""
    within: str = ""
    """The module of a language that is not imported by dotted names: `tokio::task`, `axios/lib/axios.js`."""

    @property
    def public_digest(self) -> str:
        """A short hash of the public names; empty for none."""
        names = (f"{name} {dotted} {line}" for name, (dotted, line) in sorted(self.public.items()))
        text = "\n".join(filter(None, (self.within, *names)))
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest() if text else ""

    def offered(self, qualname: str) -> tuple[str, str]:
        """The public name of a definition, by that of the nearest one around it, and the statement to import that."""
        parts = qualname.split(".")
        for count in range(len(parts), 0, -1):
            top = ".".join(parts[:count])
            if top in self.public:
                (dotted, line), inner = self.public[top], parts[count:]
                if not dotted or not all(re.fullmatch(r"(?!_)[\w$]+", part) for part in inner):
                    return "", ""
                return ("::" if self.path.endswith(".rs") else ".").join((dotted, *inner)), line
        return "", ""


Home = tuple[str, str]
"""The path of the file that defines a name, and the name there."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A name under which a package offers a definition."""

    home: Home
    public: str
    import_line: str = ""
    """The statement to import it; empty in Python, where it follows from the name."""


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
