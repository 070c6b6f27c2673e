"""The typed events of a run. Display, record and `--stream` read the same stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from codenav.core.actions import Action, Step, Summary, action_from
from codenav.core.execution import ToolCall
from codenav.core.limits import Limits
from codenav.core.system.stored import Makers, Stored, all_of
from codenav.core.usage import Usage


class Status(StrEnum):
    """The status of an episode; a closed list."""

    RUNNING = "running"
    """Its owner lives. A record whose owner died reads as `interrupted`."""
    DONE = "done"
    FAILED = "failed"
    """The agent gave up, or never gave a valid action."""
    LIMIT = "limit"
    INTERRUPTED = "interrupted"
    ERROR = "error"
    """Something outside the conversation failed; `reason` names it."""

    @property
    def exit_code(self) -> int:
        """The exit code of `codenav run` for the status; an `error` may have 4 instead (errors.Unavailable)."""
        return {"done": 0, "limit": 3, "interrupted": 130}.get(self.value, 1)


@dataclass(frozen=True)
class Event(Stored):
    """An event in a run."""

    def to_dict(self) -> dict[str, Any]:
        """The event as a line of a record: JSON types only, with its name under `event`."""
        return {"event": self.name, **super().to_dict()}

    @property
    def name(self) -> str:
        """The name of the event: `run_started`, `acted`, …"""
        return _NAMES[type(self)]


@dataclass(frozen=True)
class RunStarted(Event):
    """The head of a record."""

    id: str
    request: str
    started: str
    """ISO 8601, UTC."""
    model: str
    sources: Sequence[Mapping[str, Any]] = ()
    """For each source: `source`, `files`, `blocks`, `versions`, `import_paths`."""
    description: str = ""
    prompt: str = ""
    """The whole system prompt."""
    sandbox: Mapping[str, Any] = field(default_factory=dict)
    """`SandboxInfo.to_dict()`."""
    work_dir: str = ""
    """The path on the host."""
    limits: Limits = Limits()
    codenav: str = ""
    """The version of codenav that made the record."""
    parent: str = ""
    """Id of the episode that this one goes on from."""
    restored: Sequence[str] = ()
    """What became of each of its variables."""

    made: ClassVar[Makers] = {"sources": tuple, "limits": Limits.from_dict, "restored": tuple}


@dataclass(frozen=True)
class ActionTaken(Event):
    """The agent chose an action, which is about to be carried out."""

    number: int
    action: Action

    def to_dict(self) -> dict[str, Any]:
        """The event as a line of a record."""
        return {
            "event": self.name,
            "number": self.number,
            "thought": self.action.thought,
            "action": self.action.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ActionTaken:
        """The inverse of `to_dict`."""
        return cls(data["number"], action_from(data["action"], thought=data["thought"]))


@dataclass(frozen=True)
class ToolCalled(Event):
    """A call to a tool has ended. It comes while its step runs, from another thread than the other events."""

    number: int
    """The number of the step that made it, or that the replay belongs to."""
    call: ToolCall
    by: str = "step"
    """`step`; `replay`, a call that only reads, sent again to verify a summary."""

    def to_dict(self) -> dict[str, Any]:
        """The event as a line of a record."""
        return {"event": self.name, "number": self.number, "by": self.by, **self.call.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ToolCalled:
        """The inverse of `to_dict`."""
        return cls(data["number"], ToolCall.from_dict(data), data.get("by", "step"))


@dataclass(frozen=True)
class StepEnded(Event):
    """A step is complete."""

    step: Step

    made: ClassVar[Makers] = {"step": Step.from_dict}

    def to_dict(self) -> dict[str, Any]:
        """The event as a line of a record. The calls of the step are lines of their own: `ToolCalled`."""
        data = super().to_dict()
        if isinstance(data["step"]["observation"], dict):
            data["step"]["observation"].pop("calls", None)
        return data


@dataclass(frozen=True)
class Notice(Event):
    """A fact that a person should know and the agent need not: a retry, a dropped parameter."""

    text: str


@dataclass(frozen=True)
class Unfinished(Event):
    """A request to the model was cut off: by a limit, by Ctrl-C, or by a broken connection."""

    response: str = ""
    """The text that the model had written."""
    reasoning: str = ""
    usage: Usage = Usage()
    """The usage of the whole model call, which counts in that of the run."""

    made: ClassVar[Makers] = {"usage": Usage.from_dict}

    def to_data(self) -> dict[str, str]:
        """The fields as in the document of the episode."""
        return {"response": self.response, "reasoning": self.reasoning}


@dataclass(frozen=True)
class Vote(Stored):
    """The vote of one judge on an answer."""

    judge: str
    word: str
    """`pass` or `fail`; `unreadable` if it said neither when asked twice; `none` if it could not be asked in time."""
    reason: str = ""


@dataclass(frozen=True)
class RunEnded(Event):
    """The last line of a record."""

    status: Status
    answer: str = ""
    summary: Summary = Summary()
    usage: Usage = Usage()
    seconds: float = 0.0
    """Seconds of wall clock of the run."""
    reason: str = ""
    """One sentence: the reason why the status is not `done`."""
    hint: str = ""
    exit_code: int = 0
    agreement: str = ""
    """How many of the scripts that were tried gave the answer: `2 of 3`. Empty if there was one only."""
    verdict: str = ""
    """The judges' word on the answer: `accepted`, `refused`, or `unjudged` if too few of them had one. Empty without
    judges."""
    votes: Sequence[Vote] = ()
    usage_by_model: Mapping[str, Usage] = field(default_factory=dict)
    """The parts of `usage`."""

    made: ClassVar[Makers] = {
        "status": Status, "summary": Summary.from_dict, "usage": Usage.from_dict, "votes": all_of(Vote),
        "usage_by_model": lambda data: {name: Usage.from_dict(one) for name, one in data.items()},
    }  # fmt: skip
    digits: ClassVar[Mapping[str, int]] = {"seconds": 3}


_NAMES: dict[type[Event], str] = {
    RunStarted: "run_started",
    ActionTaken: "acted",
    ToolCalled: "called",
    StepEnded: "observed",
    Notice: "noticed",
    Unfinished: "unfinished",
    RunEnded: "run_ended",
}
