"""The order of hits by rankers, with what they bring: the one place that joins them, and where they may fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

from codenav.core.blocks import BlockKind, CodeBlock, Hit, Moved, SearchResult, Vote
from codenav.core.errors import Cancelled, CodeNavError, RankingFailed
from codenav.core.protocols import Bringing, Index, Ranker

MATCHES = 100
"""Matches that are ordered again (CodeNav paper, section 3.4: M = 100)."""
BROUGHT = "episodes"
"""The `why` of a hit that no word found, unless its ranker has another one."""


class Ranking:
    """Rankers in a row, with what they go by besides the query. Each orders what the one before left."""

    def __init__(
        self,
        *rankers: Ranker,
        request: str = "",
        called: Callable[[], Sequence[str]] = tuple,
        tell: Callable[[str], None] = lambda text: None,
        rewrite: Callable[[str], str] = str,
    ) -> None:
        """`request`: the one that the search is for; empty if there is none. `rewrite` writes it anew for rankers.

        `called`: the names of the callables that the episode has called so far, as by `traces.callable_name`, in order.
        `tell` gets what went wrong.
        """
        self.rankers, self.request, self.called = rankers, request, called
        self._tell, self._rewrite = tell, rewrite

    def ranked(
        self,
        found: SearchResult,
        index: Index,
        *,
        shown: int,
        seen: Collection[str] = (),
        kinds: Collection[BlockKind] | None = None,
    ) -> SearchResult:
        """The matches in the rankers' order, with those that they bring. One that fails is left out.

        Args:
            index: what was searched; only its blocks are brought.
            shown: the first hits that are wanted. Of what is brought, only these are loaded.
            seen: ids of blocks that are not to be brought.
            kinds: the kinds that are wanted, as in the search.

        Raises:
            RankingFailed: a ranker failed, and that is to end the work.
            Cancelled: the work was cancelled meanwhile.
        """

        def load(id: str) -> CodeBlock:
            block = index.get(id)
            if block is None or (kinds is not None and block.kind not in kinds):
                raise CodeNavError(f"block {id} is not in the index, or not wanted", hint="search again")
            return block

        scores, faults = [hit.score for hit in found.hits], dict[str, None]()
        ordered, total = self._ordered(found, load, seen, faults, checked=False)
        known = {hit.id for hit in found.hits}
        if not all(_is_there(hit) for hit in ordered[:shown] if hit.id not in known):
            for hit, score in zip(found.hits, scores, strict=True):
                hit.score = score
            ordered, total = self._ordered(found, load, seen, faults, checked=True)
        for fault in faults:
            self._tell(f"the search is not ranked: {fault}")
        return replace(found, hits=ordered, total=total)

    def _ordered(
        self,
        found: SearchResult,
        load: Callable[[str], CodeBlock],
        seen: Collection[str],
        faults: dict[str, None],
        *,
        checked: bool,
    ) -> tuple[list[Hit], int]:
        """The hits in order, and how many there are with what was brought; `checked`: only blocks that can be had.

        What goes wrong with a ranker is added to `faults`.
        """
        request, total = self._rewrite(self.request), found.total
        hits, votes = list(found.hits), dict[str, dict[str, Vote]]()
        for ranker in self.rankers:
            hits = hits[: max(MATCHES, len(found.hits))]
            scores = [hit.score for hit in hits]
            try:
                called, brought = self.called(), list[Hit]()
                if isinstance(ranker, Bringing):
                    known = {*seen, *(hit.id for hit in hits)}
                    for id, each in ranker.brings(request, found.query, called, known).items():
                        why = getattr(ranker, "why", BROUGHT)
                        brought.append(Hit(id, score=0.0, why=why, load=partial(load, id)))
                        votes[id] = {vote.name: vote for vote in each}
                brought = [hit for hit in brought if not checked or _is_there(hit)]
                ordered = _by(ranker, request, found.query, called, [*hits, *brought])
            except (Cancelled, RankingFailed):
                raise
            except Exception as error:
                faults[str(error)] = None
                for hit, score in zip(hits, scores, strict=True):
                    hit.score = score
                continue
            hits, total = ordered, total + len(brought)
            for hit in hits:
                new = {vote.name: vote for vote in (hit.moved.votes if hit.moved else ())}
                # Those of the last ranker first, each name once.
                votes[hit.id] = {**new, **votes.get(hit.id, {}), **new}
        places = {hit.id: place for place, hit in enumerate(found.hits, 1)}
        for now, hit in enumerate(hits, 1):
            place = places.get(hit.id, 0)
            hit.moved = None if place == now else Moved(place, tuple(votes.get(hit.id, {}).values()))
        return hits, total


def _by(ranker: Ranker, request: str, query: str, called: Sequence[str], hits: Sequence[Hit]) -> list[Hit]:
    """The hits as a ranker orders them.

    Raises:
        ValueError: it returned others.
    """
    for hit in hits:
        hit.moved = None
    ordered = list(ranker.rank(request, query, called, hits)) if len(hits) > 1 else list(hits)
    if Counter(hit.id for hit in ordered) != Counter(hit.id for hit in hits):
        raise ValueError("other hits came back than were ranked")
    return ordered


def _is_there(hit: Hit) -> bool:
    """True if the block of a hit can be had. It is loaded, and kept."""
    try:
        return bool(hit.block)
    except CodeNavError:
        return False
