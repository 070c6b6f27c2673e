"""Blocks as lines for the bulk interface: a pure function of them, so any process can do it."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence

from codenav.core.blocks import BlockKind, CodeBlock, Packed
from codenav.retrieval import analysis, documents
from codenav.retrieval.elastic import codec

BLOCK, WORTH, PRIOR, FIRST, LAST = "block", "worth", "prior", "first_line", "last_line"
"""Our own fields besides those of `documents`: the whole block, the factors of its score, its lines."""
NUMBER, KIND = "number", "kind"
"""The id and the kind as numbers: sorting by them, and showing them, takes a third of the time of texts."""
_KINDS = tuple(BlockKind)
_NUMBER_ID = re.compile(r"[0-9a-f]{16}")
_OTHER_ID = 64
"""A number added to the kind where the id is not that of `block_id`: the id is then a hash of it."""


def file_token(path: str) -> str:
    """The token that stands for a path in the ids of its documents."""
    return hashlib.blake2b(path.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def document_id(token: str, place: int) -> str:
    """The id of the block at that place (from 0) of the file with that token.

    It is known without asking, so a request that is sent again does no harm and old blocks need no search.
    """
    return f"{token}.{place}"


def pack(blocks: Sequence[CodeBlock]) -> Packed:
    """The blocks of one file as the lines that `build` sends."""
    return Packed.of(blocks, lines(blocks[0].path, blocks) if blocks else b"")


def lines(path: str, blocks: Sequence[CodeBlock]) -> bytes:
    """The lines of the blocks of a file, two for each: where it goes, and the document."""
    token = file_token(path)
    parts = []
    for place, block in enumerate(blocks):
        parts.append(b'{"index":{"_id":"%b"}}' % document_id(token, place).encode())
        parts.append(codec.dumps(document(block)))
    parts.append(b"")
    return b"\n".join(parts)


def removals(path: str, first: int, end: int) -> bytes:
    """Lines that remove the blocks of a file from place `first` on, `end` excluded."""
    token = file_token(path)
    return b"".join(b'{"delete":{"_id":"%b"}}\n' % document_id(token, at).encode() for at in range(first, end))


def document(block: CodeBlock) -> dict[str, str | int | float]:
    """A block as Elasticsearch takes it."""
    return {
        **documents.text_fields(block),
        **documents.keyword_fields(block),
        BLOCK: stored(block),
        WORTH: _factor(documents.worth(block)),
        PRIOR: _factor(documents.prior(block)),
        FIRST: max(block.lines.start, 0),
        LAST: max(block.lines.end, 0),
        **numbers(block),
    }


def _factor(factor: float) -> float:
    """A factor as the embedded store multiplies by it, rounding included."""
    return math.log2(2.0 + documents.weight(factor))


def numbers(block: CodeBlock) -> dict[str, int]:
    """The id and kind of a block as numbers, which are in the order of the ids."""
    kind = _KINDS.index(block.kind)
    if _NUMBER_ID.fullmatch(block.id):
        return {NUMBER: int(block.id, 16) - 2**63, KIND: kind}
    digest = hashlib.blake2b(analysis.encodable(block.id).encode(), digest_size=8).digest()
    return {NUMBER: int.from_bytes(digest, signed=True), KIND: kind + _OTHER_ID}


def id_and_kind(number: int, kind: int) -> tuple[str | None, BlockKind]:
    """The id and kind of two numbers; no id where it is not that of `block_id`. The inverse of `numbers`."""
    return (None if kind >= _OTHER_ID else f"{number + 2**63:016x}"), _KINDS[kind % _OTHER_ID]


def stored(block: CodeBlock) -> str:
    """A whole block as JSON; a text in the document, so a lone surrogate comes back as it was."""
    return codec.dumps(block.to_dict()).decode()


def restored(text: str) -> CodeBlock:
    """The block of a text in JSON; the inverse of `stored`."""
    return CodeBlock.from_dict(codec.loads(text))
