"""What one step of code did: the result that a sandbox returns and that checkers add to."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, TypedDict

from codenav.errors import UsageError
from codenav.interpreter import Interpreter


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


@dataclass(frozen=True, slots=True)
class Variable:
    """A name in the sandbox, described by a bounded repr."""

    name: str
    type: str
    repr: str

    def to_dict(self) -> dict[str, str]:
        """The stored form."""
        return {"name": self.name, "type": self.type, "repr": self.repr}


@dataclass(frozen=True, slots=True)
class Digest:
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

    def to_dict(self) -> dict[str, Any]:
        """As it travels."""
        return {
            "name": self.name,
            "type": self.type,
            "digest": self.digest,
            "kind": self.kind,
            "telling": self.telling,
            "repr": self.repr,
        }


@dataclass(frozen=True, slots=True)
class Held:
    """What the variables of a sandbox hold: digests, and a bounded part of the numbers and texts in them."""

    digests: Mapping[str, Digest] = field(default_factory=dict)
    numbers: tuple[float, ...] = ()
    """Of plain values and small containers; lengths, shapes, and the extremes of larger ones."""
    many: tuple[float, ...] = ()
    """In larger containers, where chance holds nearly any short number."""
    texts: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As it travels."""
        return {
            "digests": [item.to_dict() for item in self.digests.values()],
            "numbers": list(self.numbers),
            "many": list(self.many),
            "texts": list(self.texts),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Held:
        """The inverse of `to_dict`."""
        items = [Digest(**item) for item in data["digests"]]
        return cls(
            {item.name: item for item in items}, tuple(data["numbers"]), tuple(data["many"]), tuple(data["texts"])
        )


@dataclass(frozen=True, slots=True)
class ExecutionError:
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

    def to_dict(self) -> dict[str, Any]:
        """The stored form."""
        return {
            "type": self.type,
            "message": self.message,
            "line": self.line,
            "line_number": self.line_number,
            "traceback": self.traceback,
        }


@dataclass(frozen=True, slots=True)
class Display:
    """A picture or a rich representation; inert bytes on the host."""

    mime: str
    """`image/png`, `image/jpeg`, `image/svg+xml`, `text/html`, `text/markdown`, `text/latex`, `application/json`."""
    data: bytes

    def to_dict(self) -> dict[str, str]:
        """The stored form; `data` in base64."""
        return {"mime": self.mime, "data": base64.b64encode(self.data).decode("ascii")}


@dataclass(frozen=True, slots=True)
class FileEntry:
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

    def to_dict(self) -> dict[str, Any]:
        """JSON types only."""
        return {
            "name": self.name,
            "kind": self.kind,
            "size": self.size,
            "modified": self.modified,
            "executable": self.executable,
        }


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
class Output:
    """A piece of what a running step writes."""

    stream: str
    """`stdout` or `stderr`."""
    text: str
    """Terminal escapes neutralised. All texts of a stream together are what `Execution` has of it."""
    waiting: int = 0
    """Bytes that come, shortened, when the step is over: of a long output only the beginning is shown at once."""


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a step's last expression, as the step's own process describes it."""

    type: str
    """Name of its type."""
    repr: str
    """Bounded; whole in `Execution.stdout`, as far as that is."""
    data: Any = None
    """The value itself where it is plain JSON data and small (10,000 bytes); else None."""

    def to_dict(self) -> dict[str, Any]:
        """The stored form."""
        return {"type": self.type, "repr": self.repr, "data": self.data}


@dataclass(frozen=True)
class Execution:
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

    @property
    def ok(self) -> bool:
        """Whether the code ran to its end."""
        return self.outcome is Outcome.OK

    def to_dict(self) -> dict[str, Any]:
        """The document of a code step: JSON types only."""
        return {
            "outcome": self.outcome.value,
            "stdout": self.stdout,
            "stderr": self.stderr,
            "stdout_bytes": self.stdout_bytes,
            "late_output": self.late_output,
            "changed": [variable.to_dict() for variable in self.changed],
            "error": self.error.to_dict() if self.error else None,
            "displays": [display.to_dict() for display in self.displays],
            "seconds": round(self.seconds, 4),
            "notice": self.notice,
            "files": list(self.files),
            "value": self.value.to_dict() if self.value else None,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Execution:
        """The inverse of `to_dict`; other keys are ignored."""
        error = data["error"]
        return cls(
            outcome=Outcome(data["outcome"]),
            stdout=data["stdout"],
            stderr=data["stderr"],
            stdout_bytes=data["stdout_bytes"],
            late_output=data["late_output"],
            changed=tuple(Variable(**item) for item in data["changed"]),
            error=ExecutionError(**error) if error else None,
            displays=tuple(Display(item["mime"], base64.b64decode(item["data"])) for item in data["displays"]),
            seconds=data["seconds"],
            notice=data["notice"],
            files=tuple(data["files"]),
            value=Value(**data["value"]) if data.get("value") else None,
        )


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


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark of a checker about the code of a step."""

    code: str
    """The tool's own code: `F821`, `name-defined`."""
    message: str
    line_number: int

    def to_dict(self) -> dict[str, Any]:
        """The stored form."""
        return {"code": self.code, "message": self.message, "line_number": self.line_number}


@dataclass(frozen=True)
class CheckReport:
    """What one checker says of one step. `failure` set means: not checked, which is not clean."""

    tool: str
    """`black`, `flake8` or `mypy`."""
    findings: Sequence[Finding] = ()
    failure: str = ""
    """Why the tool itself gave no verdict; empty when it did."""
    formatted: str | None = None
    """The code as a formatter would write it; None where it would change nothing."""
    seconds: float = 0.0

    @property
    def clean(self) -> bool:
        """The tool ran and had nothing to say."""
        return not self.failure and not self.findings and self.formatted is None

    def to_dict(self) -> dict[str, Any]:
        """The stored form."""
        return {
            "tool": self.tool,
            "findings": [finding.to_dict() for finding in self.findings],
            "failure": self.failure,
            "formatted": self.formatted,
            "seconds": round(self.seconds, 4),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CheckReport:
        """The inverse of `to_dict`."""
        return cls(**{**data, "findings": tuple(Finding(**item) for item in data["findings"])})


@dataclass(frozen=True)
class Ran:
    """A step of code that ran in a sandbox."""

    code: str
    execution: Execution


@dataclass(frozen=True)
class Replayed:
    """What a replay left to hold an answer against."""

    output: str = ""
    held: Held = Held()
    files: tuple[str, ...] = ()
    """Names of the files that it wrote or found."""


VERIFIED, PARTLY, NOT_VERIFIED = "verified", "partly", "not verified"


@dataclass(frozen=True)
class Verdict:
    """Whether a code summary replayed in a fresh sandbox with the same result."""

    verified: bool
    """Something was compared, all of it agrees, and nothing that counts is missing."""
    reason: str = ""
    """Why not; empty when verified."""
    compared: tuple[str, ...] = ()
    """What was compared and agrees: names of variables and files, `the last output`."""
    missing: tuple[str, ...] = ()
    """What the session made and the replay did not."""
    replayed: Replayed | None = field(default=None, repr=False, compare=False)
    """What the replay left, where it came to its end; not stored."""

    @property
    def verdict(self) -> str:
        """`verified`, `partly` (what was compared agrees, but something is missing) or `not verified`."""
        return VERIFIED if self.verified else PARTLY if self.missing else NOT_VERIFIED

    def to_dict(self) -> dict[str, Any]:
        """The stored form."""
        return {
            "verified": self.verified,
            "reason": self.reason,
            "verdict": self.verdict,
            "compared": list(self.compared),
            "missing": list(self.missing),
        }


KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclass(frozen=True)
class Resources:
    """What sandboxed code may use; the defaults are the promise of docs/concepts.md, "Sandbox".

    Raises:
        UsageError: a step of code has no time, or no end.
    """

    memory_bytes: int = 2 * GIB
    """Resident memory of everything inside, together."""
    cpus: float = 2.0
    processes: int = 256
    work_bytes: int = 256 * MIB
    """Size of the work folder inside, a tmpfs; at most half of the memory."""
    file_bytes: int = 256 * MIB
    """Largest single file."""
    output_bytes: int = 64 * KIB
    """Kept of stdout and of stderr, each, per step."""
    step_seconds: float = 60.0
    """Of a step without a timeout of its own. Environment: CODENAV_CODE_TIMEOUT."""
    display_bytes: int = 4 * MIB
    """Kept of the displays of one step, together."""
    copy_seconds: float = 10.0
    """For copying changed files out after a step, beside the step's own time; the rest comes with the next one.
    256 MiB took 1.8 s, bubblewrap to a local disk, two cores."""

    def __post_init__(self) -> None:
        if not 0 < self.step_seconds < float("inf"):
            raise UsageError(
                f"a step of code in {self.step_seconds:g} seconds", hint="code_timeout is a number above 0"
            )


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder of the host that is live inside, at the same path; a copy of it where it holds secrets."""

    path: Path
    """Absolute."""
    writable: bool = False
    source: Path | None = None
    """What of the host is there in its place, as a copy of it is in a replay; None: the folder itself."""

    @property
    def on_host(self) -> Path:
        """The folder of the host that is bound."""
        return self.source or self.path


def _of(backend: str) -> dict[str, str]:
    """The metadata of a field that one backend alone takes."""
    return {"backend": backend}


@dataclass(frozen=True, kw_only=True)
class SandboxSettings:
    """The settings of a sandbox that pass from a caller's options to the backend as they are.

    A field whose metadata name a `backend` is refused by the others. A new setting is a field here and its keyword
    below, its option in `codenav.cli.options`, and what the backend does with it.
    """

    network: str = ""
    """`none`, `host` for the host's own network (bubblewrap, process), `bridge` for the engine's (docker), or empty for
    what the backend does by itself: `process` has the host's and cannot cut it off, the others have none."""
    image: str = field(default="", metadata=_of("docker"))
    """Of `docker`: name or id of the image; empty takes the one that was built for the sources."""
    runtime: str = field(default="", metadata=_of("docker"))
    """Of `docker`: the engine's runtime, `runsc` for gVisor; empty is the engine's default."""
    gpus: str = field(default="", metadata=_of("docker"))
    """Of `docker`: `all`, a number, or ids joined by commas, as `docker run --gpus` takes them."""
    snapshots: bool = True
    """Whether a frozen twin is made before steps; without one a step that ends its process costs the replay of all."""


class SettingKeywords(TypedDict, total=False):
    """`SandboxSettings` as keywords; None or missing is the default."""

    network: str | None
    image: str | None
    runtime: str | None
    gpus: str | None
    snapshots: bool | None


@dataclass(frozen=True)
class SandboxSpec(SandboxSettings):
    """What a sandbox is started with."""

    python: Interpreter
    """The interpreter that runs the code, with the packages that it sees; in `docker` it is the image's own."""
    import_paths: Sequence[Path] = ()
    """Folders or single files of the host that become importable inside, read-only, first ones first;
    as they are at the start, without secrets."""
    work_dir: Path | None = None
    """Copied into the work folder at the start; None starts with an empty one."""
    copy_out: bool = True
    """Whether files that a step changed are copied back into `work_dir`."""
    env: Mapping[str, str] = field(default_factory=dict)
    """The whole environment of the code; it travels over the protocol, never in a process's environment."""
    resources: Resources = Resources()
    mounts: Sequence[Mount] = ()
    """Live folders of the host, beside the work folder, which is a copy."""


@dataclass(frozen=True)
class SandboxInfo:
    """What a running sandbox is: for the prompt, the record and the doctor."""

    backend: str
    """`docker`, `bubblewrap` or `process`."""
    isolated: bool
    """False where the code can reach the host."""
    python_version: str
    work_dir: str
    """The work folder as the code sees it; the current directory of every step."""
    network: str
    """`none`, `host` or `bridge`: what holds."""
    image: str = ""
    """Of `docker`: what the container was made from."""
    notice: str = ""
    """What does not hold of what was asked for, in the engine's words: limits that it cannot set. Mostly empty."""

    def to_dict(self) -> dict[str, Any]:
        """The stored form."""
        return asdict(self)
