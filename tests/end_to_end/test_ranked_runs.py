"""Whole runs with a tool graph: a verified episode teaches, the same request finds better, and removing forgets."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command_line import codenav
from tool_service import KEY, ToolService

import codenav as package
from codenav import CheckOptions, Code, Done, ScriptedModel, Search, Session
from codenav.core import schemas
from codenav.core.options import ToolOptions
from codenav.toolgraph.folders import GraphFolder, graphs_dir

NO_CHECKS = CheckOptions(lint=False, types=False)
REQUEST = "How much wheat does a plot of 20 by 30 metres give?"
OTHERWISE = "How much wheat may I expect?"
"""A paraphrase: no word of it leads to `rectangle`."""
HARVEST = "from farm import harvest, rectangle\nfield = rectangle(20, 30)\nprint(harvest(field))"
FARM = '''
def rectangle(width, length):
    """The size of a field."""
    return width * length


def harvest(area):
    """Kilograms of wheat."""
    return 0.8 * area


def plot_wheat(years):
    """A plot of how much wheat the years give."""
    return list(years)


def wheat_plot(prices):
    """How much wheat is, as a plot in metres."""
    return list(prices)


def give_wheat(much):
    """Give so much wheat away."""
    return much
'''


@pytest.fixture
def farm(tmp_path: Path) -> Path:
    place = tmp_path / "farm-repo"
    place.mkdir()
    (place / "farm.py").write_text(FARM)
    return place


def run(place: Path, code: str = HARVEST, *more: Any, request: str = REQUEST, **keywords: Any) -> package.EpisodeResult:
    model = ScriptedModel([*more, Code(code), Done("480")])
    return package.run(request, on=place, model=model, checks_lint=False, checks_types=False, **keywords)


def found(place: Path, request: str = REQUEST, **options: Any) -> tuple[list[str], dict[str, Any]]:
    """The names that a search for the request finds, and what moved `harvest`."""
    document = package.search(on=place, request=request, **options).to_dict()
    jsonschema.validate(document, schemas.load("search"))
    moved = [hit.get("moved", {}) for hit in document["hits"] if hit["name"] == "harvest"]
    return [hit["name"] for hit in document["hits"]], moved[0]


def test_a_request_repeated_after_a_verified_episode_finds_its_callable_at_a_better_rank(farm: Path) -> None:
    before, _ = found(farm)
    assert before.index("harvest") > 0
    result = run(farm)
    assert result.summary.verified, result.summary.reason
    after, moved = found(farm)
    assert after.index("harvest") < before.index("harvest")
    assert moved["from"] == before.index("harvest") + 1
    [vote] = [vote for vote in moved["votes"] if vote["name"] == "episodes"]
    assert result.id in vote["because"] and vote["weight"] > 0
    assert "rectangle" in found(farm, OTHERWISE)[0]
    told = codenav("search", "--request", REQUEST, "--on", str(farm), "--explain")
    assert f"moved from place {before.index('harvest') + 1}:" in told.out
    lines = told.out.splitlines()
    said = lines[next(at for at, line in enumerate(lines) if "def rectangle" in line) + 1]
    assert said.strip().startswith("brought in: episodes +") and f'(episode {result.id}: "{REQUEST}")' in said
    assert found(farm, rerank=False) == (before, {})
    plain = codenav("search", "--request", REQUEST, "--on", str(farm), "--explain", "--set", "rerank=no")
    assert "moved from" not in plain.out and "no hit was moved" in plain.err

    again = run(farm, HARVEST, Search("wheat"))
    hits = again.steps[0].observation.to_data()[0]["hits"]
    assert result.id in json.dumps([hit["moved"] for hit in hits if hit["name"] == "harvest"])
    assert package.load_episode(again.id).to_dict()["steps"][0]["observation"][0]["hits"] == hits
    jsonschema.validate(again.to_dict(), schemas.load("episode"))
    unranked = run(farm, HARVEST, Search("wheat"), rerank=False)
    assert not any("moved" in hit for hit in unranked.steps[0].observation.to_data()[0]["hits"])


def test_removing_an_episode_takes_its_counts_out(farm: Path, codenav_home: Path) -> None:
    before, _ = found(farm)
    paraphrased, _ = found(farm, OTHERWISE)
    assert "rectangle" not in paraphrased
    first = run(farm)
    [folder] = [GraphFolder(path.parent) for path in graphs_dir().glob("*/graph.json")]
    taught = folder.read()
    second = run(farm)
    assert folder.read().graph != taught.graph
    assert codenav("episodes", "remove", second.id).code == 0
    assert folder.read().graph == taught.graph
    assert list(folder.read().traces) == [f"episodes:{first.id}"]
    assert codenav("episodes", "remove", first.id).code == 0
    assert not folder.read().graph.nodes and not folder.read().traces
    assert found(farm) == (before, {})
    assert found(farm, OTHERWISE) == (paraphrased, {})


def test_an_episode_whose_counts_cannot_be_taken_out_stays(farm: Path) -> None:
    id = run(farm).id
    [file] = graphs_dir().glob("*/graph.json")
    taught = file.read_bytes()
    lock = file.with_name(".lock")
    lock.unlink()
    lock.mkdir()
    for arguments in ([id], ["--keep", "0"]):
        refused = codenav("episodes", "remove", *arguments)
        assert refused.code == 4 and "the tool graph cannot be written: Is a directory" in refused.err
        assert package.load_episode(id).id == id and file.read_bytes() == taught
    lock.rmdir()
    assert codenav("episodes", "remove", "--keep", "0").code == 0
    assert not GraphFolder(file.parent).read().traces


ENDING = """
import pathlib, sys, time
import codenav
from codenav import Code, Done, FunctionModel

source, meeting, name, code, request = sys.argv[1:]
answers = [Code(code), Done("480")]

