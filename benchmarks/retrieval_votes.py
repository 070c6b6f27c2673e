"""The rows of the benchmark of retrieval for what a tool graph and remembered episodes teach, with their ablations.

The first stage of all of them is codenav's own search of a real index; what they learn they learn from the requests of
`split.train`, as traces. The gate measures on these alone. A rival's weights are chosen on these alone, too, out of
fold, among the same numbers for each.
"""

from __future__ import annotations

import weakref
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import retrieval_rows
from retrieval_measures import Found, bar
from retrieval_rows import LIMIT, Ranking, Row
from retrieval_sets import Case, Request, Split

from codenav.core.blocks import BlockKind, Hit
from codenav.core.protocols import Ranker
from codenav.core.traces import Trace, TracedCall
from codenav.environments.ranking import Ranking as ProductRanking
from codenav.retrieval.stems import stems
from codenav.toolgraph import gate as gates
from codenav.toolgraph.beside import usual_ranker
from codenav.toolgraph.folders import Learnt, key_of
from codenav.toolgraph.gate import Gate
from codenav.toolgraph.graph import ToolGraph
from codenav.toolgraph.learning import learn
from codenav.toolgraph.memory import Memory
from codenav.toolgraph.ranker import ALONE, SHIPPED, GraphRanker
from codenav.toolgraph.votes import Shipped

FIRST = "first stage"
KNN, TRANSITIONS, STEPS = "memory alone (kNN)", "transitions", "memory of next steps"
OURS, NEXT = "codenav: hits ordered by episodes", "codenav: what to call next"
NEAREST_NEXT = "memory, next"
PRODUCT = "codenav: the search as it is"
LAMBDAS = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6)
"""The weights that rivals may have (research on tool graphs, section 3)."""
NEAREST, POWER = 20, 4
"""The neighbours of the rival and the power of their similarity, as there."""
SHOWN = 13
"""Hits of a search that are loaded."""
SEEN_COST = 0.6
"""What a tool loses that was called already, with all rivals as with codenav."""
WORSE = 1.0
"""Points by which a set may be lower."""
NEXT_SETS = ("traject_seq", "bfcl_mt_turn", "restbench_tmdb")

_searched: dict[tuple[str, str], Mapping[str, float]] = {}
_built: weakref.WeakKeyDictionary[Split, dict[str, object]] = weakref.WeakKeyDictionary()


def first_stage(split: Split, query: str) -> Mapping[str, float]:
    """The scores of tools in codenav's search for a request, the best 1, in order."""
    found = _searched.get((split.name, query))
    if found is None:
        _, places = retrieval_rows.index_of(split)
        answered = retrieval_rows.kept_of(split).answering(query)
        scores = {split.tools[places[hit.qualname]].id: hit.score for hit in answered}
        found = _searched[split.name, query] = gates.scale(scores)
    return found


def trace(request: Request) -> Trace:
    """A request as a verified episode."""
    calls = tuple(map(TracedCall, request.path or request.gold))
    return Trace(request.id, calls, request.query, ordered=request.ordered, origin="traces")


def teach(traces: Sequence[Trace]) -> ToolGraph:
    """The graph of some traces."""
    graph = ToolGraph()
    for each in traces:
        learn(graph, each)
    return graph


def taught(split: Split, what: str, make: Callable[[Sequence[Trace]], object]) -> object:
    """Something that the requests of a split teach, made once."""
    kept = _built.setdefault(split, {})
    if what not in kept:
        kept[what] = make([trace(request) for request in split.train])
    return kept[what]


def gate(split: Split, weights: Shipped) -> Gate:
    """The gate of what a split teaches."""
    made = taught(
        split,
        f"gate {weights}",
        lambda traces: gates.measure(traces, lambda query: first_stage(split, query), teach, stems, weights),
    )
    assert isinstance(made, Gate)
    return made


def hits(scores: Mapping[str, float]) -> list[Hit]:
    """The hits of a search, as a ranker gets them."""

    def load() -> object:
        raise AssertionError("a text was loaded")

    return [Hit(id, kind=BlockKind.TOOL, path="", score=score, why="", load=load) for id, score in scores.items()]


