"""Whole conversations: a real HTTP server, the real client, index and sandbox, through the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import nbformat
import pytest
from chat_server import Answer, ChatServer, Fault
from command_line import ROOT, Ran, codenav, without_evidence

from codenav.agents.models.scripted import read_script
from codenav.core import schemas
from codenav.core.actions import Action, Ask, Code, CodeSummary, Done, Search
from codenav.sandboxes.conformance.lab import crowding

Run = Callable[..., Ran]

AREA = "import farm.fields\nfield = farm.fields.Field(20, 30)\narea = field.area()\nprint(area)"


def last(*arguments: str) -> dict[str, Any]:
    """The record of the newest episode."""
    ran = codenav("episodes", "show", "last", "--json")
    assert ran.code == 0, ran.err
    document: dict[str, Any] = ran.document
    jsonschema.validate(document, schemas.load("episode"))
    return document


def outcomes(record: dict[str, Any]) -> list[str]:
    return [step["observation"]["outcome"] for step in record["steps"] if step["action"]["type"] == "code"]


def seen_by_the_model(server: ChatServer, number: int) -> str:
    """The observation that came before answer `number` (1-based)."""
    return str(server.chats[number - 1]["messages"][-1]["content"])


def test_the_flow_of_the_paper_on_an_installed_package(
    run: Run, chat_server: ChatServer, with_networkx: Path, tmp_path: Path
) -> None:
    chat_server.script = read_script(ROOT / "examples" / "karate_club.actions")
    summary = tmp_path / "summary.py"
    ran = run(
        "Which node of the karate club graph has the highest betweenness?",
        "--on",
        "pkg:networkx",
        "--save-summary",
        summary,
        types=True,
    )
    assert ran.code == 0, ran.err
    assert without_evidence(ran.out).splitlines()[-1] == "summary: reproduced"
    assert "Node 0" in ran.out
    record = last()
    assert [step["action"]["type"] for step in record["steps"]] == [
        "search", "code", "search", "code", "code_summary", "done",
    ]  # fmt: skip
    assert outcomes(record) == ["error", "ok"]
    assert record["steps"][1]["observation"]["error"]["line_number"] == 5
    assert "nx.betweenness_centrality" in summary.read_text()
    assert "karate_club_graph" in seen_by_the_model(chat_server, 2)
    assert "AttributeError" in seen_by_the_model(chat_server, 3)


def test_code_of_a_repository_is_imported_and_its_files_come_out(
    run: Run, chat_server: ChatServer, library: Path, tmp_path: Path
) -> None:
    work = tmp_path / "out"
    work.mkdir()
    (work / "size.txt").write_text("20 30")
    chat_server.script = [
        Search("area of a field"),
        Code(
            "from farm.fields import Field\n"
            "width, length = map(float, open('size.txt').read().split())\n"
            "area = Field(width, length).area()\n"
            "open('area.txt', 'w').write(str(area))\n"
            "print(area)"
        ),
        Done("600 square metres"),
    ]
    ran = run("How large is the field in size.txt?", "--on", library, "--work-dir", work)
    assert ran.code == 0, ran.err
    assert without_evidence(ran.out).splitlines() == ["600 square metres", "summary: reproduced"]
    assert (work / "area.txt").read_text() == "600.0"
    assert last()["summary"]["code"].startswith("from farm.fields import Field")


def test_state_survives_the_step_that_kills_its_process(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [
        Code("total = 41"),
        Code("import os\ntotal = 0\nos._exit(7)"),
        Code("total += 1\nprint(total)"),
        Done("42"),
    ]
    ran = run("What is 41 plus 1?", "--on", library)
    assert without_evidence(ran.out).splitlines() == ["42", "summary: reproduced"]
    record = last()
    assert outcomes(record) == ["ok", "crashed", "ok"]
    assert record["steps"][1]["observation"]["notice"].startswith(("state kept", "state rebuilt"))
    assert record["steps"][2]["observation"]["stdout"] == "42\n"


def test_a_step_that_never_ends_is_stopped_and_the_rest_goes_on(
    run: Run, chat_server: ChatServer, library: Path
) -> None:
    chat_server.script = [
        Code("kept = 'here'"),
        Code("n = 0\nwhile n < 1:\n    try:\n        n = 0\n    except BaseException:\n        pass"),
        Code("print(kept)"),
        Done("here"),
    ]
    ran = run("Say what was kept.", "--on", library, "--code-timeout", "1")
    assert ran.code == 0, ran.err
    record = last()
    assert outcomes(record) == ["ok", "timeout", "ok"]
    assert record["steps"][1]["observation"]["seconds"] < 2 + crowding()


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("for _ in range(1000):\n    print('x' * 100_000)", "ok"),
        ("import sys\nsys.exit(3)", "error"),
        ("input('your name? ')", "error"),
        ("import os, shutil\nshutil.rmtree(os.getcwd(), ignore_errors=True)\nprint('gone')", "ok"),
        ("import os\nfor _ in range(5):\n    if os.fork() == 0:\n        os._exit(0)\nprint('forked')", "ok"),
        ("print('\\x1b]0;owned\\x07 \\x1b[31mred')", "ok"),
        ("def broken(:\n    pass", "error"),
    ],
    ids=["100-megabytes", "sys-exit", "reads-stdin", "deletes-its-folder", "forks", "terminal-escapes", "syntax"],
)
def test_a_hostile_step_costs_one_step_and_no_state(
    run: Run, chat_server: ChatServer, library: Path, code: str, outcome: str
) -> None:
    chat_server.script = [Code("kept = 1"), Code(code), Code("print('kept is', kept)"), Done("fine")]
    ran = run("Try it.", "--on", library)
    assert ran.code == 0, ran.err
    record = last()
    assert outcomes(record) == ["ok", outcome, "ok"]
    assert record["steps"][2]["observation"]["stdout"] == "kept is 1\n"
    assert len(record["steps"][1]["shown"]) < 20_000
    assert "\x1b" not in json.dumps(record, ensure_ascii=False)
    assert "\x1b" not in ran.err


def test_answers_in_a_wrong_form_are_explained_and_mended(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [
        "I think I should look at the code first.",
        "<thought>x</thought><type>browse</type><content>farm</content>",
        "<think><type>done</type><content>wrong</content></think>\n<type>search</type>\n<content>\nharvest",
        Answer.calling("code", '{"code": "print(2 + 2)"}'),
        Done("4"),
    ]
    ran = run("What is 2 + 2?", "--on", library)
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[0] == "4"
    kinds = [step["action"]["type"] for step in last()["steps"]]
    assert kinds == ["invalid", "invalid", "search", "code", "done"]
    assert "<type>" in seen_by_the_model(chat_server, 2)


def test_a_model_that_never_gives_an_action_fails(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = lambda body: "Sure! Here is what I would do."
    ran = run("Do it.", "--on", library)
    assert ran.code == 1
    assert "5 answers in a row without a valid action" in ran.err
    assert last()["status"] == "failed"


def test_a_request_and_an_answer_in_another_language(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Code("面积 = 20 * 30\nprint(面积)"), Done("面积是 600 平方米。")]
    ran = run("二十乘三十的田有多大？", "--on", library)
    assert without_evidence(ran.out).splitlines() == ["面积是 600 平方米。", "summary: reproduced"]
    assert last()["request"] == "二十乘三十的田有多大？"


def test_an_agent_that_asks_hears_that_nobody_is_there(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Ask("Metres or feet?"), Done("600, taking metres")]
    assert run("How large is 20 by 30?", "--on", library).code == 0
    assert "Nobody is there" in seen_by_the_model(chat_server, 2)


def test_an_agent_that_gives_up_has_failed(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Search("weather"), Done("FAILED: the code base knows nothing of weather")]
    ran = run("What is the weather?", "--on", library)
    assert ran.code == 1
    assert ran.out == ""
    assert "knows nothing of weather" in ran.err
    assert "Traceback" not in ran.err


def test_the_limit_on_steps_ends_a_run(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = lambda body: Code("x = 1")
    ran = run("Go on for ever.", "--on", library, "--max-steps", "3")
    assert ran.code == 3
    assert "3 of 3 steps" in ran.err
    record = last()
    assert record["status"] == "limit"
    assert len(record["steps"]) == 3


def test_the_limit_on_seconds_ends_a_step_too(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Code("import time\ntime.sleep(1000)"), Done("never")]
    ran = run("Sleep.", "--on", library, "--max-seconds", "2")
    assert ran.code == 3
    assert outcomes(last()) == ["timeout"]


def test_a_summary_that_does_not_replay_can_be_mended(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [
        Code(AREA),
        CodeSummary("print(area)"),
        CodeSummary(AREA),
        Done("600"),
    ]
    ran = run("How large is a field of 20 by 30?", "--on", library)
    assert without_evidence(ran.out).splitlines() == ["600", "summary: reproduced"]
    assert "NameError" in seen_by_the_model(chat_server, 3)


def test_a_verified_summary_outlives_a_limit(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Code(AREA), CodeSummary(AREA), Search("more")]
    ran = run("Area?", "--on", library, "--max-steps", "3")
    assert ran.code == 3
    assert last()["summary"]["verified"] is True


def test_the_limit_on_seconds_bounds_the_replay_too(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Code("x = 1"), CodeSummary("import time\ntime.sleep(1000)"), Done("1")]
    ran = run("Wait.", "--on", library, "--max-seconds", "8")
    assert ran.code == 3, ran.err
    assert "did not end within" in last()["summary"]["reason"]


def test_a_summary_with_another_result_is_not_verified(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Code("import os\ntoken = os.urandom(8).hex()\nprint(token)"), Done("made one")]
    ran = run("Make a random token.", "--on", library)
    assert ran.code == 0
    assert ran.out.splitlines()[-1].startswith("summary: not compared (varies: token, part of the last output)")
    assert last()["summary"]["verified"] is False


def test_the_same_query_again_shows_the_next_matches(run: Run, chat_server: ChatServer, with_networkx: Path) -> None:
    chat_server.script = [Search("(type: FUNCTION) AND path"), Search("(type: FUNCTION) AND path"), Done("seen")]
    assert run("Show paths.", "--on", "pkg:networkx").code == 0
    first, second = ([hit["id"] for hit in step["observation"][0]["hits"][:3]] for step in last()["steps"][:2])
    assert len(first) == len(second) == 3
    assert not set(first) & set(second)
    assert "3 shown before" in seen_by_the_model(chat_server, 3)


def test_several_code_bases_are_searched_together(
    run: Run, chat_server: ChatServer, with_networkx: Path, library: Path
) -> None:
    chat_server.script = [Search("name: harvest\nname: karate_club_graph"), Done("both")]
    assert run("Find both.", "--on", "pkg:networkx", "--on", library).code == 0
    results = last()["steps"][0]["observation"]
    found = [result["hits"][0]["source"] for result in results]
    assert found[0] == str(library)
    assert found[1].startswith("pkg:networkx@")


def test_a_secret_reaches_the_code_and_nothing_else(
    run: Run, chat_server: ChatServer, library: Path, codenav_home: Path
) -> None:
    # In two parts: where this checkout is imported from, this file lies in the copy of it.
    secret = "sk-live-" + "0123456789abcdef"
    chat_server.script = [
        Code("import os\nprint(os.environ['FARM_KEY'], len(os.environ['FARM_KEY']))\nkey = os.environ['FARM_KEY']"),
        Done("it has 24 characters"),
    ]
    ran = run("How long is the key?", "--on", library, "--env", "FARM_KEY", env={"FARM_KEY": secret})
    assert ran.code == 0, ran.err
    assert last()["steps"][0]["observation"]["stdout"].endswith(" 24\n")
    assert secret not in json.dumps(chat_server.chats)
    assert secret not in ran.err + ran.out
    for path in codenav_home.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path


def test_checkers_speak_beside_the_result(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [
        Code("from farm.fields import Field\nfield = Field(1, 2)\nif field.width > 5:\n    field.perimeter()"),
        Code("print(field.area())"),
        Done("2"),
    ]
    assert run("Area of 1 by 2?", "--on", library, types=True).code == 0
    remarks = [
        finding["code"] for report in last()["steps"][0]["observation"]["checks"] for finding in report["findings"]
    ]
    assert "attr-defined" in remarks
    assert all(
        not report["findings"] and not report["failure"] for report in last()["steps"][1]["observation"]["checks"]
    )


def test_a_server_that_stumbles_is_asked_again(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Fault(503, "loading model", headers={"Retry-After": "0"}), Code(AREA), Done("600")]
    ran = run("Area?", "--on", library)
    assert ran.code == 0, ran.err
    assert len(chat_server.chats) == 3


def test_a_retry_is_told_on_stderr_and_in_the_record(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Fault(503, "overloaded", headers={"Retry-After": "0"}), Done("600")]
    ran = run("Area?", "--on", library)
    assert "503" in ran.err
    assert any("503" in notice for notice in last()["notices"])


def test_what_a_model_writes_cannot_steer_the_terminal(run: Run, chat_server: ChatServer, library: Path) -> None:
    evil = "\x1b]0;owned\x07"
    chat_server.script = [Code(f"# {evil}\nx = 1", f"I think {evil}"), Done(f"Done {evil}")]
    ran = run(f"Go {evil}.", "--on", library)
    assert "\x1b" not in ran.out + ran.err
    assert "\x1b" not in codenav("episodes", "show", "last").out


def test_names_below_the_line_that_raised_are_unknown(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Code("1 / 0\nnever_bound = 5"), Code("print(never_bound)"), Done("no")]
    assert run("Try.", "--on", library).code == 0
    reports = last()["steps"][1]["observation"]["checks"]
    assert "F821" in [finding["code"] for report in reports for finding in report["findings"]]


def test_stream_prints_the_events_of_the_record(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Search("area"), Code(AREA), Done("600")]
    ran = run("Area?", "--on", library, "--json", "--stream")
    events = [json.loads(line) for line in ran.out.splitlines()]
    for event in events:
        jsonschema.validate(event, schemas.load("event"))
    assert [event["event"] for event in events] == [
        "run_started", "acted", "observed", "acted", "observed", "acted", "observed", "run_ended",
    ]  # fmt: skip


def test_json_prints_the_record_and_nothing_else(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Code(AREA), Done("600")]
    ran = run("Area?", "--on", library, "--json")
    jsonschema.validate(ran.document, schemas.load("episode"))
    assert ran.document == last()


def test_the_record_exports_as_notebook_script_and_json(
    run: Run, chat_server: ChatServer, library: Path, tmp_path: Path
) -> None:
    picture = "import matplotlib.pyplot as plt\nfigure = plt.plot([1, 4, 9])"
    chat_server.script = [Search("area"), Code(AREA), Code(picture), Done("600")]
    assert run("Area?", "--on", library).code == 0
    files = {name: tmp_path / f"run.{name}" for name in ("ipynb", "py", "json")}
    ran = codenav(
        "episodes", "show", "last", "--notebook", files["ipynb"], "--script", files["py"], "--record", files["json"]
    )
    assert ran.code == 0, ran.err
    notebook = nbformat.read(files["ipynb"], as_version=4)
    nbformat.validate(notebook)
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("600" in output.get("text", "") for output in outputs)
    assert any("image/png" in output.get("data", {}) for output in outputs)
    compile(files["py"].read_text(), "run.py", "exec")
    assert json.loads(files["json"].read_text())["answer"] == "600"


def test_two_runs_at_once_keep_two_records(chat_server: ChatServer, library: Path) -> None:
    from command_line import start

    assert codenav("index", library).code == 0
    for name in ("one", "two"):
        script: list[Action] = [Code(f"print('{name}')"), Done(name)]
        chat_server.conversation(f"Say {name}.", script)
    arguments = ("--on", library, "--model", "m", "--base-url", chat_server.url)
    running = [start("run", f"Say {name}.", *arguments) for name in ("one", "two")]
    answers = [process.communicate(timeout=60)[0].splitlines()[0] for process in running]
    assert answers == ["one", "two"]
    assert sorted(row["request"] for row in codenav("episodes", "list", "--json").document) == ["Say one.", "Say two."]


def test_an_answer_that_the_replay_does_not_hold_is_told(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Code("from statistics import mean\nprint(float(mean([1, 2, 6])))"), Done("42")]
    ran = run("What is the mean of 1, 2 and 6?", "--on", library)
    assert ran.code == 0
    assert without_evidence(ran.out).splitlines() == ["42", "summary: reproduced, but the answer is not in its output"]
    assert "Note: nothing that the replay left holds 42" in ran.err
    assert "(compared: the last output)" in ran.out and "Note: nothing that the replay left holds 42" in ran.err
    summary = last()["summary"]
    assert (summary["verified"], summary["answer_supported"], summary["unsupported"]) == (True, False, ["42"])


def test_a_long_reason_is_shown_in_a_few_lines(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Done("FAILED: " + "no way\n" * 150)] * 2
    ran = run("Do it.", "--on", library)
    error = next(line for line in ran.err.splitlines() if line.startswith("Error: "))
    assert ran.code == 1 and len(error) < 420 and ran.err.count("no way") < 60
    assert "Record: codenav episodes show " in ran.err
    assert run("Do it.", "--on", library, "--verbose").err.count("no way") >= 150
