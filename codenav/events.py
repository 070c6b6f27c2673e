"""The typed events of a run. Display, record and `--stream` read the same stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from codenav.actions import Action, Guess, Step, Summary, action_from
from codenav.limits import Limits
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
class Event:
    """An event in a run."""

    def to_dict(self) -> dict[str, Any]:
        """The event as a line of a record: JSON types only, with its name under `event`."""
        return {"event": self.name}

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

    def to_dict(self) -> dict[str, Any]:
        """The event as a line of a record."""
        return {
            "event": self.name,
            "id": self.id,
            "request": self.request,
            "started": self.started,
            "model": self.model,
            "sources": [dict(source) for source in self.sources],
            "description": self.description,
            "prompt": self.prompt,
            "sandbox": dict(self.sandbox),
            "work_dir": self.work_dir,
            "limits": self.limits.to_dict(),
            "codenav": self.codenav,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RunStarted:
        """The inverse of `to_dict`; further keys, as the recorder's own, are passed over."""
        known = {item.name: data[item.name] for item in fields(cls)}
        return cls(**{**known, "sources": tuple(known["sources"]), "limits": Limits.from_dict(known["limits"])})


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

    def to_dict(self) -> dict[str, Any]:
        """The event as a line of a record."""
        return {
            "event": self.name,
            "number": self.number,
            "action": self.action.to_dict(),
            "outcome": self.outcome,
            "shown": self.shown,
            "seconds": round(self.seconds, 3),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Tried:
        """The inverse of `to_dict`."""
        return cls(data["number"], action_from(data["action"]), data["outcome"], data["shown"], data["seconds"])


@dataclass(frozen=True)
class Observed(Event):
    """A step is complete."""

    step: Step

    def to_dict(self) -> dict[str, Any]:
        """The event as a line of a record."""
        return {"event": self.name, "step": self.step.to_dict()}


@dataclass(frozen=True)
class Noticed(Event):
    """A fact that a person should know and the agent need not: a retry, a dropped parameter."""

    text: str

    def to_dict(self) -> dict[str, Any]:
        """The event as a line of a record."""
        return {"event": self.name, "text": self.text}


@dataclass(frozen=True)
class Unfinished(Event):
    """A request to the model was cut off: by a limit, by Ctrl-C, or by a broken connection."""

    response: str = ""
    """The text that the model had written."""
    reasoning: str = ""
    usage: Usage = Usage()
    """The usage of the whole model call, which counts in that of the run."""

    def to_dict(self) -> dict[str, Any]:
        """The event as a line of a record."""
        return {"event": self.name, **self.to_data(), "usage": self.usage.to_dict()}

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

    def to_dict(self) -> dict[str, Any]:
        """The event as a line of a record."""
        return {
            "event": self.name,
            "status": self.status.value,
            "answer": self.answer,
            "guess": self.guess.to_dict() if self.guess else None,
            "summary": self.summary.to_dict(),
            "usage": self.usage.to_dict(),
            "seconds": round(self.seconds, 3),
            "reason": self.reason,
            "hint": self.hint,
            "exit_code": self.exit_code,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RunEnded:
        """The inverse of `to_dict`; further keys, as the recorder's own, are passed over."""
        return cls(
            status=Status(data["status"]),
            answer=data["answer"],
            summary=Summary.from_dict(data["summary"]),
            usage=Usage.from_dict(data["usage"]),
            seconds=data["seconds"],
            reason=data["reason"],
            hint=data["hint"],
            exit_code=data["exit_code"],
            guess=Guess.from_dict(data["guess"]) if data.get("guess") else None,
        )


_NAMES: dict[type[Event], str] = {
    RunStarted: "run_started",
    Acted: "acted",
    Tried: "tried",
    Observed: "observed",
    Noticed: "noticed",
    Unfinished: "unfinished",
    RunEnded: "run_ended",
}
