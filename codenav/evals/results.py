"""The folder of a run: `head.json` with its settings, `results.jsonl` with a line for each finished attempt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from codenav.core.system.stored import Stored

ERROR = "error"
"""Status of an attempt that something outside the conversation ended (a model that is down, a sandbox that does not
start). It is no result: tables count it apart, and `resume` runs it again."""


@dataclass(frozen=True)
class Result(Stored):
    """One line of `results.jsonl`: a sample, one epoch of it, and its scores."""

    id: str
    """Of the sample."""
    epoch: int
    """From 1."""
    status: str
    """As `episodes.Status`: `done`, `failed`, `limit` or `error`. A `done` that is not `correct` is wrong."""
    scores: Mapping[str, Any] = field(default_factory=dict)
    """`Task.score`. Empty for an `error`."""
    request: str = ""
    group: str = ""
    gold: Any = None
    answer: str = ""
    """The text of the `done` action."""
    program: str = ""
    """The code summary: the program that is scored where a benchmark scores a program."""
    verified: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)
    """`Attempt.values`."""
    calls: Sequence[Mapping[str, Any]] = ()
    """`ToolCall.to_dict` of each call."""
    trajectory: Sequence[Mapping[str, Any]] = ()
    """For each step `thought`, `action` (its type), `content` and `observation`, each cut to 4,000 characters."""
    steps: int = 0
    seconds: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    dollars: float | None = None
    """None where no price is known."""
    reason: str = ""
    """One sentence: the reason why the status is not `done`."""
    episode: str = ""
    """Id of the record, for `codenav episodes show`."""
