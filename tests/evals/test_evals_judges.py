"""`codenav eval table --judge`, with judges that play scripts: rates, ties, prose, labels, and what is kept."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import jsonschema
import pytest
from chat_server import ChatServer, Hang
from command_line import codenav, start
from made_runs import made_result, made_run

from codenav.agents.judge import Judge
from codenav.agents.models import FunctionModel, ScriptedModel
from codenav.core import schemas
from codenav.evals.judges import judge_pair, judge_run, material_of
from codenav.evals.recorded import RunRecord
from codenav.evals.verdicts import Label, VerdictFile, agreement

PASSES, FAILS = "It is right.\nVERDICT: pass", "It is made up.\nVERDICT: fail"


def script(path: Path, *answers: str) -> str:
    path.write_text("\n".join(f"<action>{answer}</action>" for answer in answers))
    return f"scripted:{path}"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    limit = made_result("c", status="limit", answer="", correct=False, reason="limit reached: 20 of 20 steps")
    down = made_result("d", status="error", scores={}, reason="the server is down")
    results = [made_result("a"), made_result("b", correct=False), limit, down]
    return made_run(tmp_path / "run", results, samples="abcd")


def test_a_pass_rate_counts_limits_as_failed_and_leaves_errors_out(run: Path, tmp_path: Path) -> None:
    ran = codenav("eval", "table", run, "--judge", script(tmp_path / "judge", PASSES, FAILS), "--json")
    assert ran.code == 0, ran.err
    document = ran.document
    third = pytest.approx(100 / 3)
    interval = [pytest.approx(6.15, abs=0.01), pytest.approx(79.23, abs=0.01)]
    assert document["rate"] == {"mean": third, "spread": None, "interval": interval, "epochs": [third]}
    assert document["counts"] == {"pass": 1, "fail": 2, "unreadable": 0}
    assert document["left_out"] == 1
    assert [(one["id"], one["verdict"], one["asked"]) for one in document["verdicts"]] == [
        ("a", "pass", True), ("b", "fail", True), ("c", "fail", False),
    ]  # fmt: skip
    assert document["tokens"] > 100
    jsonschema.validate(document, schemas.load("eval-judge"))


def test_nothing_is_asked_twice(run: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "judge", PASSES, FAILS)
    first = codenav("eval", "table", run, "--judge", model, "--json")
    # A script of the same name that would say the opposite.
    again = codenav("eval", "table", run, "--judge", script(tmp_path / "judge", FAILS, FAILS), "--json")
    assert again.document == first.document


def test_verdicts_stand_in_the_page_of_a_report(run: Path, tmp_path: Path) -> None:
    assert codenav("eval", "table", run, "--judge", script(tmp_path / "judge", PASSES, FAILS)).code == 0
    ran = codenav("eval", "table", run, "--html", tmp_path / "a.html")
    assert ran.code == 0, ran.err
    text = (tmp_path / "a.html").read_text()
    assert "scripted:judge: pass. It is right." in text
    assert "scripted:judge: fail. It is made up." in text


def test_a_torn_line_is_asked_again(run: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "judge", PASSES, PASSES)
    assert codenav("eval", "table", run, "--judge", model).code == 0
    kept = run / "judged.jsonl"
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-10])
    script(tmp_path / "judge", FAILS)
    counts = codenav("eval", "table", run, "--judge", model, "--json").document["counts"]
    assert counts == {"pass": 1, "fail": 2, "unreadable": 0}
    assert len(VerdictFile(run)) == 2


def test_a_judge_that_answers_prose_is_counted_apart(run: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "judge", "Well done!", "Really.", "Hm.", PASSES)
    ran = codenav("eval", "table", run, "--judge", model)
    assert ran.code == 0, ran.err
    assert "unreadable   1\n" in ran.out
    assert "no verdict on 1 could be read; of a the judge said: Well done!" in ran.err
    assert "pass rate, % 50.0 (9.5 to 90.5)\n" in ran.out


def test_of_two_runs_the_win_rate_counts_ties_as_a_half(run: Path, tmp_path: Path) -> None:
    other = made_run(tmp_path / "other", [made_result("a"), made_result("b"), made_result("c")], samples="abc")
    orders = ("VERDICT: 1", "VERDICT: 2", "VERDICT: 1", "VERDICT: 1", "VERDICT: 2", "VERDICT: 1")
    ran = codenav("eval", "table", run, other, "--judge", script(tmp_path / "judge", *orders), "--json")
    assert ran.code == 0, ran.err
    jsonschema.validate(ran.document, schemas.load("eval-judge"))
    assert ran.document["counts"] == {"first": 1, "second": 1, "tie": 1, "unreadable": 0}
    assert ran.document["inconsistent"] == 1
    assert ran.document["rate"]["mean"] == 50
    assert ran.document["left_out"] == 1


def test_agreement_with_people(run: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text(
        '{"id": "a", "verdict": "pass"}\n\n{"id": "b", "epoch": 1, "verdict": "pass"}\n{"id": "c", "verdict": "fail"}\n'
        '{"id": "not in the run", "verdict": "fail"}\n{"id": "a", "epoch": 2, "verdict": "fail"}\n'
    )
    model = script(tmp_path / "judge", PASSES, FAILS)
    ran = codenav("eval", "table", run, "--judge", model, "--labels", labels)
    assert "people       agree on 2 of 3 labels, kappa 0.40\n" in ran.out
    document = codenav("eval", "table", run, "--judge", model, "--labels", labels, "--json").document
    jsonschema.validate(document, schemas.load("eval-judge"))
    assert document["agreement"]["agree"] == 2


def test_kappa_by_its_definition() -> None:
    verdicts = {("a", 1): "pass", ("b", 1): "fail", ("c", 1): "unreadable"}
    both = [Label("a", "pass"), Label("b", "fail"), Label("c", "pass")]
    assert agreement(both, verdicts) == {"labels": 2, "agree": 2, "share": 1.0, "kappa": 1.0}
    assert agreement([Label("a", "pass")], verdicts) == {"labels": 1, "agree": 1, "share": 1.0, "kappa": None}
    assert agreement([Label("c", "pass")], verdicts)["share"] is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"id": "a"}', "line 1 is no label"),
        ('{"id": "a", "verdict": "pass"}\n{"id": "a", "verdict": "first"}', "line 2 is no label"),
        ("pass", "line 1 is no label"),
        ("", "holds no label"),
    ],
)
def test_a_wrong_label_is_named_before_anything_is_asked(run: Path, tmp_path: Path, text: str, said: str) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text(text)
    ran = codenav("eval", "table", run, "--judge", "scripted:no-such-file", "--labels", labels)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert "pass or fail" in ran.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("no-such-run", "--judge", "gpt-5"), "no run in"),
        (("run", "run", "run", "--judge", "gpt-5"), "3 runs"),
        (("run", "./run", "--judge", "gpt-5"), "the two runs are one"),
        (("run", "--labels", "x"), "go with --judge"),
    ],
)
def test_wrong_usage(run: Path, arguments: tuple[str, ...], said: str) -> None:
    ran = codenav("eval", "table", *arguments, cwd=run.parent)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_runs_without_a_common_attempt_cannot_be_compared(run: Path, tmp_path: Path) -> None:
    other = made_run(tmp_path / "other", [made_result("z")], samples="z")
    ran = codenav("eval", "table", run, other, "--judge", "gpt-5", "--base-url", "http://127.0.0.1:9")
    assert ran.code == 2
    assert "no attempt in common" in ran.err


def test_a_judge_that_is_down_is_exit_code_4(run: Path) -> None:
    ran = codenav("eval", "table", run, "--judge", "gpt-5", "--base-url", "http://127.0.0.1:9/v1")
    assert ran.code == 4, ran.err
    assert "Traceback" not in ran.err


def test_a_judge_on_a_server_is_asked_several_things_at_a_time(tmp_path: Path, chat_server: ChatServer) -> None:
    names = [f"s{number}" for number in range(12)]
    run = made_run(tmp_path / "many", [made_result(name) for name in names], samples=names)
    chat_server.models = ["gpt-5"]
    chat_server.script = lambda body: PASSES if "Compute s1" in body["messages"][1]["content"] else FAILS
    ran = codenav("eval", "table", run, "--judge", "gpt-5", "--base-url", chat_server.url, "--jobs", "4", "--json")
    assert ran.code == 0, ran.err
    assert [one["verdict"] for one in ran.document["verdicts"]] == [
        "pass" if name.startswith("s1") else "fail" for name in names
    ]


def test_an_interrupt_ends_at_once_and_keeps_the_verdicts(tmp_path: Path, chat_server: ChatServer) -> None:
    names = [f"s{number}" for number in range(6)]
    run = made_run(tmp_path / "many", [made_result(name) for name in names], samples=names)
    chat_server.models = ["gpt-5"]
    chat_server.script = lambda body: PASSES if "Compute s0" in body["messages"][1]["content"] else Hang()
    process = start("eval", "table", run, "--judge", "gpt-5", "--base-url", chat_server.url, "--jobs", "2")
    # One for the list of models; the first verdict makes room for a third question.
    while len(chat_server.chats) < 3:
        chat_server.wait_for(len(chat_server.requests) + 1)
    began = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert time.monotonic() - began < 10
    assert "Traceback" not in err
    assert len(VerdictFile(run)) == 1


def test_verdicts_that_cannot_be_kept_are_exit_code_4(run: Path, tmp_path: Path) -> None:
    (run / "judged.jsonl").mkdir()
    ran = codenav("eval", "table", run, "--judge", script(tmp_path / "judge", PASSES))
    assert ran.code == 4, ran.err
    assert "cannot keep a verdict" in ran.err
    assert "Traceback" not in ran.err


def test_the_judge_sees_code_and_output_and_no_expected_result(run: Path) -> None:
    result = made_result("a", gold={"value": "GOLD"}, values={"answer": "12"})
    attempt = material_of(result)
    assert "answer = 12" in attempt.record
    assert "find minimum" in attempt.record
    prompts: list[str] = []

    def answer(messages: object) -> str:
        prompts.append(str(messages))
        return PASSES

    recorded = RunRecord.read(run)
    judge_run(Judge(FunctionModel(answer)), RunRecord(recorded.name, recorded.head, [result]), VerdictFile(run))
    assert len(prompts) == 1
    assert "GOLD" not in prompts[0]


def test_a_pair_without_answers_is_a_tie_that_nobody_was_asked_for(run: Path) -> None:
    recorded = RunRecord.read(run)
    made = judge_pair(
        Judge(ScriptedModel([])), *[RunRecord("x", recorded.head, recorded.results[2:])] * 2, VerdictFile(run)
    )
    assert [(one.id, one.verdict, one.asked) for one in made.verdicts] == [("c", "tie", False)]
    assert json.loads(json.dumps(made.to_dict()))["kind"] == "preference"
