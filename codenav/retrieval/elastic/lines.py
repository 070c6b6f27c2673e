"""The documents of an index as lines for the bulk interface: blocks, and the state that an index keeps besides them.

The lines of blocks are a pure function of them, so any process can make them. The state is the files, what was left
out, and how the last build went. It stands in the index itself, so it changes with the blocks in one step; files are
spread over `BUCKETS` documents.
"""

from __future__ import annotations

import hashlib
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from codenav.core.blocks import BlockKind, CodeBlock, FileSkip, IndexStats, Packed
from codenav.retrieval import documents
from codenav.retrieval.builds import FileEntry

BLOCK, WORTH, PRIOR, FIRST, LAST = "block", "worth", "prior", "first_line", "last_line"
"""Our own fields besides those of `documents`: the whole block, the factors of its score, its lines."""
ROLE = "role"
"""The field in which a document that holds no block says what it holds."""
NUMBER, KIND = "number", "kind"
"""The id and the kind as numbers."""
_KINDS = tuple(BlockKind)


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
        parts.append(documents.dumps(document(block)))
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
        BLOCK: documents.stored(block).decode(),
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
    return {NUMBER: documents.id_number(block) - 2**63, KIND: _KINDS.index(block.kind)}


def id_and_kind(number: int, kind: int) -> tuple[str, BlockKind]:
    """The id and kind of two numbers. The inverse of `numbers`."""
    return f"{number + 2**63:016x}", _KINDS[kind]


HEADER, SKIPS, FILES = "header", "skips", "files"
"""The values of `ROLE`."""
BUCKETS = 256
"""Number of documents over which 100,000 files are spread: 50 KB each."""
_SKIPS_EACH = 2_000


def header_lines(stats: IndexStats) -> bytes:
    """The lines for the bulk interface that write the statistics, apart from what was left out."""
    return _document(HEADER, {**vars(stats), "skipped": len(stats.skipped)})


def skip_lines(skips: list[FileSkip], before: int) -> bytes:
    """The lines that write what was left out, in place of `before` such files."""
    count = -(-len(skips) // _SKIPS_EACH)
    parts = [
        _document(f"{SKIPS}.{number}", [number, [[skip.path, skip.reason] for skip in skips[at : at + _SKIPS_EACH]]])
        for number, at in enumerate(range(0, len(skips), _SKIPS_EACH))
    ]
    old = range(count, -(-before // _SKIPS_EACH))
    return b"".join([*parts, *(b'{"delete":{"_id":"%b"}}\n' % f"{SKIPS}.{number}".encode() for number in old)])


def file_lines(files: Mapping[str, FileEntry], gone: Iterable[str]) -> Iterator[bytes]:
    """The lines that write the states of all files, and remove the documents that only `gone` files had."""
    filled: dict[int, dict[str, Any]] = {bucket(path): {} for path in (*files, *gone)}
    for path, entry in files.items():
        filled[bucket(path)][path] = entry.to_row()
    for number, content in sorted(filled.items()):
        if content:
            yield _document(f"{FILES}.{number}", content)
        else:
            yield b'{"delete":{"_id":"%b"}}\n' % f"{FILES}.{number}".encode()


def bucket(path: str) -> int:
    """The number of the document that holds the state of a file."""
    return zlib.crc32(path.encode("utf-8", "surrogatepass")) % BUCKETS


def read_stats(header: Any, skips: Iterable[Any]) -> IndexStats:
    """The statistics, read from their document and those of what was left out.

    Raises:
        ValueError, TypeError, KeyError: they are damaged.
    """
    pairs = [pair for _, part in sorted(skips) for pair in part]
    if header["skipped"] != len(pairs):
        raise ValueError("what was left out is not complete")
    return IndexStats(**{**header, "skipped": tuple(FileSkip(path, reason) for path, reason in pairs)})


def read_files(parts: Iterable[Any]) -> dict[str, FileEntry]:
    """The files, read from their documents. Raises as `read_stats`."""
    return {path: FileEntry.of_row(row) for part in parts for path, row in part.items()}


def _document(name: str, content: Any) -> bytes:
    role = name.partition(".")[0]
    document = {ROLE: role, BLOCK: documents.dumps(content).decode()}
    return b'{"index":{"_id":"%b"}}\n%b\n' % (name.encode(), documents.dumps(document))