def ranker(split: Split, weights: Shipped, *, gated: bool, even: bool = False) -> GraphRanker:
    """The ranker of what a split teaches. `even`: all edges weigh the same."""
    graph = taught(split, "graph", teach)
    memory = taught(split, "memory", lambda traces: Memory(traces, stems))
    assert isinstance(graph, ToolGraph)
    assert isinstance(memory, Memory)
    names = {tool.id: tool.id for tool in split.tools}
    opened = gate(split, weights) if gated else Gate(cases=1)
    if even:
        graph = graph.copy()
        for edge in graph.edges.values():
            edge.count = 1
    return GraphRanker(graph, names=names, memory=memory, gate=opened, weights=weights)


def ranking(weights: Shipped = SHIPPED, *, gated: bool = True, even: bool = False) -> retrieval_rows.Rank:
    """A row: the hits of the first stage in the order of codenav's ranker with these weights."""

    def rank(split: Split, cases: Sequence[Case]) -> list[Ranking]:
        used = ranker(split, weights, gated=gated, even=even)
        found = []
        for case in cases:
            query = case.request.query
            ordered = used.rank(query, query, (), hits(first_stage(split, query)))
            found.append([split.rows[hit.id] for hit in ordered])
        return found

    return rank


def following(weights: Shipped = SHIPPED, *, gated: bool = True, even: bool = False) -> retrieval_rows.Rank:
    """A row: what codenav's ranker with these weights suggests to call next."""

    def rank(split: Split, cases: Sequence[Case]) -> list[Ranking]:
        used = ranker(split, weights, gated=gated, even=even)
        found = []
        for case in cases:
            query = case.request.query
            suggested = used.next(query, case.calls, first_stage(split, query), limit=LIMIT)
            found.append([split.rows[one.name] for one in suggested])
        return found

    return rank


def searched(split: Split, cases: Sequence[Case], before: Ranker | None = None) -> list[Ranking]:
    """A row: the search of the product for each request, after the calls so far, with what episodes bring.

    `before`: a ranker that orders the hits first.
    """
    index, places = retrieval_rows.index_of(split)
    names = {block.id: split.tools[places[block.qualname]].id for block in index.blocks() if block.qualname in places}
    graph = taught(split, "graph", teach)
    assert isinstance(graph, ToolGraph)
    traces = {key_of(one): one for one in map(trace, split.train)}
    used = usual_ranker(Learnt(graph, traces, gate(split, SHIPPED)), names)
    rankers = [*([before] if before else []), used]
    rankings = []
    for case in cases:
        asked = case.request.query
        found = retrieval_rows.kept_of(split).answering(asked)
        ranking = ProductRanking(*rankers, request=asked, called=lambda case=case: case.calls)
        rankings.append([split.rows[names[hit.id]] for hit in ranking.ranked(found, index, shown=SHOWN)])
    return rankings


def first(split: Split, cases: Sequence[Case]) -> list[Ranking]:
    """codenav's search alone."""
    return [[split.rows[id] for id in first_stage(split, case.request.query)] for case in cases]


# Rivals.

Values = Mapping[str, float]


class Nearest:
    """The rival of the research: votes of the nearest requests, and what followed in them."""

    def __init__(self, traces: Sequence[Trace]) -> None:
        self.memory = Memory(traces, stems)
        self.follows: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        self.steps: dict[str, list[tuple[int, str]]] = defaultdict(list)
        self.uses: dict[str, int] = defaultdict(int)
        for place, each in enumerate(self.memory.traces):
            names = [call.name for call in each.calls]
            for name in set(names):
                self.uses[name] += 1
            for last, name in pairwise(names if each.ordered else ()):
                self.follows[last][name] += 1
                self.steps[last].append((place, name))

    def usability(self) -> Values:
        """How often each tool was used: log(1 + calls), the most being 1."""
        top = np.log1p(max(self.uses.values(), default=1))
        return {name: float(np.log1p(count) / top) for name, count in self.uses.items()}

    def nearest(self, query: str) -> Values:
        """The share of the nearest requests that used each tool, by their similarity to the power 4."""
        near = self.memory.similar(query) if len(self.memory) else np.zeros(0)
        best = np.argsort(-near, kind="stable")[:NEAREST]
        whole = float((near[best] ** POWER).sum()) or 1.0
        found: dict[str, float] = defaultdict(float)
        for place in best.tolist():
            for name in self.memory.called[place]:
                found[name] += float(near[place]) ** POWER / whole
        return found

    def transitions(self, calls: Sequence[str]) -> Values:
        """How often each tool followed the last one, with one count for another that never did."""
        counts = self.follows.get(calls[-1], {}) if calls else {}
        return {name: count / (1 + sum(counts.values())) for name, count in counts.items()}

    def next_steps(self, query: str, calls: Sequence[str]) -> Values:
        """The same, each weighed by the similarity of its request to the power 4."""
        near = self.memory.similar(query) if len(self.memory) else np.zeros(0)
        found: dict[str, float] = defaultdict(float)
        for place, name in self.steps.get(calls[-1], ()) if calls else ():
            found[name] += float(near[place]) ** POWER
        whole = sum(found.values()) or 1.0
        return {name: value / whole for name, value in found.items()}


