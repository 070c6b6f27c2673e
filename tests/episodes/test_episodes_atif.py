"""Episodes in ATIF: each step once, in the form that Harbor reads, of every kind of run."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from codenav.core.actions import Code
from codenav.core.events import ActionTaken, Status, Unfinished
from codenav.core.usage import Usage
from codenav.episodes.record import EpisodeResult

DATA = Path(__file__).parents[1] / "data"
Recorded = Callable[..., EpisodeResult]


def atif(result: EpisodeResult, folder: Path) -> dict[str, Any]:
    """The trajectory of an episode, after checking it as Harbor's validator does."""
    document: dict[str, Any] = json.loads(result.to_atif(folder / "trajectory.json").read_text())
    schema = json.loads((DATA / "schemas" / "atif-1.7.schema.json").read_text())
    jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker()).validate(document)
    assert [step["step_id"] for step in document["steps"]] == list(range(1, len(document["steps"]) + 1))
    for step in document["steps"]:
        called = {call["tool_call_id"] for call in step.get("tool_calls", [])}
        answered = {one.get("source_call_id") for one in step.get("observation", {"results": []})["results"]}
        assert answered - {None} <= called
    if importlib.util.find_spec("harbor"):
        from harbor.models.trajectories import Trajectory  # type: ignore[import-not-found, unused-ignore]

        Trajectory.model_validate(document)
    return document


def test_every_step_is_there_with_its_action_and_what_came_back(recorded: Recorded, tmp_path: Path) -> None:
    result = recorded()
    made = atif(result, tmp_path)
    system, user, *steps = made["steps"]
    assert (system["source"], system["message"]) == ("system", "You are…")
    assert (user["message"], user["timestamp"]) == (result.request, result.started)
    assert [step.get("tool_calls", [{}])[0].get("function_name", "") for step in steps] == [
        "search", "", "code", "code", "code", "ask", "code_summary", "",
    ]  # fmt: skip
    code = steps[4]
    assert code["tool_calls"][0]["arguments"] == {"content": "best = 0\nprint('node', best)"}
    assert code["observation"]["results"] == [{"source_call_id": "step-5", "content": "node 0"}]
    assert (code["message"], code["reasoning_content"]) == ("again", "hm") and code["extra"]["outcome"] == "ok"
    assert code["metrics"] == {"prompt_tokens": 500, "completion_tokens": 10}
    assert steps[1]["message"] == result.steps[1].response and "no action found" in str(steps[1]["observation"])
    assert steps[-1]["message"] == "Node 0" and "observation" not in steps[-1]
    totals = made["final_metrics"]
    assert totals["total_steps"] == 10 and totals["total_prompt_tokens"] == result.usage.input_tokens
    assert made["agent"]["extra"]["sources"] == ["pkg:networkx@3.6.1"] and made["extra"]["verdict"] == "reproduced"


def test_a_run_that_was_cut_off_ends_with_what_was_under_way(recorded: Recorded, tmp_path: Path) -> None:
    result = replace(
        recorded(),
        status=Status.INTERRUPTED,
        reason="interrupted",
        under_way=ActionTaken(9, Code("while True: pass")),
        unfinished=Unfinished("<type>co", "", Usage(1, 5, 2)),
        prompt="",
    )
    made = atif(result, tmp_path)
    assert made["notes"] == "interrupted" and made["steps"][0]["source"] == "user"
    acted, cut = made["steps"][-2:]
    assert acted["tool_calls"][0]["arguments"] == {"content": "while True: pass"} and "observation" not in acted
    assert (cut["message"], cut["extra"]) == ("<type>co", {"cut_off": True})


def test_a_step_without_a_model_has_no_tokens_and_money_is_told_where_it_is_known(
    recorded: Recorded, tmp_path: Path
) -> None:
    result = recorded()
    first, second, *rest = result.steps
    steps = [replace(first, usage=Usage(), reasoning=""), replace(second, usage=Usage(2, 10, 5, dollars=0.5)), *rest]
    made = atif(replace(result, steps=steps, usage=replace(result.usage, dollars=0.5)), tmp_path)
    assert made["steps"][2]["llm_call_count"] == 0 and "metrics" not in made["steps"][2]
    assert made["steps"][3]["metrics"]["cost_usd"] == 0.5 and made["steps"][3]["llm_call_count"] == 2
    assert made["final_metrics"]["total_cost_usd"] == 0.5


def test_records_of_the_first_format_can_be_exported(tmp_path: Path) -> None:
    lines = (DATA / "episodes" / "format-1.jsonl").read_bytes().splitlines(keepends=True)
    assert atif(EpisodeResult.from_events(lines), tmp_path)["steps"]


@pytest.mark.parametrize("breaks", [{"step_id": 0}, {"source": "tool"}, {"thought": "x"}, {"tool_calls": [{}]}])
def test_the_schema_refuses_what_harbor_refuses(recorded: Recorded, tmp_path: Path, breaks: dict[str, Any]) -> None:
    made = atif(recorded(), tmp_path)
    made["steps"][3] |= breaks
    schema = json.loads((DATA / "schemas" / "atif-1.7.schema.json").read_text())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(made)
