"""The tool graphs of several sources together: the ranker that they make, and the episodes that teach them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from codenav.core.errors import CodeNavError, UsageError
from codenav.core.protocols import Ranker
from codenav.core.traces import Trace
from codenav.environments.ranking import Ranking
from codenav.retrieval.source_index import SourceIndex
from codenav.toolgraph.folders import GraphFolder, Known, Learnt, every_folder
from codenav.toolgraph.gate import Gate
from codenav.toolgraph.links import links_of
from codenav.toolgraph.rankers import measure_votes, usual_ranker

EPISODES = "episodes"
"""The origin of the traces of episodes."""


MakeRanker = Callable[[Known], Ranker]


class Graphs:
    """The tool graphs beside the indexes of some sources."""

    def __init__(
        self,
        indexes: Sequence[SourceIndex],
        make: MakeRanker = usual_ranker,
        *,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`make` makes a ranker of what is known. `tell` gets what cannot be read or written, once each."""
        self._make, self._tell = make, tell
        self._told: set[str] = set()
        self._folders: list[tuple[SourceIndex, GraphFolder]] = []
        try:
            self._folders = [(index, GraphFolder.of(index.source)) for index in indexes]
        except CodeNavError as error:
            self.tell(f"searches are not ranked: {error}")
        self._state: object = None
        self._ranker: Ranker | None = None

    def ranking(self, request: str = "", called: Callable[[], Sequence[str]] = tuple) -> Ranking | None:
        """The ranking for a search on these sources; None if there is no graph that can be read."""
        ranker = self.ranker()
        return Ranking(ranker, request, called, self.tell) if ranker else None

    def ranker(self) -> Ranker | None:
        """The ranker of the graphs as they are now; None if there is no graph that can be read."""
        state = [folder.state for _, folder in self._folders]
        if state != self._state:
            self._state = state
            self._ranker = None
            try:
                known = self._known()
                if known is not None:
                    self._ranker = self._make(known)
            except CodeNavError as error:
                self.tell(f"searches are not ranked: {error}")
        return self._ranker

    def learn(self, trace: Trace) -> None:
        """Teach each graph an episode that calls something of its source."""
        called = {call.name for call in trace.calls}
        for index, folder in self._folders:
            try:
                names = links_of(index, folder.path)
                if called.isdisjoint(names.values()):
                    continue
                with folder.changing() as learnt:
                    if learnt.learn(trace):
                        measure_votes(learnt, index, names)
            except CodeNavError as error:
                self.tell(f"the episode teaches {index.source.name} nothing: {error}")

    def _known(self) -> Known | None:
        found: list[Learnt] = []
        names: dict[str, str] = {}
        for index, folder in self._folders:
            try:
                learnt = folder.read()
                if learnt.graph.nodes:
                    names |= links_of(index, folder.path)
                    found.append(learnt)
            except CodeNavError as error:
                self.tell(f"searches of {index.source.name} are not ranked: {error}; {error.hint}")
        together = joined(found)
        return Known(together.graph, names, tuple(together.traces.values()), together.gate) if found else None

    def tell(self, text: str) -> None:
        """Tell a person what cannot be read or written, once."""
        if text not in self._told:
            self._told.add(text)
            self._tell(text)


def joined(several: Sequence[Learnt]) -> Learnt:
    """Several graphs as one. A trace that taught several of them counts once. They are not to be used afterwards."""
    if not several:
        return Learnt()
    first, *others = several
    for other in others:
        for key in first.traces.keys() & other.traces.keys():
            other.forget(key)
        first.graph.merge(other.graph)
        first.traces |= other.traces
        first.gate = _both(first.gate, other.gate)
    first.traces = dict(sorted(first.traces.items(), key=_oldest_first))
    return first


def _both(one: Gate, other: Gate) -> Gate:
    """The votes that help in both."""
    if not (one.cases or other.cases):
        return one
    return Gate(
        _least(one.of_requests, other.of_requests), _least(one.steps, other.steps), cases=one.cases + other.cases
    )


def _least(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: min(one.get(name, 1.0), other.get(name, 1.0)) for name in {**one, **other}}


def _oldest_first(item: tuple[str, Trace]) -> tuple[bool, str]:
    return item[1].origin == EPISODES, item[1].id


def forget_episodes(ids: Iterable[str]) -> None:
    """Take episodes out of every graph that they taught.

    Raises:
        StorageFull: a graph cannot be written.
    """
    gone = {f"{EPISODES}:{id}" for id in ids}
    for folder in every_folder():
        try:
            if gone.isdisjoint(folder.read().traces):
                continue
        except UsageError:
            # What cannot be read ranks nothing either.
            continue
        with folder.changing() as learnt:
            for key in gone:
                learnt.forget(key)
