"""The state that an index keeps besides its blocks: its files, what was left out, how the last build went.

It stands in documents of the index itself, so it changes with the blocks in one step. Files are spread over
`BUCKETS` documents: one changed file rewrites one of them.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from codenav.core.blocks import FileSkip, FileState, IndexStats
from codenav.retrieval.elastic import codec
from codenav.retrieval.elastic.lines import BLOCK
from codenav.retrieval.elastic.schema import ROLE

HEADER, SKIPS, FILES = "header", "skips", "files"
"""The values of `ROLE`."""
BUCKETS = 256
"""Number of documents over which 100,000 files are spread: 50 KB each."""
_SKIPS_EACH = 2_000


@dataclass(frozen=True)
class FileEntry:
    """A file of the index."""

    state: FileState
    kinds: Mapping[str, int]
    languages: Mapping[str, int]

    @property
    def blocks(self) -> int:
        """The number of its blocks."""
        return sum(self.kinds.values())


def summed(files: Iterable[FileEntry], stats: IndexStats) -> IndexStats:
    """The statistics with the counts of these files."""
    kinds: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    count = 0
    for entry in files:
        kinds.update(entry.kinds)
        languages.update(entry.languages)
        count += 1
    return dataclasses.replace(
        stats,
        files=count,
        blocks=sum(kinds.values()),
        kinds=dict(sorted(kinds.items())),
        languages=dict(sorted(languages.items())),
    )


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


def file_lines(files: Mapping[str, FileEntry], dirty: Iterable[str]) -> Iterator[bytes]:
    """The lines that write the states of all files that share a document with one of those in `dirty`."""
    wanted = {bucket(path) for path in dirty}
    filled: dict[int, dict[str, Any]] = {number: {} for number in wanted}
    for path, entry in files.items():
        number = bucket(path)
        if number in wanted:
            state = entry.state
            filled[number][path] = [
                state.size, state.mtime_ns, state.digest, dict(entry.kinds), dict(entry.languages),
                state.ctime_ns, state.inode, state.module, state.public,
            ]  # fmt: skip
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
    return {
        path: FileEntry(FileState(size, mtime, digest, *more), kinds, languages)
        for part in parts
        for path, (size, mtime, digest, kinds, languages, *more) in part.items()
    }


def _document(name: str, content: Any) -> bytes:
    role = name.partition(".")[0]
    document = {ROLE: role, BLOCK: codec.dumps(content).decode()}
    return b'{"index":{"_id":"%b"}}\n%b\n' % (name.encode(), codec.dumps(document))
