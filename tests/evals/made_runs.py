"""Run folders made for tests: a task of three samples, or as many as wanted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from codenav.evals.results import Result
from codenav.evals.runs import Head, RunFolder


def made_run(
    path: Path,
    results: Iterable[Result],
    *,
    task: str = "m3tooleval",
    mode: str = "code-use",
    model: str = "gpt-5",
    epochs: int = 1,
    samples: Iterable[str] = ("a", "b", "c"),
    settings: Mapping[str, Any] | None = None,
    facts: Mapping[str, Any] | None = None,
    shard: str = "",
) -> Path:
    """A run with these results on the disk."""
    head = Head(task, mode, model, epochs, list(samples), settings or {}, facts or {}, shard=shard)
    folder = RunFolder.make(path, head)
    with folder.adding() as add:
        for result in results:
            add(result)
    return path


def made_result(id: str = "a", epoch: int = 1, *, correct: bool = True, **changed: Any) -> Result:
    """A result of an attempt that ended with `done`."""
    kept: dict[str, Any] = {
        "status": "done",
        "scores": {"correct": correct, "upstream": correct, "graded": "variable", "tools": 1, "tries": 0},
        "request": f"Compute {id}.",
        "gold": {"value": "12", "type": "int"},
        "answer": "12" if correct else "13",
        "program": "from m3eval import trade\nanswer = 12",
        "calls": [{"name": "find_minimum", "arguments": {"a": 1, "b": 2}, "step": 2, "failed": False}],
        "trajectory": [
            {"thought": "Look.", "action": "search", "content": "find minimum", "observation": "FUNCTION find_minimum"},
            {"thought": "", "action": "code", "content": "answer = 12", "observation": "answer = 12"},
        ],
        "steps": 2,
        "seconds": 1.5,
        "prompt_tokens": 1000,
        "completion_tokens": 50,
        "dollars": 0.01,
        "episode": f"e-{id}-{epoch}",
    }
    return Result(id, epoch, **{**kept, **changed})
