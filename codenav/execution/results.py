"""One step of code in a sandbox: how it ended, and all that it showed, wrote and left."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, ClassVar, Self


class Outcome(StrEnum):
    """How a step ended; a closed list."""

    OK = "ok"
    ERROR = "error"
    """The code raised."""
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    """The process that ran the code is gone: a signal, `os._exit`, a segmentation fault, a second interrupt."""
    PROTOCOL_VIOLATION = "protocol_violation"
    """What came out of the sandbox was not a valid frame."""


Makers = Mapping[str, Callable[[Any], Any]]


class Stored:
    """A dataclass as JSON types and back, field by field: its fields are the shape of what is stored and sent."""

    __slots__ = ()
    made: ClassVar[Makers] = {}
    """Functions that make a field out of its JSON, where that is not the same."""

    def to_dict(self) -> dict[str, Any]:
        """JSON types only."""
        return {name: _plain(getattr(self, name)) for name in _names(type(self))}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`. Other keys are ignored; fields with a default may be missing."""
        found = {name: data[name] for name in _names(cls) if name in data}
        return cls(**{name: cls.made[name](value) if name in cls.made else value for name, value in found.items()})


def _names(kind: Any) -> Sequence[str]:
    return [field.name for field in fields(kind)]


def _plain(value: Any) -> Any:
    if isinstance(value, Stored):
        return value.to_dict()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.value if isinstance(value, StrEnum) else value


def _all(kind: type[Stored]) -> Callable[[Any], Any]:
    return lambda items: tuple(map(kind.from_dict, items))


def _any(kind: type[Stored]) -> Callable[[Any], Any]:
    return lambda item: kind.from_dict(item) if item else None


@dataclass(frozen=True, slots=True)
class Variable(Stored):
    """A name in the sandbox, described by a bounded repr."""

    name: str
    type: str
    repr: str


@dataclass(frozen=True, slots=True)
class Digest(Stored):
    """A name in the sandbox with a digest of its whole value, to the last element: equal data, equal digests."""

    name: str
    type: str
    digest: str
    """32 hexadecimal digits; empty where the value cannot be compared."""
    kind: str
    """`firm`; `part`: an equal one says little, of a value that shows a part of itself; `soft`: another one says
    nothing, of an object that shows nothing of itself; `none`: the value cannot be compared."""
    telling: bool
    """Whether the same value is hardly there by chance, as `3` may be."""
    repr: str
    """Bounded."""


@dataclass(frozen=True, slots=True)
class Held(Stored):
    """What the variables of a sandbox hold: digests, and a bounded part of the numbers and texts in them."""

    digests: Mapping[str, Digest] = field(default_factory=dict)
    numbers: tuple[float, ...] = ()
    """Of plain values and small containers; lengths, shapes, and the extremes of larger ones."""
    many: tuple[float, ...] = ()
    """In larger containers, where chance holds nearly any short number."""
    texts: tuple[str, ...] = ()

    made: ClassVar[Makers] = {
        "digests": lambda items: {item["name"]: Digest.from_dict(item) for item in items},
        **dict.fromkeys(("numbers", "many", "texts"), tuple),
    }

    def to_dict(self) -> dict[str, Any]:
        """As it travels."""
        return {**Stored.to_dict(self), "digests": [item.to_dict() for item in self.digests.values()]}


@dataclass(frozen=True, slots=True)
class ExecutionError(Stored):
    """What a step raised, and where in the step's own code."""

    type: str
    """`ZeroDivisionError`; dotted where it is not a builtin."""
    message: str
    line: str = ""
    """The offending line of the step's code, stripped. Empty where none is known."""
    line_number: int | None = None
    """1-based, in the step's code."""
    traceback: str = ""
    """As Python prints it, without the frames of the sandbox itself."""


@dataclass(frozen=True, slots=True)
class Display(Stored):
    """A picture or a rich representation; inert bytes on the host."""

    made: ClassVar[Makers] = {"data": base64.b64decode}

    mime: str
    """`image/png`, `image/jpeg`, `image/svg+xml`, `text/html`, `text/markdown`, `text/latex`, `application/json`."""
    data: bytes


@dataclass(frozen=True, slots=True)
class FileEntry(Stored):
    """A file or folder in the work folder of a sandbox."""

    name: str
    """Relative to the work folder."""
    kind: str
    """`file`, `folder`, `link` or `other`."""
    size: int = 0
    """Bytes; 0 of what is no file."""
    modified: float = 0.0
    """Seconds since the epoch, by the code's clock, which the code may set."""
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Copied:
    """What came of copying files or folders into a sandbox or out of it."""

    files: Sequence[str] = ()
    """Their names where they are now: in the sandbox, or paths of this side."""
    left: Sequence[str] = ()
    """Lines on what was not copied, and why."""
    run_by: Mapping[str, str] = field(default_factory=dict)
    """Of `files` that came out, what tools run by themselves, and which tools."""


@dataclass(frozen=True, slots=True)
class Output(Stored):
    """A piece of what a running step writes."""

    stream: str
    """`stdout` or `stderr`."""
    text: str
    """Terminal escapes neutralised. All texts of a stream together are what `Execution` has of it."""
    waiting: int = 0
    """Bytes that come, shortened, when the step is over: of a long output only the beginning is shown at once."""


@dataclass(frozen=True, slots=True)
class Value(Stored):
    """The value of a step's last expression, as the step's own process describes it."""

    type: str
    """Name of its type."""
    repr: str
    """Bounded; whole in `Execution.stdout`, as far as that is."""
    data: Any = None
    """The value itself where it is plain JSON data and small (10,000 bytes); else None."""


@dataclass(frozen=True)
class Execution(Stored):
    """The result of one step in a sandbox."""

    outcome: Outcome
    stdout: str = ""
    """Head, "… N bytes left out …", tail; terminal escapes neutralised."""
    stderr: str = ""
    stdout_bytes: int = 0
    """Bytes that the step wrote, also those left out."""
    late_output: str = ""
    """What threads and children of earlier steps wrote after their step had ended."""
    changed: Sequence[Variable] = ()
    """Names that the step bound, and names that its code mentions whose bounded repr differs."""
    error: ExecutionError | None = None
    displays: Sequence[Display] = ()
    seconds: float = 0.0
    notice: str = ""
    """What happened to the state: begins with `state kept`, `state rebuilt` or `state lost`. Then what of
    `files` tools run by themselves. Mostly empty."""
    files: Sequence[str] = ()
    """Files of the work folder that the step wrote, relative; they lie in the host's work folder."""
    value: Value | None = None
    """Of the last expression; None where there is none, it is None, or it ends with a semicolon."""

    made: ClassVar[Makers] = {
        "outcome": Outcome,
        "changed": _all(Variable),
        "error": _any(ExecutionError),
        "displays": _all(Display),
        "files": tuple,
        "value": _any(Value),
    }

    @property
    def ok(self) -> bool:
        """Whether the code ran to its end."""
        return self.outcome is Outcome.OK

    def to_dict(self) -> dict[str, Any]:
        """The document of a code step."""
        return {**super().to_dict(), "seconds": round(self.seconds, 4)}


@dataclass(frozen=True)
class ShellResult:
    """What became of a shell command in a sandbox."""

    exit_code: int | None
    """As `subprocess` has it: negative where a signal ended it; None where the step did not come to its end."""
    stdout: str
    stderr: str
    execution: Execution = field(repr=False)
    """The step in which it ran: its outcome, error, files and notice."""

    @property
    def ok(self) -> bool:
        """Whether it ended with 0."""
        return self.exit_code == 0
