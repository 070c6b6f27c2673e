"""The order of hits by a ranker, with what it brings, kept apart from what may go wrong with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

from codenav.core.blocks import BlockKind, CodeBlock, Hit, Moved, SearchResult
from codenav.core.errors import Cancelled, CodeNavError, RankingFailed
from codenav.core.protocols import Bringing, Index, Ranker

MATCHES = 100
"""Matches that are ordered again (CodeNav paper, section 3.4: M = 100)."""
BROUGHT = "episodes"
"""The `why` of a hit that no word found."""


@dataclass(frozen=True)
class Ranking:
    """A ranker with what it goes by besides the query."""

    ranker: Ranker
    request: str = ""
    """The request that the search is for; empty if there is none."""
    called: Callable[[], Sequence[str]] = tuple
    """The names of the callables that the episode has called so far, as by `traces.callable_name`, in order."""
    tell: Callable[[str], None] = lambda text: None
    """Gets what went wrong."""
    reads: bool = False
    """True if the ranker reads the texts of hits, as a service does: then it gets only hits that have one."""

    def ranked(
        self,
        found: SearchResult,
        index: Index,
        *,
        shown: int,
        seen: Collection[str] = (),
        kinds: Collection[BlockKind] | None = None,
    ) -> SearchResult:
        """The matches in the ranker's order, with those that it brings; as they came if it fails.

        Args:
            index: what was searched; only its blocks are brought.
            shown: the first hits that are wanted. Of what is brought, only these are loaded.
            seen: ids of blocks that are not to be brought.
            kinds: the kinds that are wanted, as in the search.

        Raises:
            RankingFailed: it failed, and that is to end the work.
            Cancelled: the work was cancelled meanwhile.
        """
        before = [(hit, hit.moved) for hit in found.hits]
        try:
            brought = self._brought(found, index, seen, kinds)
            ordered = self._ordered(found.query, before, brought)
            if not all(map(_is_there, _among(brought, ordered[:shown]))):
                brought = [hit for hit in brought if _is_there(hit)]
                ordered = self._ordered(found.query, before, brought)
        except (Cancelled, RankingFailed):
            raise
        except Exception as error:
            self.tell(f"the search is not ranked: {error}")
            for hit, moved in before:
                hit.moved = moved
            return found
        return replace(found, hits=ordered, total=found.total + len(brought))

    def _brought(
        self, found: SearchResult, index: Index, seen: Collection[str], kinds: Collection[BlockKind] | None
    ) -> list[Hit]:
        if not isinstance(self.ranker, Bringing):
            return []
        known = {*seen, *(hit.id for hit in found.hits)}
        brought = []
        for id, votes in self.ranker.brings(self.request, found.query, self.called(), known).items():
            hit = Hit(id, score=0.0, why=BROUGHT, load=partial(_block, index, id, kinds))
            hit.moved = Moved(0, tuple(votes))
            brought.append(hit)
        return [hit for hit in brought if _is_there(hit)] if self.reads else brought

    def _ordered(self, query: str, before: Sequence[tuple[Hit, Moved | None]], brought: Sequence[Hit]) -> Sequence[Hit]:
        hits = [*(hit for hit, _ in before), *brought]
        moves = [*(moved for _, moved in before), *(hit.moved for hit in brought)]
        for hit in hits:
            hit.moved = None
        ordered = list(self.ranker.rank(self.request, query, self.called(), hits)) if len(hits) > 1 else hits
        if Counter(hit.id for hit in ordered) != Counter(hit.id for hit in hits):
            raise ValueError("other hits came back than were ranked")
        for hit, moved in zip(hits, moves, strict=True):
            hit.moved = _joined(moved, hit.moved)
        return ordered


def _joined(earlier: Moved | None, later: Moved | None) -> Moved | None:
    """Both changes of a place as one: from where the first began. What was brought has its votes once."""
    if earlier is None or later is None:
        return earlier or later
    told = {vote.name for vote in later.votes}
    votes = [*later.votes, *(vote for vote in earlier.votes if vote.name not in told)]
    return Moved(earlier.place, tuple(sorted(votes, key=lambda vote: -abs(vote.weight))))


def _among(brought: Sequence[Hit], shown: Sequence[Hit]) -> list[Hit]:
    ids = {hit.id for hit in brought}
    return [hit for hit in shown if hit.id in ids]


def _block(index: Index, id: str, kinds: Collection[BlockKind] | None) -> CodeBlock:
    block = index.get(id)
    if block is None or (kinds is not None and block.kind not in kinds):
        raise CodeNavError(f"block {id} is not in the index, or not wanted", hint="search again")
    return block


def _is_there(hit: Hit) -> bool:
    """True if its block can be had. It is loaded, and kept."""
    try:
        return bool(hit.block)
    except CodeNavError:
        return False
