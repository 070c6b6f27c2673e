"""M3ToolEval through the runner, with a scripted model on the small data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import codenav.evals
from codenav.agents.models import FunctionModel, ScriptedModel
from codenav.core.actions import Action, Code, Done, Search
from codenav.core.errors import ContextOverflow
from codenav.core.messages import Message
from codenav.evals import Sample
from codenav.evals.m3tooleval import M3ToolEval
from codenav.session.api import load_episode

SMALL = Path(__file__).parents[1] / "data" / "evals" / "m3tooleval"

SCRIPTS: dict[str, list[Action]] = {
    "plants:tuple": [
        Search("(file_path: *m3eval/dna_sequencer.py)"),
        Code(
            "from m3eval.dna_sequencer import count_letters, most_frequent\n"
            "counts = count_letters('GATTACA')\n"
            "answer = most_frequent(*[part for pair in counts.items() for part in pair])"
        ),
        Done("A"),
    ],
    "trade_calculator:list": [Done("[110.0, 220.0]")],
    "trade_calculator:fraction": [Code("from m3eval.trade_calculator import calculator\ncalculator()"), Done("20")],
    "web_browsing:price_of_blue_kettle": [
        Code("from m3eval.browser import WebBrowser\nbrowser = WebBrowser()\nprint(browser.click_url('/kettles'))"),
        Code("print(browser.go_to_previous_page())\nanswer = object()"),
        Done("$24.37"),
    ],
    "web_browsing:price_of_tin_spoon": [Code(f"answer = 3.{digit}") for digit in range(4)],
}


def scripted(sample: Sample) -> ScriptedModel:
    return ScriptedModel(SCRIPTS[sample.id])


def run(out: Path, **more: Any) -> codenav.evals.Run:
    task = M3ToolEval(SMALL, any_commit=True)
    options: Any = {"checks_lint": False, "checks_types": False, "limits": codenav.Limits(steps=4), **more}
    return codenav.evals.run(task, out=out, model=scripted, **{"ids": list(SCRIPTS), **options})


def test_answers_are_taken_from_the_variable_else_from_done_and_calls_are_traced(tmp_path: Path) -> None:
    ended = run(tmp_path / "run")
    results = {one.id: one for one in ended.results}
    assert {id: (one.status, one.scores["correct"], one.scores["graded"]) for id, one in results.items()} == {
        "plants:tuple": ("done", True, "variable"),
        "trade_calculator:list": ("done", True, "text"),
        "trade_calculator:fraction": ("done", False, "text"),
        "web_browsing:price_of_blue_kettle": ("done", True, "text"),
        "web_browsing:price_of_tin_spoon": ("limit", False, "nothing"),
    }
    assert [(call["name"], call["step"], call["failed"]) for call in results["plants:tuple"].calls] == [
        ("count_letters", 2, False),
        ("most_frequent", 2, False),
    ]
    assert results["plants:tuple"].calls[1]["arguments"] == {"args": ["G", 1, "A", 3, "T", 2, "C", 1]}
    assert [(call["name"], call["failed"]) for call in results["trade_calculator:fraction"].calls] == [
        ("calculator", True)
    ]
    browsed = results["web_browsing:price_of_blue_kettle"].calls
    assert [(call["name"], call["arguments"], call["step"]) for call in browsed] == [
        ("click_url", {"url": "/kettles"}, 1),
        ("go_to_previous_page", {}, 2),
    ]
    assert ended.table == [{"accuracy": 60.0, "upstream": 60.0, "variable": 20.0, "text": 60.0, "untooled": 20.0}]


def test_a_conversation_that_no_longer_fits_has_failed_and_its_tokens_count(tmp_path: Path) -> None:
    def cramped(messages: Sequence[Message]) -> Action:
        if len(messages) > 2:
            raise ContextOverflow("the conversation is too long", limit=10, prompt_tokens=11)
        return Code("answer = ('A', 3)")

    task = M3ToolEval(SMALL, any_commit=True)
    model = FunctionModel(cramped)
    ended = codenav.evals.run(
        task, out=tmp_path, model=model, ids=["plants:tuple"], checks_lint=False, checks_types=False
    )
    [result] = ended.results
    assert (result.status, result.steps, result.reason) == ("failed", 1, "the conversation is too long")
    assert result.prompt_tokens > 100 and result.scores["correct"] is False and ended.missing == 0


def test_no_expected_result_reaches_the_prompt_the_code_base_or_the_work_folder(tmp_path: Path) -> None:
    ended = run(tmp_path / "run", mode="no-search", ids=["plants:tuple"])
    [result] = ended.results
    # There is no search in this mode: the script's first action is none.
    assert result.status == "done" and [step["action"] for step in result.trajectory] == ["invalid", "code", "done"]
    prompt = load_episode(result.episode).prompt
    assert "[2] most_frequent: The letter with the largest count." in prompt and "# Action: search" not in prompt
    written = b"".join(path.read_bytes() for path in (tmp_path / "run" / "code").rglob("*") if path.is_file())
    for gold in ("('A', 3)", "20.7", "110.0", "metadata"):
        assert gold not in prompt and gold.encode() not in written
