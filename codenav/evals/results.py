"""One result: what an attempt at a sample has left, and its line in `results.jsonl`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from codenav.core.system.stored import Stored

ERROR = "error"
"""Status of an attempt that something outside the conversation ended (a model that is down, a sandbox that does not
start). It is no result: tables count it apart, and `resume` runs it again."""
MOST_BITS = 10_000
"""Bits of a whole number that is written as one: Python turns none of over 4,300 digits into text."""


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
    """`Task.score`. Of an `error` those of an attempt that did nothing; empty where the scorer fails."""
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

    def to_line(self) -> bytes:
        """The line in `results.jsonl`."""
        return json.dumps(plain(self.to_dict()), allow_nan=False).encode("ascii") + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Result | None:
        """The result of a line. None for a line that is torn or damaged."""
        try:
            return cls.from_dict(json.loads(line))
        except (ValueError, TypeError, AttributeError, RecursionError):
            return None


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value in JSON types; what is none, or lies deeper than 50 levels, is its `repr`."""
    if depth > 50:
        return beginning(value)
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return f"a whole number of {value.bit_length()} bits"
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else beginning(key): plain(one, depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one, depth + 1) for one in value]
    return beginning(value)


def beginning(value: Any) -> str:
    """Return the beginning of an error's message or of a value's `repr`, or the type where there is none."""
    try:
        return (str(value) if isinstance(value, BaseException) else repr(value))[:1000]
    except Exception:
        return f"<{type(value).__name__}>"
