"""The moments at which an index forgets deleted blocks, the same in every store.

They count in BM25 until then, so two stores score alike only if they forget alike. An index consists of segments: that
of the first build, and one more for each build that changed something. A segment whose blocks are all deleted is gone.
"""

from __future__ import annotations

from collections.abc import Iterable

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
