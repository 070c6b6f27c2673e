"""Descriptions of sandboxes: resources, mounts, the specification, and the facts about a running one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from codenav.core.errors import UsageError
from codenav.core.system.interpreter import Interpreter
from codenav.core.system.stored import Document

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclass(frozen=True)
class Resources:
    """The limits of sandboxed code. The defaults are the promise of docs/concepts.md, "Sandbox".

    Raises:
        UsageError: the time of a step is not above 0, or not finite.
    """

    memory_bytes: int = 2 * GIB
    """Resident memory of everything inside, together."""
    cpus: float = 2.0
    processes: int = 256
    work_bytes: int = 256 * MIB
    """Size of the work folder inside, a tmpfs. It takes at most half of the memory."""
    file_bytes: int = 256 * MIB
    """Largest single file."""
    output_bytes: int = 64 * KIB
    """Bytes kept of stdout and of stderr, each, per step."""
    step_seconds: float = 60.0
    """Timeout of a step without one of its own. Environment: CODENAV_CODE_TIMEOUT."""
    display_bytes: int = 4 * MIB
    """Bytes kept of all displays of a step together."""
    copy_seconds: float = 10.0
    """Time for copying changed files out after a step, on top of the step's own. The rest follows after the next step.

    256 MiB took 1.8 s, bubblewrap to a local disk, two cores.
    """

    def __post_init__(self) -> None:
        if not 0 < self.step_seconds < float("inf"):
            raise UsageError(
                f"a step of code in {self.step_seconds:g} seconds", hint="code_timeout is a number above 0"
            )


@dataclass(frozen=True, slots=True)
class Mount:
    """A host folder that is live inside, at the same path. If it contains secrets a copy is shown."""

    path: Path
    """Absolute path, inside and outside."""
    writable: bool = False
    source: Path | None = None
    """The host folder that takes its place, such as a copy in a replay. None means the folder itself."""

    @property
    def on_host(self) -> Path:
        """The host folder that is bound."""
        return self.source or self.path


def _of(backend: str) -> dict[str, str]:
    """Return the metadata of a field that only one backend accepts."""
    return {"backend": backend}


@dataclass(frozen=True, kw_only=True)
class SandboxSettings:
    """The settings of a sandbox that pass unchanged from a caller's options to the backend.

    A field whose metadata name a `backend` is refused by the others. A new setting needs a field here, its keyword
    below, its option in `codenav.cli.options`, and an implementation in the backend.
    """

    network: str = ""
    """`none`, `host` for the host's own network (bubblewrap, process), or `bridge` for the engine's (docker).

    Empty is the backend's default: `process` has the host's and cannot cut it off, the others have none.
    """
    image: str = field(default="", metadata=_of("docker"))
    """Name or id of the image, for `docker`. Empty takes the one built for the sources."""
    runtime: str = field(default="", metadata=_of("docker"))
    """The engine's runtime, for `docker`, such as `runsc` for gVisor. Empty is the engine's default."""
    gpus: str = field(default="", metadata=_of("docker"))
    """GPUs for `docker`: `all`, a number, or ids joined by commas, as in `docker run --gpus`."""
    snapshots: bool = True
    """True to freeze a twin before steps. Without it a step that ends its process costs a rerun of all steps."""


class SettingKeywords(TypedDict, total=False):
    """`SandboxSettings` as keywords. None or missing is the default."""

    network: str | None
    image: str | None
    runtime: str | None
    gpus: str | None
    snapshots: bool | None


@dataclass(frozen=True)
class SandboxSpec(SandboxSettings):
    """The specification that a sandbox is started with."""

    python: Interpreter
    """The interpreter that runs the code, with the packages that it sees. In `docker` it is the image's own."""
    import_paths: Sequence[Path] = ()
    """Host folders or single files that become importable inside, read-only, in order of precedence.

    They are shown as they are at the start, without secrets.
    """
    work_dir: Path | None = None
    """Copied into the work folder at the start. None starts with an empty one."""
    copy_out: bool = True
    """True if files that a step changed are copied back into `work_dir`."""
    env: Mapping[str, str] = field(default_factory=dict)
    """The whole environment of the code. It travels over the protocol, never in a process's environment."""
    resources: Resources = Resources()
    mounts: Sequence[Mount] = ()
    """Live host folders. The work folder, in contrast, is a copy."""


@dataclass(frozen=True)
class SandboxInfo(Document):
    """The facts about a running sandbox, for the prompt, the record and the doctor."""

    backend: str
    """`docker`, `bubblewrap` or `process`."""
    isolated: bool
    """False if the code can reach the host."""
    python_version: str
    work_dir: str
    """The work folder as the code sees it, which is the current directory of every step."""
    network: str
    """The actual network: `none`, `host` or `bridge`."""
    image: str = ""
    """The image of the container, for `docker`."""
    notice: str = ""
    """Parts of the request that do not hold, such as limits that the engine cannot set. Usually empty."""
