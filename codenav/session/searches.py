"""The searches of a session: its indexes as one, and the graphs and services that order what they find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from codenav.core.actions import Step
from codenav.core.blocks import SearchResult
from codenav.core.protocols import Agent, Index
from codenav.core.system.closing import Closing
from codenav.core.tool_selection import ToolSelection
from codenav.environments.offers import Offering
from codenav.environments.ranking import Ranking
from codenav.navigation.description import description_of
from codenav.navigation.offers import KINDS, Offers
from codenav.retrieval import requests
from codenav.retrieval.source_index import SourceIndex, as_index
from codenav.session.episode import Episode
from codenav.session.questions import Questions
from codenav.session.services import Services, turns_of
from codenav.session.source_choice import ChoosingAgent, Sources
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
        self._indexes, self._tell = indexes, tell
        self._graphs = Graphs(indexes, tell=tell) if selection.rerank else None
        chosen = selection if selection.rerank else ToolSelection()
        self._services = Services(chosen, base_url=base_url, tell=tell)
        self._services.search_in(indexes)
        self.index: Index = as_index(indexes)
        """The index that is searched."""
        described = {index.source.name: description_of(index) for index in indexes} if len(indexes) > 1 else {}
        self._sources = Sources(described) if len(described) > 1 else None

    def limit(self, tools: Sequence[str], tell: Callable[[str], None]) -> None:
        """Let searches find only these tools. Raises, and tells, as `within.limit_index`."""
        self.index = limit_index(self.index, self._indexes, tools, tell=tell)

    def following(self, earlier: Sequence[Step], mask: Callable[[Any], Any]) -> Following | None:
        """Return the listener that lets an episode teach the graphs, after steps that ran before in its sandbox."""
        return Following(self._graphs, as_index(self._indexes), earlier=earlier, mask=mask) if self._graphs else None

    def ranking(self, request: str, following: Following | None, before: Sequence[Episode]) -> Ranking | None:
        """Return what orders the hits of an episode that is followed, after others in its session."""
        ranking = self._graphs.ranking(request, following.called) if self._graphs and following else None
        whole = self._services.ranking(ranking, request, turns_of(before))
        if self._sources:
            whole = whole or Ranking(request=request)
            whole.rankers += (self._sources,)
        return whole

    def choosing(self, agent: Agent, questions: Questions) -> Agent:
        """Return an agent that first finds out which of several sources its request is about."""
        return ChoosingAgent(agent, self._sources, questions, tell=self._tell) if self._sources else agent

    def offering(self) -> Offering:
        """Return the searches for callables, which small models are shown."""

        def find(words: str, limit: int) -> SearchResult:
            return requests.search(self.index, words, kinds=KINDS, limit=limit)

        return Offering(find, Offers(self.index).of)

    def close(self) -> None:
        """Release the connections of the services. Safe to call twice."""
        self._services.close()
