"""`codenav eval` as a user meets it: a small M3ToolEval of our own through every command, and bad input."""

from __future__ import annotations

import json
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from chat_server import ChatServer, Fault
from command_line import codenav, on_a_terminal, start
from made_runs import made_result, made_run

from codenav.core import schemas
from codenav.core.actions import Code, Done
from codenav.evals.benchmark import BENCHMARKS
from codenav.evals.paper import GRIDS, folder_of, grid

SMALL = Path(__file__).parents[1] / "data" / "evals" / "m3tooleval"
TABLE_3 = ("eval", "run", "--table", "3", "--data", ".", "--out", "a")
QUICK = ("--any-commit", "--set", "checks.lint=no", "--set", "checks.types=no", "--max-seconds", "20")
DONE = """
<action><type>code</type><content>answer = 1</content></action>
<action><type>done</type><content>1</content></action>
"""


RUN = ["eval", "run", "m3tooleval"]
GOOD = [*RUN, "--data", SMALL, *QUICK]


@pytest.fixture
def script(tmp_path: Path) -> str:
    """A model that always answers 1."""
    path = tmp_path / "one.actions"
    path.write_text(DONE)
    return f"scripted:{path}"


def m3(*arguments: str | Path, model: str = "", command: str = "run") -> Any:
    more = ("--model", model) if model else ()
    return codenav("eval", command, "m3tooleval", "--data", SMALL, *QUICK, *more, *arguments)


def documented(ran: Any, name: str) -> Any:
    """The document of a command, after checking it."""
    jsonschema.Draft202012Validator(schemas.load(name)).validate(ran.document)
    return ran.document


def test_a_run_ends_with_its_figures_and_is_reported(tmp_path: Path, script: str) -> None:
    ran = m3("--limit", "2", "--jobs", "2", "--out", tmp_path / "a", model=script)
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[0].startswith(f"m3tooleval, code-use, {script}: 2 attempts (2 done), ")
    assert "2 of 2 attempts" in ran.err and f"Report: codenav eval report {tmp_path / 'a'}" in ran.err
    head = json.loads((tmp_path / "a" / "head.json").read_text())
    assert head["settings"]["limits"]["seconds"] == 20 and head["settings"]["checks_lint"] is False
    assert head["settings"]["description"] == "library" and head["place"]["data"] == str(SMALL)
    report = codenav("eval", "report", tmp_path / "a")
    assert report.code == 0 and "accuracy" in report.out
    again = codenav("eval", "run", "--resume", "--out", tmp_path / "a", "--json")
    assert again.code == 0 and documented(again, "eval-run")["statuses"] == {"done": 2}


def test_lists_prepares_and_checks(tmp_path: Path) -> None:
    assert [row["name"] for row in documented(codenav("eval", "prepare", "--json"), "eval-list")["benchmarks"]] == [
        "m3tooleval", "api-bank", "mnms",
    ]  # fmt: skip
    assert all(f"{name} " in codenav("eval", "prepare").out for name in BENCHMARKS)
    ran = codenav("eval", "prepare", "m3tooleval", "--data", SMALL, "--any-commit", "--out", tmp_path / "m3")
    assert ran.code == 0, ran.err
    assert (tmp_path / "m3" / "code-use.txt").read_text() != (tmp_path / "m3" / "tool-use.txt").read_text()
    ran = codenav("eval", "prepare", "--selfcheck", "m3tooleval", "--data", SMALL, "--any-commit", "--json")
    assert (ran.code == 0) == documented(ran, "eval-selfcheck")["ok"]


def test_shards_are_merged(tmp_path: Path) -> None:
    for part, ids in (("1", "ac"), ("2", "b")):
        made_run(tmp_path / f"a.{part}", map(made_result, ids), shard=f"{part}/2")
    merged = codenav("eval", "report", tmp_path / "a.1", tmp_path / "a.2", "--merge", tmp_path / "a")
    assert merged.code == 0, merged.err
    ids = [json.loads(line)["id"] for line in (tmp_path / "a" / "results.jsonl").read_text().splitlines()]
    assert ids == ["a", "b", "c"]
    again = codenav("eval", "report", tmp_path / "a.1", tmp_path / "a", "--merge", tmp_path / "a")
    assert again.code == 2 and "holds a run already" in again.err
    one = codenav("eval", "report", tmp_path / "a.1", "--merge", tmp_path / "b")
    assert one.code == 4 and "1 attempt without a result: codenav eval run --resume" in one.err


