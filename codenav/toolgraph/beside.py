"""The tool graphs of several sources together: the ranker that they make, and the episodes that teach them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from codenav.core.errors import CodeNavError, UsageError
from codenav.core.protocols import Ranker
from codenav.core.traces import Trace
from codenav.environments.ranking import Ranking
from codenav.retrieval import requests
from codenav.retrieval.source_index import SourceIndex
from codenav.retrieval.stems import stems
from codenav.toolgraph.callables import links_of
from codenav.toolgraph.folders import GraphFolder, Learnt, every_folder
from codenav.toolgraph.gate import LEAST_CASES, Gate, measure
from codenav.toolgraph.graph import ToolGraph
from codenav.toolgraph.learning import EPISODES, forget, learn
from codenav.toolgraph.memory import Memory
from codenav.toolgraph.ranker import SHIPPED, GraphRanker

GROWTH = 1.25
"""The growth of the number of requests after which votes are measured again: of some hundred, that takes seconds."""
MATCHES = 100
"""The matches of a request that are judged, as many as a search ranks."""


class Graphs:
    """The tool graphs beside the indexes of some sources."""

    def __init__(self, indexes: Sequence[SourceIndex], *, tell: Callable[[str], None] = lambda text: None) -> None:
        """`tell` gets what cannot be read or written, once each."""
        self._tell = tell
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
        return Ranking(ranker, request=request, called=called, tell=self.tell) if ranker else None

    def ranker(self) -> Ranker | None:
        """The ranker of the graphs as they are now; None if there is no graph that can be read."""
        state = [folder.state for _, folder in self._folders]
        if state != self._state:
            self._state = state
            self._ranker = None
            try:
                self._ranker = self._read()
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

    def _read(self) -> Ranker | None:
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
        return usual_ranker(merge(found), names) if found else None

    def tell(self, text: str) -> None:
        """Tell a person what cannot be read or written, once."""
        if text not in self._told:
            self._told.add(text)
            self._tell(text)


def usual_ranker(learnt: Learnt, names: Mapping[str, str]) -> GraphRanker:
    """The ranker that sessions and searches have: the votes of the graph, and of the traces with a request.

    `names`: ids of nodes, as by `traces.callable_name`, by the ids of the blocks that define them.
    """
    memory = Memory(learnt.traces.values(), stems)
    return GraphRanker(learnt.graph, names=names, memory=memory, gate=learnt.gate, free=requests.describes)


def merge(several: Sequence[Learnt]) -> Learnt:
    """Several graphs as one. A trace that taught several of them counts once. They are not to be used afterwards."""
    first, *others = several
    for other in others:
        for key in first.traces.keys() & other.traces.keys():
            other.forget(key)
        first.graph.merge(other.graph)
        first.traces |= other.traces
        first.gate = first.gate.stricter(other.gate)
    # Those of files first, then episodes, oldest first.
    first.traces = dict(sorted(first.traces.items(), key=lambda item: (item[1].origin == EPISODES, item[1].id)))
    return first


def measure_votes(learnt: Learnt, index: SourceIndex, names: Mapping[str, str]) -> None:
    """Measure which votes help on what was learnt, if that has grown enough since it was last measured.

    Raises:
        IndexUnavailable: the index cannot be read.
    """
    traces = [trace for trace in learnt.traces.values() if trace.verified and trace.request.strip()]
    if len(traces) < LEAST_CASES:
        # What was measured on traces that are forgotten is forgotten, too.
        learnt.gate, learnt.measured = Gate(), 0
        return
    if learnt.measured <= len(traces) < GROWTH * learnt.measured:
        return
    # Without the traces it is what code, specifications and people know.
    base = learnt.graph.copy()
    for trace in learnt.traces.values():
        forget(base, trace)
    learnt.gate = measure(traces, partial(_scores, index, names), partial(_taught, base), stems, SHIPPED)
    learnt.measured = len(traces)


def _scores(index: SourceIndex, names: Mapping[str, str], request: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for hit in requests.search(index, request, limit=MATCHES):
        if hit.id in names:
            found.setdefault(names[hit.id], hit.score)
    return found


def _taught(base: ToolGraph, traces: Sequence[Trace]) -> ToolGraph:
    graph = base.copy()
    for trace in traces:
        learn(graph, trace)
    return graph


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
