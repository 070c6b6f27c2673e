"""The environment of `search` actions for small models: shows callables ready to be called, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from codenav.core.actions import Action, Offer, Search, SearchObservation
from codenav.core.blocks import CodeBlock, SearchResult
from codenav.core.errors import QueryTooLarge
from codenav.core.protocols import Index
from codenav.environments.ranking import MATCHES, Ranking

NOTHING = "Nothing was found. Other words may find something."


@dataclass(frozen=True)
class Offering:
    """The parts of a search for callables."""

    find: Callable[[str, int], SearchResult]
    """Finds the blocks for plain words, at most that many."""
    offer: Callable[[Sequence[CodeBlock], str], Sequence[Offer]]
    """Makes the offers of blocks for a request, best first, as many as a small model is shown."""


class OfferEnvironment:
    """The environment of `search` actions that hold plain words. What it showed once is not shown again."""

    action: type[Action] = Search

    def __init__(self, index: Index, offering: Offering, *, ranking: Ranking | None = None) -> None:
        self._index, self._offering, self._ranking = index, offering, ranking
        self._seen: set[str] = set()

    def facts(self) -> Mapping[str, str]:
        """No facts: a small model is told nothing about searches but that there are some."""
        return {}

    def respond(self, action: Action, *, timeout: float | None = None) -> SearchObservation:
        """Find the callables for the words of the action; the same words again find the next ones."""
        words = " ".join(action.content.split())
        try:
            found = self._offering.find(words, MATCHES + len(self._seen))
        except QueryTooLarge as error:
            return SearchObservation(f"{error}; {error.hint}")
        found = replace(found, query=words, hits=[hit for hit in found if hit.id not in self._seen])
        if self._ranking:
            found = self._ranking.ranked(found, self._index, shown=MATCHES, seen=self._seen)
        offers = self._offering.offer([hit.block for hit in found], words)
        names = {offer.block_id for offer in offers}
        last = max((place for place, hit in enumerate(found) if hit.id in names), default=-1)
        passed = found.hits[: last + 1]
        self._seen.update(hit.id for hit in passed)
        shown = replace(found, hits=[hit for hit in passed if hit.id in names])
        return SearchObservation("\n".join(map(str, offers)) or NOTHING, results=[shown], offers=offers)