Features = Callable[[Nearest, str, Sequence[str]], Sequence[Values]]


def added(scores: Values, features: Sequence[Values], weights: Sequence[float], calls: Sequence[str]) -> list[str]:
    """Tools by their score with weighted features, best first."""
    totals = dict(scores)
    for feature, weight in zip(features, weights, strict=True):
        for name, value in feature.items() if weight else ():
            totals[name] = totals.get(name, 0.0) + weight * value
    for name in set(calls) & totals.keys():
        totals[name] -= SEEN_COST
    return sorted(totals, key=lambda name: (-totals[name], name))[:LIMIT]


def gained(ranked: Sequence[str], right: frozenset[str], step: bool) -> float:
    """The share of hits at the first place (steps), or the mean of Recall@5 and NDCG@5 (requests)."""
    if step:
        return float(bool(ranked) and ranked[0] in right)
    found = [1 / np.log2(place + 2) for place, name in enumerate(ranked[:5]) if name in right]
    best = sum(1 / np.log2(place + 2) for place in range(min(5, len(right))))
    return float((len(found) / len(right) + sum(found) / best) / 2)


def rival(features: Features, *, step: bool) -> retrieval_rows.Rank:
    """A row: the first stage plus features, with weights that were best on the training side, out of fold."""

    def rank(split: Split, cases: Sequence[Case]) -> list[Ranking]:
        known = Nearest([trace(request) for request in split.train])
        weights = chosen(split, features, step)
        found = []
        for case in cases:
            values = features(known, case.request.query, case.calls)
            scores = first_stage(split, case.request.query)
            found.append([split.rows[name] for name in added(scores, values, weights, case.calls)])
        return found

    return rank


def chosen(split: Split, features: Features, step: bool) -> list[float]:
    """Weights by coordinate ascent on the training side, the smallest within a standard error of the best."""
    samples: list[tuple[Values, Sequence[Values], Sequence[str], frozenset[str]]] = []
    known = Memory([trace(request) for request in split.train], stems)
    for rest, judged in gates.folds(known, unseen=False):
        nearest = Nearest(rest)
        for number, (each, called) in enumerate(judged):
            at = 1 + number % (len(called) - 1) if step and len(called) > 1 and each.ordered else 0
            if step and not at:
                continue
            right = frozenset(called[at : at + 1] if step else called)
            calls = called[:at]
            samples.append((first_stage(split, each.request), features(nearest, each.request, calls), calls, right))
    weights = [0.0] * (len(samples[0][1]) if samples else 0)
    for _ in range(2):
        for place in range(len(weights)):
            tried = []
            for value in LAMBDAS:
                used = [*weights[:place], value, *weights[place + 1 :]]
                gains = [
                    gained(added(scores, values, used, calls), right, step) for scores, values, calls, right in samples
                ]
                tried.append((float(np.mean(gains)), float(np.std(gains) / len(gains) ** 0.5), value))
            best, error, _ = max(tried)
            weights[place] = min(value for mean, _, value in tried if mean >= best - error)
    return weights


def only(shipped: Shipped, **weights: float) -> Shipped:
    """Weights with some of them changed, where they are not 0 or become so."""
    return Shipped(replace(shipped.requests, **weights), replace(shipped.steps, **weights))


