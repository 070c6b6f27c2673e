"""The result of a code step in a sandbox: how it ended, and everything that it showed, wrote and left."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from codenav.core.system.stored import Makers, Stored, all_of, any_of


class Outcome(StrEnum):
    """The ways in which a step can end; a closed list."""

    OK = "ok"
    ERROR = "error"
    """The code raised an exception."""
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    """The process that ran the code is gone: a signal, `os._exit`, a segmentation fault, a second interrupt."""
    PROTOCOL_VIOLATION = "protocol_violation"
    """The sandbox sent something that is not a valid frame."""


@dataclass(frozen=True, slots=True)
class Variable(Stored):
    """A name in the sandbox with a bounded repr of its value."""

    name: str
    type: str
    repr: str


@dataclass(frozen=True, slots=True)
class Digest(Stored):
    """A name in the sandbox with a digest of its whole value, to the last element. Equal data have equal digests."""

    name: str
    type: str
    digest: str
    """32 hexadecimal digits. Empty if the value cannot be compared."""
    kind: str
    """What the digest can show, one of four kinds.

    `firm`: it covers the whole value. `part`: the object shows only a part of itself, so an equal digest says
    little. `soft`: the object shows nothing of itself, so a different digest says nothing. `none`: the value cannot be
    compared.
    """
    telling: bool
    """True if an equal value is unlikely to be a coincidence, as it may be for `3`."""
    repr: str
    """The value's repr, bounded."""
    parts: tuple[str, ...] = ()
    """Hashes of its parts as `PLACE:HASH`, in order; empty where it can be compared as a whole only."""

    made: ClassVar[Makers] = {"parts": tuple}


@dataclass(frozen=True, slots=True)
class Held(Stored):
    """The contents of a sandbox's variables: digests, and a bounded part of the numbers and texts in them."""

    digests: Mapping[str, Digest] = field(default_factory=dict)
    numbers: tuple[float, ...] = ()
    """Numbers in plain values and small containers, lengths, shapes, and the extremes of larger containers."""
    many: tuple[float, ...] = ()
    """Numbers in larger containers, where nearly any short number occurs by chance."""
    texts: tuple[str, ...] = ()

    made: ClassVar[Makers] = {
        "digests": lambda items: {item["name"]: Digest.from_dict(item) for item in items},
        **dict.fromkeys(("numbers", "many", "texts"), tuple),
    }

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON types, with the digests as a list."""
        return {**Stored.to_dict(self), "digests": [item.to_dict() for item in self.digests.values()]}


@dataclass(frozen=True, slots=True)
class ExecutionError(Stored):
    """The exception of a step, and the place in the step's code that raised it."""

    type: str
    """Name of the exception's type, such as `ZeroDivisionError`. Dotted if it is not a builtin."""
    message: str
    line: str = ""
    """The offending line of the step's code, stripped. Empty if unknown."""
    line_number: int | None = None
    """Number of that line in the step's code, from 1."""
    traceback: str = ""
    """The traceback as Python prints it, without the frames of the sandbox itself."""


@dataclass(frozen=True, slots=True)
class Display(Stored):
    """A picture or another rich representation. On the host it is inert bytes."""

    made: ClassVar[Makers] = {"data": base64.b64decode}

    mime: str
    """`image/png`, `image/jpeg`, `image/svg+xml`, `text/html`, `text/markdown`, `text/latex`, `application/json`."""
    data: bytes


@dataclass(frozen=True, slots=True)
class FileEntry(Stored):
    """A file or folder in the work folder of a sandbox."""

    name: str
    """Path relative to the work folder."""
    kind: str
    """`file`, `folder`, `link` or `other`."""
    size: int = 0
    """Size in bytes. 0 for anything but a file."""
    modified: float = 0.0
    """Seconds since the epoch by the clock of the code, which may set it."""
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Copied:
    """The result of copying files or folders into a sandbox or out of it."""

    files: Sequence[str] = ()
    """Names of the copies: in the sandbox, or local paths."""
    left: Sequence[str] = ()
    """Lines with a reason for each entry that was not copied."""
    run_by: Mapping[str, str] = field(default_factory=dict)
    """Copies on this machine that tools run on their own, with the names of those tools."""


@dataclass(frozen=True, slots=True)
class Output(Stored):
    """A piece of a running step's output."""

    stream: str
    """`stdout` or `stderr`."""
    text: str
    """The text, with terminal escapes neutralised. The texts of a stream add up to that of `Execution`."""


@dataclass(frozen=True, slots=True)
class Value(Stored):
    """The value of a step's last expression, as described by the step's own process."""

    type: str
    """Name of its type."""
    repr: str
    """Bounded repr. `Execution.stdout` has all of it, within its own limit."""
    data: Any = None
    """The value itself if it is plain JSON data of at most 10,000 bytes, else None."""


@dataclass(frozen=True)
class Execution(Stored):
    """The result of one step in a sandbox."""

    outcome: Outcome
    stdout: str = ""
    """Head, "… N bytes left out …", tail. Terminal escapes are neutralised."""
    stderr: str = ""
    stdout_bytes: int = 0
    """Bytes that the step wrote, including those left out."""
    late_output: str = ""
    """Output of threads and children of earlier steps, from the end of their step to the end of this one."""
    changed: Sequence[Variable] = ()
    """Names that the step bound, and names in its code whose bounded repr differs."""
    error: ExecutionError | None = None
    displays: Sequence[Display] = ()
    seconds: float = 0.0
    notice: str = ""
    """What happened to the state, beginning with `state kept`, `state rebuilt` or `state lost`, and then the
    `files` that tools run on their own. Usually empty."""
    files: Sequence[str] = ()
    """Files of the work folder that the step wrote, as relative paths. They are in the host's work folder."""
    value: Value | None = None
    """Value of the last expression. None if there is none, if it is None, or if it ends with a semicolon."""

    made: ClassVar[Makers] = {
        "outcome": Outcome,
        "changed": all_of(Variable),
        "error": any_of(ExecutionError),
        "displays": all_of(Display),
        "files": tuple,
        "value": any_of(Value),
    }
    digits: ClassVar[Mapping[str, int]] = {"seconds": 4}

    @property
    def ok(self) -> bool:
        """True if the code ran to its end."""
        return self.outcome is Outcome.OK


@dataclass(frozen=True)
class ShellResult:
    """The result of a shell command in a sandbox."""

    exit_code: int | None
    """Exit code as in `subprocess`: negative for a signal. None if the step did not run to its end."""
    stdout: str
    stderr: str
    execution: Execution = field(repr=False)
    """The step that ran the command, with its outcome, error, files and notice."""

    @property
    def ok(self) -> bool:
        """True if the command exited with 0."""
        return self.exit_code == 0
