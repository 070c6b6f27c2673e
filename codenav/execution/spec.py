"""A sandbox before and after its start: resources, mounts, specification, and the facts about a running one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypedDict

from codenav.errors import UsageError
from codenav.system.interpreter import Interpreter

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
