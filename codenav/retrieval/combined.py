"""Several indexes combined into one."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice

from codenav.core.blocks import BlockKind, CodeBlock, IndexStats, SearchResult
from codenav.core.protocols import Index, ScaledIndex
from codenav.retrieval import scale


class CombinedIndex:
    """An implementation of `protocols.Index` over several indexes; each hit keeps the source of its block."""

    def __init__(self, indexes: Sequence[Index]) -> None:
        self.indexes = tuple(indexes)

    def search(self, query: str, *, kinds: Collection[BlockKind] | None = None, limit: int = 100) -> SearchResult:
        """The hits of all indexes by score; equal scores by weight, then by path, then by index and its order.

        Each index scores with the frequencies of all together, as far as indexes tell theirs.

        Raises:
            QueryTooLarge: the query has over 64 KB.
            IndexUnavailable: one of the indexes cannot be read.
        """
        understood = scale.understood(query).read
        results = [search(query, kinds=kinds, limit=limit) for search in self._searches(query)]
        # A merge, as each index orders its own hits: by its lines and ids, which are not known here.
        ranked = heapq.merge(*(result.hits for result in results), key=lambda hit: (-hit.score, -hit.weight, hit.path))
        return SearchResult(
            query,
            hits=list(islice(ranked, max(limit, 0))),
            total=sum(result.total for result in results),
            read_as=understood.read_as,
            repairs=tuple(dict.fromkeys(chain(understood.repairs, *(result.repairs for result in results)))),
        )

    def _searches(self, query: str) -> Iterator[Callable[..., SearchResult]]:
        """The search of each index, with the frequencies of all."""
        scaled = {number: index for number, index in enumerate(self.indexes) if isinstance(index, ScaledIndex)}
        known = {number: index.frequencies(query) for number, index in scaled.items()}
        every = scale.summed([told for told in known.values() if told])
        for number, index in enumerate(self.indexes):
            yield partial(scaled[number].search, frequencies=every) if known.get(number) else index.search

    def get(self, id: str) -> CodeBlock | None:
        """The block with that id, from the first index that has it."""
        return next((block for index in self.indexes if (block := index.get(id))), None)

    def blocks(self) -> Iterator[CodeBlock]:
        """Every block, index after index."""
        for index in self.indexes:
            yield from index.blocks()

    def stats(self) -> IndexStats:
        """The summed statistics of all indexes; `built` is the latest."""
        each = [index.stats() for index in self.indexes]
        return IndexStats(
            source=", ".join(item.source for item in each),
            store=", ".join(dict.fromkeys(item.store for item in each)),
            files=sum(item.files for item in each),
            blocks=sum(item.blocks for item in each),
            kinds=_sum([item.kinds for item in each]),
            languages=_sum([item.languages for item in each]),
            versions={name: version for item in each for name, version in item.versions.items()},
            built=max((item.built for item in each), default=""),
            skipped=tuple(skip for item in each for skip in item.skipped),
            reused_files=sum(item.reused_files for item in each),
            seconds=sum(item.seconds for item in each),
        )

    def close(self) -> None:
        """Close all indexes."""
        for index in self.indexes:
            index.close()


def _sum(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(sorted(total.items()))
