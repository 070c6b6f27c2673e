"""The ranker of an index, and the measure of its votes on what the index learnt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import codenav
from codenav.core.blocks import CodeBlock, Hit, SearchResult
from codenav.core.traces import Trace, TracedCall
from codenav.retrieval.source_index import SourceIndex
from codenav.toolgraph.beside import Graphs, measure_votes
from codenav.toolgraph.callables import links_of
from codenav.toolgraph.folders import GraphFolder, Learnt
from codenav.toolgraph.gate import LEAST_CASES, Gate

FRUIT = ("apple", "pear", "plum", "cherry", "quince", "grape", "fig", "lemon", "melon", "peach")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SourceIndex]:
    functions = [f'def pick_{name}(tree):\n    """Take the {name} from a tree."""\n    return tree\n' for name in FRUIT]
    (tmp_path / "garden.py").write_text("\n\n".join([*functions, "def wash(fruit):\n    return fruit\n"]))
    with codenav.index(tmp_path) as opened:
        yield opened


def traces(number: int, *, then: str = "wash") -> list[Trace]:
    found = []
    for n in range(number):
        name = FRUIT[n % len(FRUIT)]
        calls = (TracedCall(f"garden.pick_{name}"), TracedCall(f"garden.{then}"))
        found.append(
            Trace(f"e{n}", calls, f"Give me {name} number {n} from the garden", origin="episodes", ended=1e9 + n)
        )
    return found


def test_votes_are_measured_from_some_requests_on_and_again_when_they_have_grown(index: SourceIndex) -> None:
    learnt, names = Learnt(), links_of(index, GraphFolder.of(index.source).path)
    for trace in traces(LEAST_CASES - 1):
        learnt.learn(trace)
    measure_votes(learnt, index, names)
    assert learnt.measured == 0
    learnt.learn(traces(LEAST_CASES)[-1])
    measure_votes(learnt, index, names)
    assert learnt.measured == learnt.gate.cases == LEAST_CASES
    for trace in traces(LEAST_CASES + 1):
        learnt.learn(trace)
    measure_votes(learnt, index, names)
    assert learnt.measured == LEAST_CASES
    for trace in traces(LEAST_CASES + 10):
        learnt.learn(trace)
    before = learnt.graph.edges.copy()
    measure_votes(learnt, index, names)
    assert learnt.measured == LEAST_CASES + 10
    assert learnt.graph.edges == before, "measuring changes no count"
    for key in list(learnt.traces)[LEAST_CASES - 1 :]:
        learnt.forget(key)
    measure_votes(learnt, index, names)
    assert (learnt.measured, learnt.gate) == (0, Gate())


def test_what_was_measured_is_kept_with_the_graph(index: SourceIndex) -> None:
    graphs = Graphs([index])
    for trace in traces(LEAST_CASES):
        graphs.learn(trace)
    learnt = GraphFolder.of(index.source).read()
    assert learnt.measured == LEAST_CASES and learnt.gate.cases == LEAST_CASES


def test_the_call_before_brings_up_what_follows_it(index: SourceIndex) -> None:
    graphs = Graphs([index])
    for trace in traces(8):
        graphs.learn(trace)
    ranking = graphs.ranking("What now, with this pear?", lambda: ("garden.pick_pear",))
    assert ranking
    found = index.search("pick apple pear plum cherry fruit wash", limit=100)
    before = [hit.name for hit in found].index("wash")
    ranked = ranking.ranked(found, index, shown=100)
    assert [hit.name for hit in ranked].index("wash") < before
    moved = next(hit.moved for hit in ranked if hit.name == "wash")
    assert moved and any("after garden.pick_pear" in vote.because or "episode" in vote.because for vote in moved.votes)


def test_no_graph_is_no_ranking(index: SourceIndex) -> None:
    assert Graphs([index]).ranking("What now?") is None


def test_a_trace_of_another_source_teaches_nothing(index: SourceIndex) -> None:
    graphs = Graphs([index])
    graphs.learn(Trace("e", (TracedCall("numpy.mean"),), "The mean", origin="episodes"))
    assert not GraphFolder.of(index.source).file.exists()


def unloaded() -> CodeBlock:
    raise AssertionError("the text of a hit was loaded")


def test_ranking_loads_no_text_and_writes_nothing(index: SourceIndex, codenav_home: Path) -> None:
    graphs = Graphs([index])
    for trace in traces(8):
        graphs.learn(trace)
    ranking = graphs.ranking("Give me a plum from the garden", lambda: ("garden.pick_pear",))
    assert ranking
    found = index.search("garden tree", limit=100).hits
    hits = [
        Hit(hit.id, kind=hit.kind, path=hit.path, score=20.0 - place, why="", load=unloaded)
        for place, hit in enumerate(found)
    ]
    before = {path: path.stat().st_mtime_ns for path in codenav_home.rglob("*")}
    ranked = ranking.ranked(SearchResult("garden", hits, len(hits)), index, shown=0)
    assert [hit.id for hit in ranked] != [hit.id for hit in hits] and any(hit.moved for hit in ranked)
    assert {path: path.stat().st_mtime_ns for path in codenav_home.rglob("*")} == before


def test_several_sources_are_ranked_together(index: SourceIndex, tmp_path: Path) -> None:
    other = tmp_path / "kitchen"
    other.mkdir()
    (other / "kitchen.py").write_text('def bake(fruit):\n    """Bake a cake of the fruit."""\n    return fruit\n')
    with codenav.index(other) as kitchen:
        graphs = Graphs([index, kitchen])
        calls = (TracedCall("garden.pick_plum"), TracedCall("kitchen.bake"))
        for n in range(3):
            graphs.learn(Trace(f"e{n}", calls, "Bake a plum cake", origin="episodes", ended=1e9))
        ranking = graphs.ranking("A plum cake, please", lambda: ("garden.pick_plum",))
        assert ranking
        found = SearchResult("tree fruit", [*index.search("tree fruit", limit=100), *kitchen.search("fruit")])
        assert next(hit.name for hit in ranking.ranked(found, kitchen, shown=1)) == "bake"
        assert (graphs.ranker(),) == ranking.rankers, "what did not change is not read again"
