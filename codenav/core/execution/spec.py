"""Descriptions of sandboxes: resources, mounts, the specification, and the facts about a running one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from codenav.core.errors import UsageError
from codenav.core.setting import DAY, GIB, KIB, MIB, SMALLEST, setting
from codenav.core.system.interpreter import Interpreter
from codenav.core.system.stored import Document


@dataclass(frozen=True)
class Resources:
    """The limits of sandboxed code. The defaults are the promise of docs/concepts.md, "Sandbox".

    Raises:
        UsageError: the time of a step is not above 0, or not finite.
    """

    memory_bytes: int = setting(
        2 * GIB, "Memory of the whole sandbox: a number with k, m or g.", key="memory", metavar="SIZE", kind="size"
    )
    cpus: float = setting(2.0, "Processors that a sandbox may keep busy.", metavar="N", least=SMALLEST)
    processes: int = setting(256, "Most processes and threads in a sandbox.", key="pids", metavar="N", least=1)
    work_bytes: int = 256 * MIB
    """Size of the work folder inside, a tmpfs. It takes at most half of the memory."""
    file_bytes: int = 256 * MIB
    """Largest single file."""
    output_bytes: int = 64 * KIB
    """Bytes kept of stdout and of stderr, each, per step."""
    step_seconds: float = setting(
        60.0, "Time limit of one step of code.",
        key="code_timeout", metavar="SECONDS", least=SMALLEST, most=DAY, unit="seconds",
    )  # fmt: skip
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


@dataclass(frozen=True, kw_only=True)
class SandboxSettings:
    """The settings of a sandbox that pass unchanged from a caller's options to the backend.

    A new one needs a field here and an implementation in the backend.
    """

    network: str = setting(
        "", "Network of the code: host with bubblewrap or process, bridge with docker.",
        choices=("none", "host", "bridge"), unset="none; process cannot cut it off",
    )  # fmt: skip
    image: str = setting("", "Docker image.", metavar="NAME", unset="the one built for the sources")
    runtime: str = setting(
        "", "Runtime of the Docker engine, such as runsc for gVisor.", metavar="NAME", unset="the engine's"
    )
    gpus: str = setting("", "GPUs, with docker, as for docker run --gpus.", metavar="all|N|ID[,ID…]")
    snapshots: bool = setting(
        True, "A twin is frozen before each step; without it a step that ends its process costs a rerun of all steps."
    )


DOCKER_ONLY = ("image", "runtime", "gpus")
"""The settings that other backends refuse."""


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


@dataclass(frozen=True)
class Diagnosis:
    """The result of checking whether a backend works on this machine."""

    ok: bool
    detail: str
    hint: str = ""
    """The remedy if it does not work."""