NO_NODES = only(ALONE, usability=0.0)
WITH_GRAPH = Shipped(
    replace(ALONE.requests, episodes=SHIPPED.requests.episodes),
    replace(ALONE.steps, episodes=SHIPPED.steps.episodes, steps=SHIPPED.steps.steps),
)
"""All votes at once: what was left off is on."""


def rows() -> dict[str, Row]:
    """The rows of both tables."""
    found = {
        KNN: Row(rival(lambda known, query, calls: (known.nearest(query), known.usability()), step=False), True),
        OURS: Row(ranking(), True),
        PRODUCT: Row(searched, True),
        "codenav: no gate": Row(ranking(gated=False), True),
        "codenav: with the votes of the graph": Row(ranking(WITH_GRAPH), True),
        "codenav: no memory": Row(ranking(ALONE), True),
        "codenav: no memory, no edge weights": Row(ranking(ALONE, even=True), True),
        "codenav: no memory, no node weights": Row(ranking(NO_NODES), True),
        "codenav: no memory, none of both": Row(ranking(NO_NODES, even=True), True),
    }
    steps = {
        f"{FIRST}, next": rival(lambda known, query, calls: (), step=True),
        TRANSITIONS: rival(lambda known, query, calls: (known.transitions(calls),), step=True),
        NEAREST_NEXT: rival(lambda known, query, calls: (known.nearest(query),), step=True),
        STEPS: rival(lambda known, query, calls: (known.next_steps(query, calls),), step=True),
        NEXT: following(),
        f"{PRODUCT}, next": searched,
        "codenav: next, no gate": following(gated=False),
        "codenav: next, with the votes of the graph": following(WITH_GRAPH),
        "codenav: next, no memory": following(ALONE),
        "codenav: next, no memory, no edge weights": following(ALONE, even=True),
        "codenav: next, no memory, no node weights": following(NO_NODES),
        "codenav: next, no memory, none of both": following(NO_NODES, even=True),
    }
    return {**found, **{label: Row(rank, True, True) for label, rank in steps.items()}}


ROWS = rows()


def bars(tables: Mapping[bool, Mapping[str, Mapping[str, Found]]]) -> list[str]:
    """The bars of what episodes teach, judged by unseen sets of tools, and of the tool that is called next."""
    told = []
    asked = {
        name: {row: one.of_unseen() for row, one in found.items()}
        for name, found in tables[False].items()
        if KNN in found and any(found[KNN].unseen)
    }
    apart = {
        name: found[PRODUCT].mean("ndcg@5") - found[KNN].mean("ndcg@5")
        for name, found in asked.items()
        if PRODUCT in found
    }
    if apart:
        mean, worst = float(np.mean([*apart.values()])), min(apart, key=lambda name: apart[name])
        met = mean >= 0 and apart[worst] >= -WORSE
        told.append(
            bar(met, "what episodes teach, unseen gold sets, NDCG@5", f"{PRODUCT}, against {KNN}, {mean:+.1f} on the"
            f" mean of {len(apart)} sets, not under 0; {worst} {apart[worst]:+.1f}, not under -{WORSE}")
        )  # fmt: skip
    rivals = (TRANSITIONS, NEAREST_NEXT, STEPS)
    steps = {name: found for name, found in tables[True].items() if name in NEXT_SETS and NEXT in found}
    steps = {name: found for name, found in steps.items() if all(one in found for one in rivals)}
    if steps:
        ours = {name: found[NEXT].mean("hit@1") for name, found in steps.items()}
        best = {name: max(found[one].mean("hit@1") for one in rivals) for name, found in steps.items()}
        worst = min(ours, key=lambda name: ours[name] - best[name])
        one = max(float(np.mean([found[one].mean("hit@1") for found in steps.values()])) for one in rivals)
        mean = float(np.mean([*ours.values()]))
        met = ours[worst] - best[worst] >= -WORSE and mean > one
        told.append(
            bar(met, "next tool hit@1", f"{worst} {ours[worst] - best[worst]:+.1f} from the best rival there, not under"
            f" -{WORSE}; mean of {len(ours)} sets {mean:.1f}, above the best rival's {one:.1f}")
        )  # fmt: skip
    return told
