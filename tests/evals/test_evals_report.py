"""`codenav eval table`: figures, the paper's rows, notes, and runs that are not of one kind."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command_line import codenav
from made_runs import made_result, made_run

from codenav.core import schemas
from codenav.core.errors import UsageError
from codenav.evals.benchmark import BENCHMARKS, task_class
from codenav.evals.paper import MODEL, ROWS, row_for
from codenav.evals.report import report
from codenav.evals.report_text import report_text
from codenav.evals.task import Column


def lines(text: str) -> dict[str, list[str]]:
    """The cells of each line by its label; the first line of a label counts."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().split("  ") if cell.strip()]
        if cells:
            found.setdefault(cells[0], cells[1:])
    return found


def shown(*runs: Path, **options: Any) -> str:
    """The report of runs as text."""
    return report_text(report(runs, **options))


def document(*runs: Path, **options: Any) -> Any:
    """The report of runs as its document, after checking that."""
    found = json.loads(json.dumps(report(runs, **options).to_dict()))
    jsonschema.validate(found, schemas.load("eval-report"))
    return found


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two epochs: 2 of 3 and 1 of 2 correct, an error in the second."""
    results = [
        made_result("a"), made_result("b"), made_result("c", correct=False),
        made_result("a", 2), made_result("b", 2, correct=False, status="limit", steps=20),
        made_result("c", 2, status="error", scores={}, steps=0, seconds=9.0),
    ]  # fmt: skip
    return made_run(tmp_path / "run", results, epochs=2, facts={"commit": "abc", "description": "library"})


def test_a_table_has_our_figures_beside_the_papers(run: Path) -> None:
    ran = codenav("eval", "table", run, run, "--paper")
    assert ran.code == 0, ran.err
    table = lines(ran.out)
    spread = 2 * statistics.stdev([200 / 3, 50])
    # A run that is named twice is one.
    assert table["accuracy"] == [f"58.3 ±{spread:.1f} (23.1 to 88.2)", "81.7 ±4.9"]
    assert [table[name] for name in ("model", "epochs", "samples")] == [["gpt-5", MODEL], ["2", "3"], ["3", "82"]]
    assert table["steps"] == [f"6.5 ±{2 * statistics.stdev([2, 11]):.1f}", "7.8 ±0.4"]
    assert "two standard deviations" in ran.out
    for said in (
        f"model gpt-5; the paper's was {MODEL}",
        "2 epochs; the paper's figures are means of 3 runs",
        "3 samples; the paper had 82",
    ):
        assert said in ran.out
    assert codenav("eval", "table", run, "--paper", "--json").document == document(run)


def test_errors_are_counted_apart_and_enter_no_figure(run: Path) -> None:
    text = shown(run)
    table = lines(text)
    assert [table[name] for name in ("attempts", "correct", "wrong", "failed", "limit", "error")] == [
        ["6"], ["3"], ["1"], ["0"], ["1"], ["1"],
    ]  # fmt: skip
    assert "1 of 6 attempts ended as errors and are not solved" in text
    assert "16.5 s" in text  # five of 1.5 s and the 9 s of the error, which were spent too


def test_one_epoch_has_no_spread(tmp_path: Path) -> None:
    text = shown(made_run(tmp_path / "run", [made_result(name) for name in "abc"]))
    assert lines(text)["accuracy"] == ["100.0 (43.9 to 100.0)", "81.7 ±4.9"]
    assert "two standard deviations" not in text


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"model": "scripted:gold"}, "the answers were scripted"),
        ({"facts": {"stub_tools": True}}, "the tools were placeholders"),
        ({"samples": "abcd"}, "1 of 4 attempts have no result yet"),
        ({"shard": "1/1"}, "this is the shard 1/1"),
    ],
)
def test_what_a_reader_has_to_know_is_said(tmp_path: Path, changed: Mapping[str, Any], said: str) -> None:
    run = made_run(tmp_path / "run", [made_result(name) for name in "abc"], **changed)
    assert said in shown(run)
    assert any(said in note for note in document(run)["tasks"][0]["runs"][0]["notes"])


def test_rows_differ_in_their_ablation_and_any_other_difference_needs_mixed(tmp_path: Path) -> None:
    one = made_run(tmp_path / "one", [made_result("a")], samples="a", settings={"shows": "shorter"})
    row = {"shows": "code", "ablation": "shows-code"}
    two = made_run(tmp_path / "two", [made_result("a")], samples="a", settings=row, mode="tool-use")
    assert lines(codenav("eval", "table", one, two).out)["ablation"] == ["–", "shows-code"]
    head = json.loads((two / "head.json").read_text())
    (two / "head.json").write_text(json.dumps({**head, "settings": {**row, "docstrings": True}}))
    refused = codenav("eval", "table", one, two)
    assert (refused.code, refused.out) == (2, "")
    assert "have different settings: docstrings (none and True)\n" in refused.err
    assert "--mixed" in refused.err
    table = lines(codenav("eval", "table", one, two, "--mixed", "--paper").out)
    assert table["mode"] == ["code-use", "tool-use", "code-use", "tool-use"]
    assert table["shows"] == ["shorter", "code"]
    assert table["accuracy"] == ["100.0 (20.7 to 100.0)", "100.0 (20.7 to 100.0)", "81.7 ±4.9", "83.7 ±2.8"]
    head = json.loads((two / "head.json").read_text())
    (two / "head.json").write_text(json.dumps({**head, "codenav": "9.9"}))
    assert lines(shown(one, two, mixed=True))["codenav"][-1] == "9.9"


def test_two_runs_are_compared_sample_by_sample(tmp_path: Path) -> None:
    one = made_run(tmp_path / "one", [made_result("a"), made_result("b", correct=False), made_result("c")])
    down = made_result("c", status="error", scores={})
    two = made_run(tmp_path / "two", [made_result("a"), made_result("b"), down])
    assert f"{one} is better on 0, {two} on 1, equal on 1" in shown(one, two)
    assert document(one, two)["compared"] == [
        {
            "first": str(one), "second": str(two), "better": [], "worse": ["b"], "equal": 1,
            "pairs": 3, "first_alone": 1, "second_alone": 1, "p": 1.0,
        }
    ]  # fmt: skip
    assert "Of 3 pairs of attempts" in shown(one, two) and "p = 1.000 (McNemar)" in shown(one, two)
    assert "1 of 3 attempts ended as errors and are not solved (c)" in shown(one, two)


def test_a_row_says_what_it_was_made_with_and_runs_of_other_models_are_no_rows(tmp_path: Path) -> None:
    made: dict[str, Any] = {
        "settings": {"sampling": {"temperature": 0, "max_tokens": 8192, "seed": None}},
        "facts": {"profile": "small", "model_digest": "sha256:abc", "commit": "d" * 40},
    }
    one = made_run(tmp_path / "one", [made_result()], samples="a", **made)
    two = made_run(tmp_path / "two", [made_result(correct=False)], samples="a", **made, mode="tool-use")
    mine = made_run(tmp_path / "three", [made_result()], samples="a", **made, task="mine")
    text = shown(one, two, mine)
    table = lines(text)
    assert [table[name][0] for name in ("profile", "model digest", "sampling", "data commit")] == [
        "small", "sha256:abc", "temperature 0, max_tokens 8192", "d" * 12,
    ]  # fmt: skip
    facts = {**made["facts"], "model_digest": "sha256:def"}
    other = made_run(tmp_path / "other", [made_result()], samples="a", **{**made, "facts": facts}, task="mine")
    with pytest.raises(UsageError, match=r"model_digest \(sha256:abc and sha256:def\)"):
        report([one, other])


def test_three_runs_are_a_row_each_and_tested_against_the_first(tmp_path: Path) -> None:
    names = [f"s{number}" for number in range(12)]

    def ran(name: str, correct: int) -> Path:
        made = [made_result(id, correct=place < correct) for place, id in enumerate(names)]
        return made_run(tmp_path / name, made, samples=names, settings={"ablation": name})

    runs = [ran("one", 2), ran("two", 11), ran("three", 3)]
    text = shown(*runs)
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
    assert (
        rows[str(runs[1])][:5] == [str(runs[1]), "code-use", "gpt-5", "two", "91.7"] and "(64.6" in rows[str(runs[1])]
    )
    assert "paper, table 1" in text and "81.7 ±4.9" in text
    assert "alone solved 0, " in text and "alone 9: p = 0.004 (McNemar)" in text and "p = 1.000" in text


def test_runs_of_several_tasks_have_a_table_each(tmp_path: Path) -> None:
    one = made_run(tmp_path / "one", [made_result("a")], samples="a")
    two = made_run(tmp_path / "two", [made_result("a", scores={"f1": 0.5, "correct": False})], samples="a", task="mine")
    text = shown(one, two, mixed=True)
    assert [table["task"] for table in document(one, two, mixed=True)["tasks"]] == ["m3tooleval", "mine"]
    assert [table.split()[0] for table in text.split("\n\n") if "code-use" in table] == ["m3tooleval", "mine"]
    assert lines(text)["f1"] == ["0.5"]


def test_the_document_holds_each_epoch_and_the_groups(tmp_path: Path) -> None:
    results = [
        made_result("a", group="dna"),
        made_result("b", group="dna", correct=False),
        made_result("c", group="trade"),
    ]
    found = document(made_run(tmp_path / "run", results, facts={"commit": "abc"}))["tasks"][0]["runs"][0]
    assert found["figures"]["accuracy"] == {
        "mean": pytest.approx(200 / 3),
        "spread": None,
        "interval": [pytest.approx(20.77, abs=0.01), pytest.approx(93.85, abs=0.01)],
        "epochs": [pytest.approx(200 / 3)],
    }
    assert found["groups"] == {"dna": {"attempts": 2, "correct": 1}, "trade": {"attempts": 1, "correct": 1}}
    assert found["totals"]["tokens_in"] == 3000
    assert found["totals"]["dollars"] == pytest.approx(0.03)
    assert found["facts"] == {"commit": "abc"}
    assert found["paper"]["figures"]["accuracy"] == "81.7 ±4.9"


def test_dollars_are_left_out_where_one_is_unknown(tmp_path: Path) -> None:
    text = shown(made_run(tmp_path / "run", [made_result("a"), made_result("b", dollars=None)], samples="ab"))
    assert "dollars" not in lines(text) and "$" not in text


def test_damaged_lines_are_told_and_left_out(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", [made_result("a")], samples="a")
    with (run / "results.jsonl").open("ab") as file:
        file.write(b'{"id": "b", "epo')
    text = shown(run)
    assert "left out" in text and lines(text)["accuracy"][0] == "100.0 (20.7 to 100.0)"


def test_what_is_no_run_is_named(tmp_path: Path) -> None:
    for name in ("empty", "broken"):
        (tmp_path / name).mkdir()
    (tmp_path / "broken" / "head.json").write_text("{")
    scores = {"right": True}
    made_run(tmp_path / "old", [made_result("a", scores=scores)], samples="a")
    for name, said in (
        ("nothing", "no run in"),
        ("empty", "no run in"),
        ("broken", "cannot be read"),
        ("old", "are not those of m3tooleval in this codenav"),
    ):
        ran = codenav("eval", "table", tmp_path / name)
        assert (ran.code, ran.out) == (2, "") and said in ran.err and "Traceback" not in ran.err, ran.err


def test_a_run_without_results_has_a_table_without_figures(tmp_path: Path) -> None:
    text = shown(made_run(tmp_path / "run", []))
    assert lines(text)["accuracy"][0] == "–"
    assert "3 of 3 attempts have no result yet" in text


class Own:
    """A task of one's own: a mean of a score, under a name of its own."""

    name = "mine"
    columns = (Column("points", "points of 10"),)

    def aggregate(self, scores: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        return {"points": statistics.fmean(score["points"] for score in scores)}


def test_a_task_of_ones_own_has_its_own_columns(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", [made_result("a", scores={"points": 7})], samples="a", task="mine")
    text = report_text(report([run], own=[Own()]))  # type: ignore[list-item]
    assert lines(text)["points"] == ["7.0"]
    assert "paper" not in text
    json.dumps(report([run]).to_dict())


def test_a_table_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError):
        report([])


@pytest.mark.parametrize(
    ("arguments", "table", "figure"),
    [
        ({"task": "mnms", "description": "names"}, 2, "78.1 ±3.5"),
        ({"task": "mnms", "shows": "code"}, 3, "81.2 ±2.3"),
        ({"task": "m3tooleval", "paths_only": True}, 4, "76.8 ±6.5"),
        ({"task": "mnms", "model": "mistralai/Mixtral-8x22B-Instruct-v0.1"}, 5, "67.9 ±1.3"),
        ({"task": "mnms", "model": "gpt-5"}, 1, "80.6 ±5.1"),
        ({"task": "mnms", "mode": "tool-use", "description": "all tools"}, 1, "79.6 ±2.3"),
        ({"task": "api-bank"}, 1, "85.3 ±0.3"),
    ],
)
def test_the_papers_row_is_that_of_the_same_set_up(arguments: dict[str, Any], table: int, figure: str) -> None:
    usual = {"mode": "code-use", "description": "library", "shows": "shorter", "paths_only": False, "model": MODEL}
    row = row_for(**{**usual, **arguments})
    assert row is not None
    assert (row.table, row.figures.get("F1") or row.figures["accuracy"]) == (table, figure)


def test_a_set_up_that_the_paper_did_not_try_has_no_row() -> None:
    usual = {"description": "library", "shows": "shorter", "paths_only": False, "model": MODEL}
    assert row_for("mine", "code-use", **usual) is None  # type: ignore[arg-type]
    assert row_for("api-bank", "code-use", **{**usual, "shows": "code"}) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("name", list(BENCHMARKS))
def test_the_metrics_of_a_benchmarks_columns_are_those_of_table_1(name: str) -> None:
    printed = [set(row.figures) for row in ROWS if (row.table, row.task) == (1, name)]
    assert {column.metric for column in task_class(name).columns if column.metric} == printed[0] - {"steps"}
    assert len(printed) == 2 and printed[0] == printed[1]
