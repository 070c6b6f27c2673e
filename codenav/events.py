"""The typed events of a run. Display, record and `--stream` read the same stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from codenav.actions import TRY_CHARACTERS, Action, CodeObservation, Guess, Step, Summary, action_from
from codenav.execution import ToolCall
from codenav.limits import Limits
from codenav.system.stored import Makers, Stored, any_of
from codenav.system.terminal_text import flattened
from codenav.usage import Usage


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

    made: ClassVar[Makers] = {"sources": tuple, "limits": Limits.from_dict}


@dataclass(frozen=True)
class Acted(Event):
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
    def from_dict(cls, data: Mapping[str, Any]) -> Acted:
        """The inverse of `to_dict`."""
        return cls(data["number"], action_from(data["action"], thought=data["thought"]))


@dataclass(frozen=True)
class Tried(Event):
    """A try is over. It is not a step; `number` is that of the step that it leads to."""

    number: int
    action: Action
    outcome: str
    """The outcome, as for a code step: `ok`, `error`, …"""
    shown: str
    """The error, the value or the output, in one line of at most `actions.TRY_CHARACTERS`."""
    seconds: float = 0.0

    made: ClassVar[Makers] = {"action": action_from}
    digits: ClassVar[Mapping[str, int]] = {"seconds": 3}

    @classmethod
    def of(cls, step: Step) -> Tried:
        """Make the event from the try in full."""
        observation = step.observation
        if not isinstance(observation, CodeObservation):
            return cls(step.number, step.action, "error", flattened(observation.text, TRY_CHARACTERS), step.seconds)
        execution = observation.execution
        made = ", ".join(f"{item.name} = {item.repr}" for item in execution.changed)
        shown = execution.notice or execution.stdout.partition("\n")[0] or made
        if execution.error:
            shown = f"{execution.error.type}: {execution.error.message}"
        return cls(step.number, step.action, execution.outcome.value, flattened(shown, TRY_CHARACTERS), step.seconds)


@dataclass(frozen=True)
class Called(Event):
    """A call to a tool has ended. It comes while its step runs, from another thread than the other events."""

    number: int
    """The number of the step that made it, or that the try or the replay belongs to."""
    call: ToolCall
    by: str = "step"
    """`step`; `try`, of the planner; `replay`, a call that only reads, sent again to verify a summary."""

    def to_dict(self) -> dict[str, Any]:
        """The event as a line of a record."""
        return {"event": self.name, "number": self.number, "by": self.by, **self.call.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Called:
        """The inverse of `to_dict`."""
        return cls(data["number"], ToolCall.from_dict(data), data.get("by", "step"))


@dataclass(frozen=True)
class Observed(Event):
    """A step is complete."""

    step: Step

    made: ClassVar[Makers] = {"step": Step.from_dict}

    def to_dict(self) -> dict[str, Any]:
        """The event as a line of a record. The calls of the step are lines of their own: `Called`."""
        data = super().to_dict()
        if isinstance(data["step"]["observation"], dict):
            data["step"]["observation"].pop("calls", None)
        return data


@dataclass(frozen=True)
class Noticed(Event):
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
    guess: Guess | None = None
    """The certainty of the answer, from agents that state it."""

    stored: ClassVar[Sequence[str]] = (
        "status", "answer", "guess", "summary", "usage", "seconds", "reason", "hint", "exit_code",
    )  # fmt: skip
    made: ClassVar[Makers] = {
        "status": Status, "summary": Summary.from_dict, "usage": Usage.from_dict, "guess": any_of(Guess),
    }  # fmt: skip
    digits: ClassVar[Mapping[str, int]] = {"seconds": 3}


_NAMES: dict[type[Event], str] = {
    RunStarted: "run_started",
    Acted: "acted",
    Tried: "tried",
    Called: "called",
    Observed: "observed",
    Noticed: "noticed",
    Unfinished: "unfinished",
    RunEnded: "run_ended",
}
