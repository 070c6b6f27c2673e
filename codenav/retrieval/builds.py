"""A build as both stores remember it: the files of an index, and the moments at which deleted blocks are forgotten.

Deleted blocks count in BM25 until then, so two stores score alike only if they forget alike. An index consists of
segments: that of the first build, and one more for each build that changed something. A segment whose blocks are all
deleted is gone.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codenav.core.blocks import FileState, IndexStats

MAX_DELETED = 0.1
"""The share of deleted blocks beyond which the whole index is written anew: at 30 % of them every tenth query ordered
its first ten hits differently."""
SMALL = 20_000
"""Blocks up to which a segment is small."""
MAX_SMALL = 7
"""Small segments from which on the blocks of all builds but the first are written anew, as one segment. The embedded
engine merges eight of up to 16,800 blocks, and then only estimates how long texts are: it never comes to that."""


def crowded(sizes: Iterable[int]) -> bool:
    """True if there are too many small segments; `sizes` are their blocks that are not deleted."""
    return sum(size <= SMALL for size in sizes) >= MAX_SMALL


@dataclass(frozen=True)
class FileEntry:
    """A file of an index."""

    state: FileState
    kinds: Mapping[str, int]
    languages: Mapping[str, int]
    number: int = 0
    """Of the path in the embedded engine, a new one whenever the file is written; never reused."""

    @property
    def blocks(self) -> int:
        """The number of its blocks."""
        return sum(self.kinds.values())

    def to_row(self) -> list[Any]:
        """The stored form, without the number."""
        state = self.state
        return [
            state.size, state.mtime_ns, state.digest, dict(self.kinds), dict(self.languages),
            state.ctime_ns, state.inode, state.module, state.public,
        ]  # fmt: skip

    @classmethod
    def of_row(cls, row: Sequence[Any], number: int = 0) -> FileEntry:
        """The entry of a stored form; one of an older codenav is shorter."""
        size, mtime, digest, kinds, languages, *more = row
        return cls(FileState(size, mtime, digest, *more), kinds, languages, number)


def with_counts(files: Iterable[FileEntry], stats: IndexStats) -> IndexStats:
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
