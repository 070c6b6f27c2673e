"""The tasks of Inspect: the same scores as our runner, errors told apart, limits, and logs that can be read."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from codenav.evals.settings import SAMPLING

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("inspect_ai") is None, reason="the extra inspect is not installed"
)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The outcome of `inspect_runs.py`."""
    folder = tmp_path_factory.mktemp("inspect")
    environment = {**os.environ, "CODENAV_HOME": str(folder / "home"), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("inspect_runs.py")), str(folder)],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.nightly
def test_the_scores_are_those_of_our_runner(outcome: dict[str, Any]) -> None:
    theirs = {
        (sample["id"], sample["epoch"]): sample["scores"]["codenav_scores"]["scores"]
        for sample in outcome["same"]["samples"]
    }
    ours = {(result["id"], result["epoch"]): result["scores"] for result in outcome["results"]}
    assert len(ours) == 10 and theirs == ours
    assert {scores["correct"] for scores in ours.values()} == {True, False}
    assert not ours["13", 1]["summed_up"]


@pytest.mark.nightly
def test_the_sampling_and_the_samples_are_those_of_our_runner(outcome: dict[str, Any]) -> None:
    own = [SAMPLING["temperature"], SAMPLING["max_tokens"], SAMPLING["seed"]]
    assert outcome["same"]["sampled"] and all(one == own for one in outcome["same"]["sampled"])
    # A shard of ours is the same shard there, and what Inspect is told of the sampling wins.
    assert [sample["id"] for sample in outcome["part"]["samples"]] == outcome["part"]["ours"]
    assert all(one == [0.7, 50, 3] for one in outcome["part"]["sampled"])


@pytest.mark.nightly
def test_the_table_is_the_mean_over_epochs(outcome: dict[str, Any]) -> None:
    table = outcome["same"]["table"]
    assert table["ours F1 ±"] == 0.0
    for column, value in outcome["table"][0].items():
        assert table[column] == pytest.approx(value), column


@pytest.mark.nightly
def test_steps_answers_and_tokens(outcome: dict[str, Any]) -> None:
    by_run = {(result["id"], result["epoch"]): result for result in outcome["results"]}
    for sample in outcome["same"]["samples"]:
        ours, theirs = by_run[sample["id"], sample["epoch"]], sample["result"]
        for key in ("status", "answer", "program", "verified", "steps", "request", "gold", "group"):
            assert theirs[key] == ours[key], key
        assert [step["action"] for step in theirs["trajectory"]] == [step["action"] for step in ours["trajectory"]]
        # Tokens read from a cache are tokens: Inspect counts them apart.
        assert theirs["prompt_tokens"] == 110 * theirs["steps"] and theirs["completion_tokens"] == 20 * theirs["steps"]
        assert sample["tokens"] == [130 * theirs["steps"]]
        assert sample["values"]["codenav_scores"] == ("C" if ours["scores"]["correct"] else "I")
        # The whole conversation is in the log, and the expected answer is not in it.
        assert sample["messages"][:3] == ["system", "user", "assistant"] and sample["messages"][-1] == "assistant"
        assert "mnm/tool_api.py" in sample["prompt"]


@pytest.mark.nightly
def test_a_provider_that_is_down_is_an_error_that_counts_as_not_solved(outcome: dict[str, Any]) -> None:
    assert outcome["down"]["status"] == "success"
    second, first = outcome["down"]["samples"]
    assert first["error"] is None and first["values"] == {"codenav_scores": "C"}
    assert "the provider is down" in second["error"] and second["values"] == {"codenav_scores": "I"}
    assert [sample["scores"]["codenav_scores"]["status"] for sample in (first, second)] == ["done", "error"]
    assert outcome["down"]["table"]["correct"] == 50.0


@pytest.mark.nightly
def test_a_limit_of_inspect_ends_a_sample(outcome: dict[str, Any]) -> None:
    (sample,) = outcome["tokens"]["samples"]
    assert sample["limit"] == "token" and sample["error"] is None
    # It counts, as under a limit of our own: as an attempt that is not correct.
    assert sample["values"] == {"codenav_scores": "I"}
    assert sample["result"]["status"] == "limit" and sample["result"]["steps"] == 1
    assert "token (Inspect)" in sample["result"]["reason"]


@pytest.mark.nightly
def test_a_sample_that_hangs_ends(outcome: dict[str, Any]) -> None:
    (sample,) = outcome["hanging"]["samples"]
    assert sample["limit"] == "time" and outcome["hanging"]["seconds"] < 60
    assert sample["values"] == {"codenav_scores": "I"} and outcome["hanging"]["table"]["no summary"] == 100.0


def test_inspect_finds_the_tasks_by_name() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["inspect_ai"] == {"codenav": "codenav.evals.inspect_registry"}
    names = "codenav/m3tooleval", "codenav/api_bank", "codenav/mnms"
    code = (
        "import codenav.evals.inspect_registry as r\n"
        "print([getattr(r, n).__registry_info__.name for n in ('m3tooleval', 'api_bank', 'mnms')])"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == str(list(names)), done.stderr
