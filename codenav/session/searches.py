"""The searches of a session: its indexes as one, and the graphs and services that order what they find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from codenav.core.actions import Step
from codenav.core.blocks import SearchResult
from codenav.core.protocols import Index
from codenav.core.system.closing import Closing
from codenav.core.tool_selection import ToolSelection
from codenav.environments.offers import Offering
from codenav.environments.ranking import Ranking
from codenav.navigation.offers import KINDS, Offers
from codenav.retrieval import requests
from codenav.retrieval.source_index import SourceIndex, as_index
from codenav.session.episode import Episode
from codenav.session.services import Services, turns_of
from codenav.toolgraph.beside import Graphs
from codenav.toolgraph.episodes import Following
from codenav.toolgraph.scope import limit_index


class Searches(Closing):
    """The indexes of a session with what orders hits, joined anew for each of its requests."""

    def __init__(
        self,
        indexes: Sequence[SourceIndex],
        selection: ToolSelection,
        *,
        base_url: str,
        tell: Callable[[str], None],
    ) -> None:
        """Raises as `Services`. Without `selection.rerank` hits keep the index's order, and episodes teach nothing."""
        self._indexes = indexes
        self._graphs = Graphs(indexes, tell=tell) if selection.rerank else None
        chosen = selection if selection.rerank else ToolSelection()
        self._services = Services(chosen, base_url=base_url, tell=tell)
        self._services.search_in(indexes)
        self.index: Index = as_index(indexes)
        """The index that is searched."""

    def limit(self, tools: Sequence[str], tell: Callable[[str], None]) -> None:
        """Let searches find only these tools. Raises, and tells, as `within.limit_index`."""
        self.index = limit_index(self.index, self._indexes, tools, tell=tell)

    def following(self, earlier: Sequence[Step], mask: Callable[[Any], Any]) -> Following | None:
        """Return the listener that lets an episode teach the graphs, after steps that ran before in its sandbox."""
        return Following(self._graphs, as_index(self._indexes), earlier=earlier, mask=mask) if self._graphs else None

    def ranking(self, request: str, following: Following | None, before: Sequence[Episode]) -> Ranking | None:
        """Return what orders the hits of an episode that is followed, after others in its session."""
        ranking = self._graphs.ranking(request, following.called) if self._graphs and following else None
        return self._services.ranking(ranking, request, turns_of(before))

    def offering(self) -> Offering:
        """Return the searches for callables, which small models are shown."""

        def find(words: str, limit: int) -> SearchResult:
            return requests.search(self.index, words, kinds=KINDS, limit=limit)

        return Offering(find, Offers(self.index).of)

    def close(self) -> None:
        """Release the connections of the services. Safe to call twice."""
        self._services.close()