def answer(messages):
    if len(answers) == 1:
        (pathlib.Path(meeting) / name).touch()
        while len(list(pathlib.Path(meeting).iterdir())) < 3:
            time.sleep(0.01)
    return answers.pop(0)

print(codenav.run(request, on=source, model=FunctionModel(answer),
    checks_lint=False, checks_types=False).summary.verified)
"""
"""A run whose last word waits until the others are about to say theirs."""


def test_episodes_that_end_at_once_all_teach(farm: Path, tmp_path: Path) -> None:
    found(farm)
    place = tmp_path / "met"
    place.mkdir()
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", ENDING, str(farm), str(place), str(number), HARVEST, REQUEST],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    assert [run.communicate(timeout=120)[0].strip() for run in runs] == ["True"] * 3
    [file] = graphs_dir().glob("*/graph.json")
    learnt = GraphFolder(file.parent).read()
    assert len(learnt.traces) == 3
    assert learnt.graph.nodes["farm.harvest"].calls == 3


def test_an_episode_that_is_not_verified_only_lowers_weights(farm: Path) -> None:
    result = run(farm, "from farm import plot_wheat\nimport random\nx = random.random()\nplot_wheat([x])\nprint(x)")
    assert not result.summary.verified
    [file] = graphs_dir().glob("*/graph.json")
    learnt = GraphFolder(file.parent).read()
    assert not learnt.graph.edges
    node = learnt.graph.nodes["farm.plot_wheat"]
    assert node.calls and not node.successes and node.weight < 0.5


def test_a_broken_graph_is_told_once_and_the_search_goes_on(farm: Path) -> None:
    before, _ = found(farm)
    run(farm)
    [file] = graphs_dir().glob("*/graph.json")
    file.write_bytes(file.read_bytes()[:-20])
    told: list[str] = []
    model = ScriptedModel([Search("wheat"), Search("plot"), Code(HARVEST), Done("480")])
    with Session(on=farm, model=model, checks=NO_CHECKS, notice=told.append) as session:
        result = session.run(REQUEST)
    assert result.summary.verified
    assert sum("not ranked" in text for text in told) == 1, told
    ran = codenav("search", "--request", REQUEST, "--on", str(farm), "--json")
    assert (ran.code, [hit["name"] for hit in ran.document["hits"]]) == (0, before)
    assert "not ranked" in ran.err and "Traceback" not in ran.err


def test_an_interrupted_episode_teaches_nothing(farm: Path) -> None:
    model = ScriptedModel([Code(HARVEST), Done("480")])
    with Session(on=farm, model=model, checks=NO_CHECKS) as session:
        stream = session.stream(REQUEST)
        while next(stream).name != "observed":
            pass
        stream.close()
    assert not list(graphs_dir().glob("*/graph.json"))


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("SHOP_KEY", KEY)
    with ToolService() as service:
        yield f"openapi:{service.write(tmp_path)}"


def test_calls_to_tools_teach_the_graph_of_their_source(shop: str, farm: Path) -> None:
    find = "from tools.shop import list_orders, list_products\nfrom farm import rectangle\nsize = rectangle(2, 3)"
    code = [
        Code(f"{find}\nmugs = list_products(q='mug', color='blue')"),
        Code("mine = list_orders(customer=7)\nprint(len(mugs))"),
    ]
    tools = ToolOptions(secrets={"shop_key": "SHOP_KEY"})
    model = ScriptedModel([*code, Done("Some mugs")])
    with Session(on=[shop, farm], model=model, checks=NO_CHECKS, tools=tools) as session:
        result = session.run(f"How many blue mugs are there? The key is {KEY}.")
    assert result.summary.verified, result.summary.reason
    graphs = [GraphFolder(path.parent) for path in graphs_dir().glob("*/graph.json")]
    assert len(graphs) == 2, "of the tools, and of the code base"
    for folder in graphs:
        learnt = folder.read()
        [trace] = learnt.traces.values()
        assert [call.name for call in trace.calls] == ["farm.rectangle", "shop.list_products", "shop.list_orders"]
        assert trace.calls[1].seconds and trace.calls[0].seconds is None
        assert KEY not in folder.file.read_text()


def test_the_calls_of_an_episode_so_far_rank_its_searches(farm: Path) -> None:
    run(farm)
    given: list[package.EpisodeParts] = []

    def watched(parts: package.EpisodeParts) -> list[Any]:
        given.append(parts)
        return [*package.standard_environments(parts)]

    called: list[Sequence[str]] = []

    def listen(event: package.Event) -> None:
        if event.name == "observed" and given[-1].ranking:
            called.append(given[-1].ranking.called())

    script = [
        Code("from farm import rectangle\nfield = rectangle(2, 3)"),
        Code("from farm import harvest\nharvest(nothing)"),
        Code("print(harvest(field), max(1, 2))"),
        Done("4.8"),
        Code("print(rectangle(1, 1))"),
        Done("1"),
    ]
    model = ScriptedModel(script)
    with Session(on=farm, model=model, checks=NO_CHECKS, environments=watched, listeners=[listen]) as session:
        session.run("How much wheat?")
        session.run("And how large is a square metre?")
    assert given[0].ranking and given[0].ranking.request == "How much wheat?"
    first = ("farm.rectangle",)
    assert called == [first, first, (*first, "farm.harvest"), (*first, "farm.harvest"), first, first]


def test_what_goes_wrong_with_learning_costs_no_answer(farm: Path) -> None:
    graphs_dir().write_text("a file where a folder belongs")
    told: list[str] = []
    result = run(farm, notice=told.append)
    assert (result.status, result.answer, result.exit_code) == ("done", "480", 0)
    assert any("teaches" in text and "nothing" in text for text in told), told
