"""The scores of several indexes on one scale: a word weighs what it weighs in all of them.

BM25 weighs a word by the share of blocks that hold it, and a field by its length beside the others: in an index of two
blocks no word is rare and no name is short. So several indexes first tell these numbers, and each scores by all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from codenav.core.blocks import BlockKind, Frequencies
from codenav.retrieval import descriptions, plan, planning
from codenav.retrieval.plan import Plan
from codenav.retrieval.query.parser import Query, parse

K1, B = 1.2, 0.75
"""The parameters of BM25 in both engines."""

Term = tuple[str, str]
"""A field and a token."""


@dataclass(frozen=True)
class Understood:
    """A query as every index understands it."""

    read: Query
    plan: Plan
    words: Sequence[str]
    """The words that describe what is looked for; fewer than two name it."""

    @cached_property
    def terms(self) -> Sequence[Term]:
        """The terms that the plan scores by their frequency."""
        return tuple(dict.fromkeys(terms(self.plan)))

    @property
    def described(self) -> bool:
        """True if the query describes what it looks for."""
        return len(self.words) > 1

    @property
    def again(self) -> bool:
        """True if its first hits are looked at again."""
        return self.described or self.read.plain


def understood(query: str, kinds: Collection[BlockKind] | None = None, *, near: bool = True) -> Understood:
    """A query, read and planned; kept for the next index that asks. `near`: see `planning.plan`.

    Raises:
        QueryTooLarge: the query has over 64 KB.
    """
    return _understood(query, None if kinds is None else frozenset(kinds), near)


@lru_cache(maxsize=8)
def _understood(query: str, kinds: frozenset[BlockKind] | None, near: bool) -> Understood:
    read = parse(query)
    what = planning.plan(read.tree, kinds=kinds, plain=read.plain, near=near)
    return Understood(read, what, descriptions.words(read.tree))


def terms(what: Plan) -> Iterator[Term]:
    """The terms that a plan scores by their frequency; some come twice."""
    match what:
        case plan.Match(field, token):
            yield field, token
        case plan.Sequence(field, tokens):
            yield from ((field, token) for token in tokens)
        case plan.Weighted(part):
            yield from terms(part)
        case plan.Join(required, optional):
            for part in (*required, *optional):
                yield from terms(part)
        case plan.Best(parts):
            for part in parts:
                yield from terms(part)


def summed(each: Sequence[Frequencies]) -> Frequencies:
    """The statistics of several indexes together."""
    counts = Counter[Term]()
    for one in each:
        counts.update(one.counts)
    lengths = {}
    for field in dict.fromkeys(field for one in each for field in one.lengths):
        told = [one for one in each if one.blocks and field in one.lengths]
        lengths[field] = sum(one.lengths[field] * one.blocks for one in told) / sum(one.blocks for one in told)
    return Frequencies(sum(one.blocks for one in each), counts, lengths)


def scaled(what: Plan, own: Frequencies, all: Frequencies) -> Plan:
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