def test_several_models_are_several_runs(tmp_path: Path, script: str) -> None:
    other = f"scripted:{shutil.copy(script.removeprefix('scripted:'), tmp_path / 'two.actions')}"
    ran = m3("--limit", "1", "--model", other, "--json", "--out", tmp_path / "b", model=script)
    assert [end["model"] for end in documented(ran, "eval-run")] == [script, other]
    assert {path.name for path in (tmp_path / "b").iterdir()} == {folder_of(script), folder_of(other)}


def test_a_server_that_is_down_makes_errors_and_resume_finishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody")
    with ChatServer([Fault(401, "no such key")] * 9) as server:
        ran = m3("--limit", "2", "--base-url", server.url, "--out", tmp_path / "a", model="any")
    assert ran.code == 4, ran.err
    assert "2 attempts (2 error), 0 correct" in ran.out
    assert "Error: 2 attempts: " in ran.err and f"Try: codenav eval run --resume --out {tmp_path / 'a'}" in ran.err
    with ChatServer([Code("answer = 1"), Done("1"), Code("answer = 1"), Done("1")]) as server:
        ran = codenav(
            "eval", "run", "--resume", "--out", tmp_path / "a", "--base-url", server.url, "--anyway", "--json"
        )
    assert ran.code == 0 and documented(ran, "eval-run")["statuses"] == {"done": 2}
    report = codenav("eval", "report", tmp_path / "a").out
    assert any(line.split() == ["error", "0"] for line in report.splitlines())


def test_the_grid_of_a_table_is_run_and_goes_on_where_it_was(tmp_path: Path, script: str) -> None:
    def ablate() -> Any:
        return codenav(
            "eval", "run", "--table", "4", "--data", SMALL, *QUICK, "--limit", "1", "--model", script, "--json",
            "--out", tmp_path / "t",
        )  # fmt: skip

    ends = documented(ablate(), "eval-run")
    assert [Path(end["run"]).name for end in ends] == ["paths", "library"]
    heads = [json.loads((tmp_path / "t" / name / "head.json").read_text()) for name in ("paths", "library")]
    assert [head["settings"].get("paths_only") for head in heads] == [True, None]
    before = (tmp_path / "t" / "paths" / "results.jsonl").read_bytes()
    assert ablate().code == 0 and (tmp_path / "t" / "paths" / "results.jsonl").read_bytes() == before


def test_a_terminal_shows_the_time_left_in_one_line(tmp_path: Path, script: str) -> None:
    run = ["eval", "run", "m3tooleval", "--data", SMALL, *QUICK, "--limit", "2", "--model", script]
    code, shown = on_a_terminal(*run, "--out", tmp_path / "a")
    assert code == 0 and "\r1 of 2 attempts, " in shown and " s left" in shown and "\r2 of 2 attempts, " in shown


