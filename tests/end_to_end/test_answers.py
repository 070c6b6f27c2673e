"""The end of a run: what the answer lacks, what it rests on, and the forms in which that is printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from chat_server import ChatServer
from command_line import Ran, codenav, without_evidence

import codenav as package
from codenav.agents.models import ScriptedModel
from codenav.core import schemas
from codenav.core.actions import Code, Done

Run = Callable[..., Ran]

AREAS = """
from farm.fields import Field
areas = {name: Field(*sides).area() for name, sides in {"north": (20, 30), "south": (7, 11)}.items()}
print(areas)
"""
TABLE = """
import pandas as pd
table = pd.DataFrame({"field": ["north", "south"], "area": [600.0, None]})
table.to_csv("areas.csv")
print(table.to_string(index=False))
"""


def last() -> dict[str, Any]:
    ran = codenav("episodes", "show", "last", "--json")
    assert ran.code == 0, ran.err
    document: dict[str, Any] = ran.document
    jsonschema.validate(document, schemas.load("episode"))
    return document


def kinds(record: dict[str, Any]) -> list[str]:
    """The action of each step, and whether its observation names a broken rule."""
    steps = record["steps"]
    return [step["action"]["type"] + (f" {rule}" if (rule := _rule(step)) else "") for step in steps]


def _rule(step: dict[str, Any]) -> str:
    return str(step["observation"].get("rule", "")) if isinstance(step["observation"], dict) else ""


# What is not covered ------------------------------------------------------------------------------------------


def test_an_answer_that_nothing_holds_goes_back_once(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Code(AREAS), Done("North has 601, and 'West' is larger."), Done("North has 600.")]
    ran = run("Which field is larger?", "--on", library)
    assert ran.code == 0, ran.err
    assert without_evidence(ran.out).splitlines() == ["North has 600.", "summary: reproduced"]
    fault = "No output, variable or file holds West, 601."
    assert f"2. done  North has 601, and 'West' is larger.\n   → {fault}\n" in ran.err
    assert kinds(last()) == ["code", "done not_accepted", "done"]
    told = str(chat_server.chats[2]["messages"][-1]["content"])
    assert fault in told and "FAILED:" in told


def test_the_same_answer_again_is_taken(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Code(AREAS), Done("North has 601."), Done("North has 601.")]
    ran = run("Which field is larger?", "--on", library)
    assert (ran.code, ran.out.splitlines()[0]) == (0, "North has 601.")
    assert "nothing that the replay left holds 601" in ran.err


@pytest.mark.parametrize(
    "answer",
    ["600 m², rounded 0.6 thousand", "South has 77, that is 12.8 % of North", "`notes.txt` says 4711", "Ja, Nordfeld."],
)
def test_what_an_output_a_variable_or_a_file_holds_does_not_go_back(
    run: Run, chat_server: ChatServer, library: Path, tmp_path: Path, answer: str
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "notes.txt").write_text("The owner has number 4711.\n")
    chat_server.script = [Code(f"{AREAS}share = areas['south'] / areas['north']"), Done(answer)]
    ran = run("How large are they?", "--on", library, "--work-dir", tmp_path / "data")
    assert ran.code == 0, ran.err
    assert kinds(last()) == ["code", "done"]


def test_at_the_limit_of_steps_the_answer_is_taken(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Code(AREAS), Done("North has 601.")]
    ran = run("Which field is larger?", "--on", library, "--max-steps", "3")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "North has 601.")


def test_earlier_requests_of_a_session_count(library: Path) -> None:
    model = ScriptedModel([Code(AREAS), Done("North has 600."), Done("South has 77, North 600.")])
    with package.Session(on=library, model=model) as session:
        assert session.run("How large is north?").answer == "North has 600."
        result = session.run("And south?")
    assert result.answer == "South has 77, North 600." and len(result.steps) == 1


def test_the_small_agent_has_to_compute_again(run: Run, chat_server: ChatServer, library: Path) -> None:
    """Its answers stand in what was printed: only one with another mark of its own can go back."""
    code = "```python\nfrom farm.fields import Field\nprint(Field(20, 30).area())\n```"
    chat_server.script = [code, "ANSWER: 600 square metres"]
    ran = run("How large is a field of 20 by 30?", "--on", library, "--profile", "small", "--tries", "1")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[0] == "600 square metres"
    assert "not_accepted" not in json.dumps(last()["steps"])


# No answer ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    ["FAILED: die Daten für 2024 fehlen", "失败\uff1adie Daten für 2024 fehlen"],
)
def test_results_that_do_not_suffice(run: Run, chat_server: ChatServer, library: Path, answer: str) -> None:
    chat_server.script = [Code(AREAS), Done("Im Jahr 2024 waren es 601."), Done(answer)]
    ran = run("Wie groß war das Feld?", "--on", library)
    assert (ran.code, ran.out) == (1, "")
    assert "Error: die Daten für 2024 fehlen" in ran.err.splitlines()
    assert (last()["status"], last()["reason"]) == ("failed", "die Daten für 2024 fehlen")


# The value behind the answer ----------------------------------------------------------------------------------


def test_a_frame_as_a_table_as_json_and_as_files(
    run: Run, chat_server: ChatServer, library: Path, tmp_path: Path
) -> None:
    (tmp_path / "answer.csv").write_text("mine")
    outs = {}
    for form in ("table", "json", "file"):
        chat_server.conversation(f"As {form}", [Code(TABLE), Done("North has 600.")])
        ran = run(f"As {form}?", "--on", library, "--answer-as", form, "--work-dir", tmp_path)
        assert ran.code == 0 and "North has 600." in ran.err, ran.err
        outs[form] = ran.out
    rows = [{"field": "north", "area": 600.0}, {"field": "south", "area": None}]
    assert json.loads(outs["json"]) == rows
    assert [line.split() for line in outs["table"].splitlines()[:3]] == [
        ["field", "area"],
        ["north", "600.0"],
        ["south"],
    ]
    assert len({len(line) for line in outs["table"].splitlines()[:2]}) == 1
    assert outs["file"].splitlines()[:2] == [str(tmp_path / "answer-2.csv"), str(tmp_path / "answer.html")]
    assert (tmp_path / "answer.csv").read_text() == "mine"
    assert (tmp_path / "answer-2.csv").read_text() == "field,area\nnorth,600.0\nsouth,\n"
    assert "<td>600.0</td>" in (tmp_path / "answer.html").read_text()


LOOP = "areas = {'north': 600, 'south': 77}\nfor name, area in areas.items():\n    print(name, area)"
SERIES = "import pandas as pd\nbest = pd.Series({'north': 600}, name='area')\nprint(best.head())"
VALUES = [
    (LOOP, {"north": 600, "south": 77}),
    ("rows = [{'a': 1, 'b': {2}}, {'a': float('nan')}]\nrows", [{"a": 1, "b": [2]}, {"a": None}]),
    ("import numpy as np\ngrid = np.arange(4).reshape(2, 2)\ngrid * 2", [[0, 2], [4, 6]]),
    (SERIES, [{"index": "north", "area": 600}]),
    ("low, high = 7, 600\nprint(f'from {low} to {high:.1f}')\nprint('done')", {"low": 7, "high": 600}),
    ("sides = [7, 600]\nprint(max(sides))", 600),
    ("print('north')", "north"),
    ("text = 'north'\nlen(text)\nfound = (1, 'x')", [1, "x"]),
]


@pytest.mark.parametrize(("code", "value"), VALUES)
def test_the_value_that_an_answer_rests_on(library: Path, code: str, value: object) -> None:
    with package.Session(on=library, model=ScriptedModel([Code(code), Done("There.")])) as session:
        episode = session.episode("What is it?")
        assert episode.run().status == "done"
        assert episode.value() == value
        assert not [name for name in session.episode("And?")._sandbox.digests().digests if "codenav" in name]  # type: ignore[union-attr]


@pytest.mark.parametrize("code", ["graph = object()\ngraph", "print('a')\nprint(len('abc'), 'b c')"])
def test_no_value_that_can_be_shown(run: Run, chat_server: ChatServer, library: Path, code: str) -> None:
    chat_server.script = [Code(code), Done("It is there.")]
    ran = run("Make it.", "--on", library, "--answer-as", "table")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "It is there."
    assert ran.err.count("Note: there is no value behind the answer that can be shown") == 1


def test_json_is_the_record_or_the_answer(run: Run, library: Path) -> None:
    ran = run("Make it.", "--on", library, "--answer-as", "table", "--json")
    assert ran.code == 2 and "use one of them" in ran.err


def test_all_outputs_are_listed(run: Run, chat_server: ChatServer, library: Path, tmp_path: Path) -> None:
    picture = """
class Picture:
    def _repr_svg_(self):
        return "<svg/>"
display(Picture())
open("plot.png", "wb").write(b"x")
"""
    chat_server.script = [Code(picture), Code(TABLE), Done("North has 600.")]
    ran = run("Draw it.", "--on", library, "--work-dir", tmp_path)
    assert ran.code == 0, ran.err
    assert f"Picture: {tmp_path / 'plot.png'}" in ran.err and "Picture: step 1, 1: codenav episodes show" in ran.err
    outputs = last()["outputs"]
    assert {one["name"]: (one["kind"], one["type"], one["path"], one["step"]) for one in outputs} == {
        "plot.png": ("picture", "", str(tmp_path / "plot.png"), 1),
        "step 1, 1": ("picture", "image/svg+xml", "", 1),
        "areas.csv": ("file", "", str(tmp_path / "areas.csv"), 2),
        "table": ("table", "DataFrame", "", 2),
    }
    assert [one.name for one in package.load_episode().outputs] == [one["name"] for one in outputs]
