"""The ranker of a session, and the votes in it that help on an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from codenav.core.traces import Trace
from codenav.retrieval import requests
from codenav.retrieval.planning import understood
from codenav.retrieval.source_index import SourceIndex
from codenav.retrieval.stems import stems
from codenav.toolgraph.folders import Known, Learnt
from codenav.toolgraph.gate import LEAST_CASES, Gate, measure
from codenav.toolgraph.graph import ToolGraph
from codenav.toolgraph.learning import forget, learn
from codenav.toolgraph.memory import Memory
from codenav.toolgraph.ranker import SHIPPED, GraphRanker
from codenav.toolgraph.storage import document_of, graph_of

GROWTH = 1.25
"""The growth of the number of requests after which votes are measured again: of some hundred, that takes seconds."""
MATCHES = 100
"""The matches of a request that are judged, as many as a search ranks."""


def usual_ranker(known: Known) -> GraphRanker:
    """The ranker that sessions and searches have: the votes of the graph, and of the traces with a request."""
    memory = Memory(known.traces, stems)
    return GraphRanker(known.graph, names=known.names, memory=memory, gate=known.gate, free=_free)


def _free(request: str, query: str) -> bool:
    """True if hits may come to those of a query: it is the request, or plain words that describe something."""
    if query == requests.as_words(request):
        return True
    asked = understood(query)
    return asked.read.plain and asked.described


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
    base = graph_of(document_of(learnt.graph))
    for trace in learnt.traces.values():
        forget(base, trace)
    learnt.gate = measure(traces, partial(_scores, index, names), partial(_taught, document_of(base)), stems, SHIPPED)
    learnt.measured = len(traces)


def _scores(index: SourceIndex, names: Mapping[str, str], request: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for hit in requests.search(index, request, limit=MATCHES):
        if hit.id in names:
            found.setdefault(names[hit.id], hit.score)
    return found


def _taught(base: Mapping[str, object], traces: Sequence[Trace]) -> ToolGraph:
    graph = graph_of(base)
    for trace in traces:
        learn(graph, trace)
    return graph