def test_an_interrupted_run_says_how_it_goes_on(tmp_path: Path) -> None:
    endless = tmp_path / "endless.actions"
    endless.write_text("<action><type>code</type><content>while True: pass</content></action>\n" * 3)
    out = tmp_path / "a"
    run = ["eval", "run", "m3tooleval", "--data", SMALL, *QUICK, "--model", f"scripted:{endless}", "--out", out]
    with start(*run) as process:
        end = time.monotonic() + 60
        while not (out / "results.jsonl").exists() or not list((out / ".work").glob("*-1")):
            assert time.monotonic() < end
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (
        process.returncode == 130 and f"codenav eval run --resume --out {out}" in err and err.endswith("Interrupted.\n")
    )
    assert (out / "results.jsonl").read_bytes() == b"" and not (out / ".work").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([*RUN[:2], "m3tool", "--data", ".", "--out", "a"], 2, "no benchmark 'm3tool'"),
        ([*RUN, "--data", "gone", "--out", "a"], 2, "no such folder: "),
        ([*RUN, "--data", ".", "--out", "a"], 2, "is not this benchmark: there is no "),
        ([*RUN, "--data", SMALL, "--out", "a"], 2, "git checkout d607f56c9cfe9e8632ebaf65dcaf2b4b7fe1c6f8, or --any-c"),
        ([*GOOD, "--out", "a", "--ids", "x"], 2, "there is no sample 'x'"),
        ([*GOOD, "--out", "a", "--shard", "3/2"], 2, "'3/2' is no shard"),
        ([*GOOD, "--out", "a", "--price", "1"], 2, "'1' is no price"),
        ([*GOOD, "--out", "a", "--stub-tools"], 2, "has no option --stub-tools"),
        ([*GOOD, "--out", "a", "--description", "gone.md"], 2, "gone.md: No such file"),
        ([*GOOD, "--model", "x", "--out", "file"], 2, "cannot make the run"),
        (["eval", "prepare", "m3tooleval", "--data", SMALL, "--any-commit", "--out", "file"], 2, "is not a folder"),
        (["eval", "run", "--resume", "--out", "gone"], 2, "there is no gone/head.json"),
        (["eval", "report", "gone", "--merge", "a"], 2, "there is no gone/head.json"),
        (["eval", "run", "--table", "6", "--data", ".", "--out", "a"], 2, "'6' is not one of"),
        (["eval", "run", "--table", "5", "--data", ".", "--out", "a"], 2, "table 5 compares models"),
        ([*TABLE_3, "--shows", "code"], 2, "table 3 sets --shows itself"),
        ([*TABLE_3, "--model", "x", "--model", "y"], 2, "is of one model"),
    ],
    ids=lambda value: " ".join(map(str, value[1:])) if isinstance(value, list) else "",
)  # fmt: skip
def test_bad_input_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str | Path], code: int, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    ran = codenav(*arguments)
    assert ran.code == code and said in ran.err and "Traceback" not in ran.err, ran.err
    assert ran.out == ""
    assert not (tmp_path / "a").exists()


def test_resume_refuses_other_epochs_a_task_of_ones_own_and_a_checkout_that_is_gone(
    tmp_path: Path, script: str
) -> None:
    copy = Path(shutil.copytree(SMALL, tmp_path / "data"))
    out = tmp_path / "a"
    ran = codenav("eval", "run", "m3tooleval", "--data", copy, *QUICK, "--limit", "1", "--model", script, "--out", out)
    assert ran.code == 0, ran.err
    assert codenav("eval", "run", "--resume", "--out", out, "--epochs", "1").code == 0
    ran = codenav("eval", "run", "--resume", "--out", out, "--epochs", "3")
    assert ran.code == 2 and "was made with 1 epoch, not 3" in ran.err
    copy.rename(tmp_path / "moved")
    ran = codenav("eval", "run", "--resume", "--out", out)
    assert ran.code == 2 and "the checkout of" in ran.err and "--data" in ran.err
    assert codenav("eval", "run", "--resume", "--out", out, "--data", tmp_path / "moved").code == 0
    head = json.loads((out / "head.json").read_text())
    (out / "head.json").write_text(json.dumps({**head, "own": True, "task": "mine"}))
    ran = codenav("eval", "run", "--resume", "--out", out)
    assert ran.code == 2 and "a task of your own, mine" in ran.err


def test_the_grids_are_those_of_the_paper() -> None:
    assert {table: (of.benchmark, len(of.rows)) for table, of in GRIDS.items()} == {
        "2": ("mnms", 5), "3": ("mnms", 3), "4": ("m3tooleval", 2), "5": ("mnms", 0),
    }  # fmt: skip
    assert list(grid("5", ["Qwen/Qwen3-0.6B", "gpt-5", "gpt-5"]).rows) == ["Qwen-Qwen3-0.6B", "gpt-5"]
