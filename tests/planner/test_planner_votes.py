"""The planner asks what is known of calls: what follows what was called, and what gives what a parameter takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import codenav
from codenav.graphs.folders import GraphFolder
from codenav.planner import PlannerAgent
from codenav.protocols import CallVotes
from codenav.toolgraph.call_votes import GraphVotes
from codenav.toolgraph.graph import EdgeKind, ToolGraph
from codenav.toolgraph.learning import learn
from codenav.traces import Trace, TracedCall

FARM = '''
"""A farm."""


class Plot:
    """Ground with its papers."""

    def __init__(self, papers: "Papers") -> None:
        self.size = papers.size


def measured(width: int, length: int) -> dict:
    """What there is."""
    return {"size": width * length}


def wheat(plot: Plot) -> int:
    """The harvest of wheat."""
    return plot["size"] * 2


def survey(width: int, length: int) -> int:
    """Look at a field."""
    return width * length


def scatter(kilograms: int) -> str:
    """Bring out."""
    return f"scattered {kilograms}"


def store(kilograms: int) -> str:
    """Bring out."""
    return f"stored {kilograms}"
'''
WHEAT = "The harvest of wheat of 20 by 30"
BRING = "Survey 20 and 30, then bring it out"


class Known:
    """Votes that were written down."""

    def __init__(self, follow: tuple[str, str] = ("", ""), give: tuple[str, str, str] = ("", "", "")) -> None:
        self._follow, self._give = follow, give
        self.asked: set[tuple[str, tuple[str, ...]]] = set()

    def follows(self, name: str, request: str, calls: Sequence[str]) -> float:
        self.asked.add((request, tuple(calls)))
        return 0.4 * ((*calls[-1:], name) == self._follow)

    def gives(self, name: str, target: str, parameter: str) -> float:
        return 0.5 * ((name, target, parameter) == self._give)


@pytest.fixture
def farm(tmp_path: Path) -> Path:
    place = tmp_path / "farm-repo"
    place.mkdir()
    (place / "farm.py").write_text(FARM)
    return place


def answer(place: Path, request: str, votes: CallVotes | None) -> str:
    return codenav.run(request, on=place, agent=PlannerAgent(votes=votes)).answer


def test_what_was_seen_to_give_a_value_makes_it(farm: Path) -> None:
    assert answer(farm, WHEAT, None) == ""
    assert answer(farm, WHEAT, Known(give=("farm.measured", "farm.wheat", "plot"))) == "1200"


def test_what_follows_what_was_called_comes_first(farm: Path) -> None:
    for name, said in (("store", "stored 600"), ("scatter", "scattered 600")):
        known = Known(follow=("farm.survey", f"farm.{name}"))
        assert answer(farm, BRING, known) == said
        assert known.asked == {(BRING, ()), (BRING, ("farm.survey",))}


def test_votes_against_what_is_asked_for_do_not_hide_it(farm: Path) -> None:
    class Against(Known):
        def follows(self, name: str, request: str, calls: Sequence[str]) -> float:
            return -0.2

    assert answer(farm, "Survey 20 and 30", Against()) == answer(farm, "Survey 20 and 30", None) == "600"


def test_a_session_asks_the_graph_beside_its_index(farm: Path) -> None:
    assert codenav.run(WHEAT, on=farm, model="planner").status == "failed"
    calls = (TracedCall("farm.measured"), TracedCall("farm.wheat", takes={"plot": 0}))
    with codenav.Session(on=farm) as session:
        folder = GraphFolder.of(session.indexes[0].source)
    with folder.changing() as learnt:
        learn(learnt.graph, Trace("1", calls, origin="code"))
    result = codenav.run(WHEAT, on=farm, model="planner")
    assert result.answer == "1200"
    assert result.summary.verified
    assert codenav.run(WHEAT, on=farm, model="planner", rerank=False).status == "failed"


def test_what_follows_is_learnt_from_calls(farm: Path) -> None:
    plain = codenav.run(BRING, on=farm, model="planner", rerank=False).answer
    other = "store" if "scattered" in plain else "scatter"
    with codenav.Session(on=farm) as session:
        folder = GraphFolder.of(session.indexes[0].source)
    with folder.changing() as learnt:
        for number in range(3):
            learn(
                learnt.graph,
                Trace(str(number), (TracedCall("farm.survey"), TracedCall(f"farm.{other}")), origin="code"),
            )
    answer = codenav.run(BRING, on=farm, model="planner").answer
    assert answer != plain and answer.startswith(other)


def graph_of(*ids: str) -> ToolGraph:
    graph = ToolGraph()
    for id in (*ids, "shop.wrap.gift"):
        graph.node(id)
    for id in ids:
        graph.count(EdgeKind.RESOURCE, id, "shop.wrap.gift", "thing", origin="code")
    return graph


@pytest.mark.parametrize(
    "name",
    [
        "shop.things.Mug.make",
        # As a package offers it again.
        "shop.Mug.make",
        # As the interpreter says of a compiled class, and of a member of an object.
        "shop._fast.Mug.make",
        "shop.things.make",
        "tools.shop.things.Mug.make",
    ],
)
def test_a_callable_is_known_by_other_names(name: str) -> None:
    assert GraphVotes(graph_of("shop.things.Mug.make")).gives(name, "shop.wrap.gift", "thing") == 0.5


@pytest.mark.parametrize("name", ["shop.things.make", "shop.Pot.make", "Mug.make", "other.things.Mug.make", ""])
def test_a_name_that_may_be_several_or_none_is_unknown(name: str) -> None:
    votes = GraphVotes(graph_of("shop.things.Mug.make", "shop.things.Cup.make"))
    assert votes.gives(name, "shop.wrap.gift", "thing") == 0
    assert votes.follows(name, "Make a mug", ["shop.wrap.gift"]) == 0


def test_a_ranker_that_fails_votes_for_nothing() -> None:
    class Broken:
        def next(self, request: str, calls: Sequence[str], *, limit: int) -> Sequence[codenav.Hit]:
            raise RuntimeError("no server")

    assert GraphVotes(graph_of("shop.mug"), Broken()).follows("shop.mug", "Make a mug", []) == 0
