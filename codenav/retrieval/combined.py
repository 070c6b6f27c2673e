"""Several indexes combined into one, with their scores on one scale: a word weighs what it weighs in all of them.

BM25 weighs a word by the share of blocks that hold it, and a field by its length beside the others: in an index of two
blocks no word is rare and no name is short. So the indexes first tell these numbers, and each scores by all.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice

from codenav.core.blocks import BlockKind, CodeBlock, Frequencies, IndexStats, SearchResult
from codenav.core.protocols import Index, ScaledIndex
from codenav.retrieval import plan
from codenav.retrieval.plan import Plan
from codenav.retrieval.planning import Term, understand

K1, B = 1.2, 0.75
"""The parameters of BM25 in both engines."""


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
        read = understand(query).read
        results = [search(query, kinds=kinds, limit=limit) for search in self._searches(query)]
        # A merge, as each index orders its own hits: by its lines and ids, which are not known here.
        ranked = heapq.merge(*(result.hits for result in results), key=lambda hit: (-hit.score, -hit.weight, hit.path))
        return SearchResult(
            query,
            hits=list(islice(ranked, max(limit, 0))),
            total=sum(result.total for result in results),
            read_as=read.read_as,
            repairs=tuple(dict.fromkeys(chain(read.repairs, *(result.repairs for result in results)))),
        )

    def _searches(self, query: str) -> Iterator[Callable[..., SearchResult]]:
        """The search of each index, with the frequencies of all."""
        scaled = {number: index for number, index in enumerate(self.indexes) if isinstance(index, ScaledIndex)}
        known = {number: index.frequencies(query) for number, index in scaled.items()}
        every = total_frequencies([those for those in known.values() if those])
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


def total_frequencies(each: Sequence[Frequencies]) -> Frequencies:
    """The statistics of several indexes together."""
    counts = Counter[Term]()
    for one in each:
        counts.update(one.counts)
    lengths = {}
    for field in dict.fromkeys(field for one in each for field in one.lengths):
        those = [one for one in each if one.blocks and field in one.lengths]
        lengths[field] = sum(one.lengths[field] * one.blocks for one in those) / sum(one.blocks for one in those)
    return Frequencies(sum(one.blocks for one in each), counts, lengths)


def scaled_plan(what: Plan, own: Frequencies, all: Frequencies) -> Plan:
    """A plan that scores by the statistics of `all` in an index that has `own`.

    A word weighs as in one index of all. So does the length of a field, for a block of mean length: the engine's own
    correction of lengths cannot be changed, only what it comes to.
    """
    return _Scale(own, all).plan(what)


class _Scale:
    """The factors from the scores of one index to those of all."""

    def __init__(self, own: Frequencies, all: Frequencies) -> None:
        self._rarities = [
            {term: _rarity(among.blocks, count) for term, count in among.counts.items()} for among in (own, all)
        ]
        self._lengths = {
            field: (1 + _damped(all.lengths.get(field, length) / length)) / (1 + _damped(1.0))
            for field, length in own.lengths.items()
        }

    def plan(self, what: Plan, factor: float = 1.0) -> Plan:
        """A plan with the score multiplied by a factor."""
        match what:
            case plan.Match(field, token):
                return plan.Weighted(what, factor * self._factor(field, (token,)))
            case plan.Sequence(field, tokens):
                return plan.Weighted(what, factor * self._factor(field, tokens))
            case plan.Weighted(part, own):
                return self.plan(part, factor * own)
            case plan.Join(required, optional):
                what = replace(what, required=tuple(map(self.plan, required)), optional=tuple(map(self.plan, optional)))
            case plan.Best(parts):
                what = replace(what, parts=tuple(map(self.plan, parts)))
        return what if factor == 1 else plan.Weighted(what, factor)

    def _factor(self, field: str, tokens: tuple[str, ...]) -> float:
        here, everywhere = (sum([rarities[field, token] for token in tokens]) for rarities in self._rarities)
        return everywhere / here * self._lengths.get(field, 1.0)


def _rarity(blocks: int, count: int) -> float:
    """The factor of BM25 for the rarity of a word, in tantivy and in Lucene."""
    return math.log1p((blocks - count + 0.5) / (count + 0.5))


def _damped(length: float) -> float:
    """The number that BM25 adds to the count of a word in a field before it divides by both; 1 is the mean length."""
    return K1 * (1 - B + B * length)
