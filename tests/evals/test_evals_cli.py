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
from codenav.evals.ablations import ABLATIONS
from codenav.evals.benchmark import BENCHMARKS
from codenav.evals.paper import folder_of
from codenav.evals.settings import Settings, in_draw

SMALL = Path(__file__).parents[1] / "data" / "evals" / "m3tooleval"
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
    assert "2 of 2 attempts" in ran.err and f"Table: codenav eval table {tmp_path / 'a'}" in ran.err
    head = json.loads((tmp_path / "a" / "head.json").read_text())
    assert head["settings"]["limits"]["seconds"] == 20 and head["settings"]["checks_lint"] is False
    assert head["settings"]["description"] == "library" and head["place"]["data"] == str(SMALL)
    report = codenav("eval", "table", tmp_path / "a")
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


def test_shards_are_merged_and_what_makes_no_whole_is_named(tmp_path: Path) -> None:
    for part, ids in (("1", "ac"), ("2", "b")):
        made_run(tmp_path / f"a.{part}", map(made_result, ids), shard=f"{part}/2")
    one, two, out = tmp_path / "a.1", tmp_path / "a.2", tmp_path / "a"
    merged = codenav("eval", "merge", one, two, "--out", out)
    assert merged.code == 0, merged.err
    ids = [json.loads(line)["id"] for line in (out / "results.jsonl").read_text().splitlines()]
    assert ids == ["a", "b", "c"]
    again = codenav("eval", "merge", one, two, "--out", out)
    assert again.code == 2 and "holds a run already" in again.err
    made_run(tmp_path / "b.1", [made_result("a")], shard="1/2")
    made_run(tmp_path / "3", [], shard="1/3")
    made_run(tmp_path / "m", [], shard="2/2", model="other", facts={"commit": "b" * 40})
    for runs, said in (
        ([one], "the shard 2/2 is missing"),
        ([tmp_path / "3"], "the shards 2/3, 3/3 are missing"),
        ([one, tmp_path / "b.1"], f"{one} and {tmp_path / 'b.1'} are both the shard 1/2"),
        ([two, tmp_path / "3"], "shards of 2 and of 3 parts make no whole"),
        ([one, tmp_path / "m"], f"model (gpt-5 and other), commit (none and {'b' * 40})"),
    ):
        ran = codenav("eval", "merge", *runs, "--out", tmp_path / "c")
        assert (ran.code, ran.out) == (2, "") and said in ran.err and "Traceback" not in ran.err, ran.err
        assert not (tmp_path / "c").exists()
    hole = codenav("eval", "merge", one, "--anyway", "--out", tmp_path / "c")
    assert hole.code == 4 and "1 attempt without a result: codenav eval run --resume" in hole.err


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
    report = codenav("eval", "table", tmp_path / "a").out
    assert any(line.split() == ["error", "0"] for line in report.splitlines())


def test_ablations_are_a_run_each_and_a_row_each_and_go_on_where_they_were(tmp_path: Path, script: str) -> None:
    names = ["profile-full", "description-paths", "no-search", "shows-prototypes"]

    def ablate() -> Any:
        chosen = [part for name in names for part in ("--ablation", name)]
        return m3("--limit", "1", *chosen, "--json", "--out", tmp_path / "t", model=script)

    ends = documented(ablate(), "eval-run")
    assert [Path(end["run"]).name for end in ends] == names
    heads = [json.loads((tmp_path / "t" / name / "head.json").read_text()) for name in names]
    assert [head["settings"]["ablation"] for head in heads] == names
    assert [head["settings"].get("paths_only") for head in heads] == [None, True, None, None]
    assert [head["mode"] for head in heads] == ["code-use", "code-use", "no-search", "code-use"]
    assert heads[3]["settings"]["shows"] == "prototypes" and heads[0]["settings"]["profile"] == "full"
    before = (tmp_path / "t" / "no-search" / "results.jsonl").read_bytes()
    assert ablate().code == 0 and (tmp_path / "t" / "no-search" / "results.jsonl").read_bytes() == before
    table = codenav("eval", "table", *[tmp_path / "t" / name for name in names], "--paper")
    assert table.code == 0, table.err
    rows = {line.split()[0]: line for line in table.out.splitlines() if line}
    assert all(name in rows[str(tmp_path / "t" / name)] for name in names[1:])
    assert "76.8 ±6.5" in table.out and "83.7 ±2.8" in table.out and table.out.count("(McNemar)") == 3


def test_every_ablation_has_settings_that_a_run_takes(tmp_path: Path) -> None:
    for name, one in ABLATIONS.items():
        made = Settings.of({**one.keywords, "ablation": name})
        assert made.ablation == name and set(one.options) <= {"description", "paths_only"}


def test_hours_that_are_over_leave_a_fair_part_that_goes_on(tmp_path: Path, script: str) -> None:
    out = tmp_path / "a"
    ran = m3("--hours", "0.0000001", "--out", out, model=script)
    assert ran.code == 3 and "The hours are over: 0 attempts of " in ran.err and f"--resume --out {out}" in ran.err
    ran = codenav("eval", "run", "--resume", "--out", out, "--hours", "1")
    assert ran.code == 0, ran.err
    written = [json.loads(line)["id"] for line in (out / "results.jsonl").read_text().splitlines()]
    samples = json.loads((out / "head.json").read_text())["samples"]
    assert written == sorted(samples, key=in_draw) and written != samples


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
        ([*RUN, "--data", "gone", "--out", "a"], 2, "git clone https://github.com/xingyaoww/code-act DIR"),
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
        (["eval", "merge", "gone", "--out", "a"], 2, "there is no gone/head.json"),
        ([*GOOD, "--out", "a", "--ablation", "no-serch"], 2, "no ablation 'no-serch'"),
        ([*GOOD, "--out", "a", "--ablation", "description-none", "--description", "names"], 2, "sets --descr"),
        ([*GOOD, "--out", "a", "--hours", "0"], 2, "0.0 is not in the range x>0"),
        ([*GOOD, "--out", "a", "--mode", "tool-use"], 2, "--mode is --use code, or --use tools now."),
        ([*GOOD, "--out", "a", "--table", "2"], 2, "--table is --ablation NAME now."),
        ([*GOOD, "--out", "a", "--epochs", "2"], 2, "--epochs is --seeds now."),
        (["eval", "table", "a", "--merge", "b"], 2, "--merge is codenav eval merge RUN... --out DIR now."),
        (["eval", "table", "a", "--labels", "b"], 2, "--labels and --base-url go with --judge."),
        (["eval", "table", "a", "--paper", "--judge", "b"], 2, "--judge makes no table"),
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
    assert codenav("eval", "run", "--resume", "--out", out, "--seeds", "1").code == 0
    ran = codenav("eval", "run", "--resume", "--out", out, "--seeds", "3")
    assert ran.code == 2 and "was made with 1 seed, not 3" in ran.err
    copy.rename(tmp_path / "moved")
    ran = codenav("eval", "run", "--resume", "--out", out)
    assert ran.code == 2 and "the checkout of" in ran.err and "--data" in ran.err
    assert codenav("eval", "run", "--resume", "--out", out, "--data", tmp_path / "moved").code == 0
    head = json.loads((out / "head.json").read_text())
    (out / "head.json").write_text(json.dumps({**head, "own": True, "task": "mine"}))
    ran = codenav("eval", "run", "--resume", "--out", out)
    assert ran.code == 2 and "a task of your own, mine" in ran.err
