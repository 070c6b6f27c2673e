"""Sandboxes: stateful Python that cannot harm the machine. `start` opens one; `diagnose` checks if a backend works.

In: code, files, and a specification with its limits.
Out: the outcome of each step, its output, the values and files that it changed.
May import: `core`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from codenav.core.errors import Unavailable, UsageError
from codenav.core.execution import DOCKER_ONLY, Diagnosis, Resources, SandboxSpec

if TYPE_CHECKING:
    from codenav.core.protocols import CallHandler
    from codenav.sandboxes.guest_client import GuestSandbox

__all__ = ["BACKENDS", "Diagnosis", "diagnose", "image_for", "start"]

BACKENDS = ("docker", "bubblewrap", "process")

LEAST_MEMORY = 32 << 20
"""Lowest memory limit in bytes: three interpreters hold 20 MiB together before any step."""
LEAST_CPUS = 0.1
"""Lowest limit on processors. A start takes one second with this, and ten with a tenth of it."""
MOST_OUTPUT = 1 << 20
"""Highest limit in bytes on what is kept of each stream of a step: more would not fit into a protocol frame."""


NETWORKS = {"docker": ("none", "bridge"), "bubblewrap": ("none", "host"), "process": ("host",)}
"""The networks of each backend. The first is the default."""


def start(backend: str, spec: SandboxSpec, *, calls: CallHandler | None = None) -> GuestSandbox:
    """Start a sandbox. Close it, or use it as a context manager.

    `calls` answers the calls that steps make to the host. Without it every call is refused.

    Raises:
        UsageError: the backend or network does not exist, `process` was asked for no network, which it cannot
            enforce, the work folder is missing or too large, or a limit is out of range.
        SandboxUnavailable: the backend cannot run here. The message says why.
    """
    _known(backend)
    network = spec.network or NETWORKS[backend][0]
    for name in DOCKER_ONLY:
        if getattr(spec, name) and backend != "docker":
            raise UsageError(f"{backend} takes no {name}", hint="--sandbox docker")
    if backend == "process" and network == "none":
        raise UsageError(
            "process cannot cut the code off from the network", hint="--sandbox bubblewrap, or --network host"
        )
    if network not in NETWORKS[backend]:
        ways = " or ".join(f"--network {way}" for way in NETWORKS[backend])
        raise UsageError(f"{backend} has no network {network!r}", hint=ways)
    spec = replace(spec, network=network)
    _check(spec.resources)
    from codenav.sandboxes.guest_client import GuestSandbox
    from codenav.sandboxes.sweeper import sweep

    sweep()
    if backend == "process":
        from codenav.sandboxes.process import launch_process as launch
    elif backend == "docker":
        from codenav.sandboxes.docker import launch_docker as launch
    else:
        from codenav.sandboxes.bubblewrap import launch_bubblewrap as launch
    sandbox = GuestSandbox(backend, spec, launch)
    sandbox.calls = calls
    return sandbox


def image_for(sources: Sequence[str]) -> str | None:
    """Return the newest image on the engine whose label names exactly these sources, or None if there is none.

    `sources` are absolute paths, `pkg:NAME==VERSION` and `git:URL@COMMIT`.

    Raises:
        Unavailable: no engine answers.
    """
    from codenav.core.system import docker_engine
    from codenav.sandboxes.docker_image import built_image

    client = docker_engine.connect().api
    try:
        return built_image(client, sources)
    finally:
        client.close()


def _check(resources: Resources) -> None:
    if resources.memory_bytes < LEAST_MEMORY:
        raise UsageError(
            f"a memory limit of {resources.memory_bytes >> 20} MiB is too low for Python",
            hint=f"allow {LEAST_MEMORY >> 20} MiB or more",
        )
    if not LEAST_CPUS <= resources.cpus < float("inf"):
        raise UsageError(f"no valid limit of processors: {resources.cpus:g}", hint=f"allow {LEAST_CPUS} or more")
    if resources.processes < 1 or resources.work_bytes < 1 or resources.file_bytes < 0:
        raise UsageError("a limit of a sandbox is not above 0", hint="see codenav.core.execution.Resources")
    if resources.output_bytes > MOST_OUTPUT:
        raise UsageError(f"{resources.output_bytes} bytes of output per step are too many", hint="allow 1 MiB or less")


def diagnose(backend: str) -> Diagnosis:
    """Check whether a backend works here: bubblewrap by starting a program in it (20 ms), Docker by asking its engine.

    Raises:
        UsageError: the backend does not exist.
    """
    _known(backend)
    if backend == "process":
        return Diagnosis(True, "no isolation: code runs as this user")
    if backend == "docker":
        from codenav.sandboxes.docker import diagnosed

        try:
            return Diagnosis(True, diagnosed())
        except Unavailable as error:
            return Diagnosis(False, str(error), error.hint)
    import platform

    from codenav.sandboxes.bubblewrap import trouble, version
    from codenav.sandboxes.seccomp import supported

    problem = trouble()
    if problem is not None:
        return problem
    machine = platform.machine()
    lacking = "" if supported(machine) else f"; without its second line, there is no seccomp filter for {machine}"
    return Diagnosis(True, f"bubblewrap {version()}{lacking}")


def _known(backend: str) -> None:
    if backend not in BACKENDS:
        raise UsageError(f"no such sandbox backend: {backend!r}", hint=f"one of {', '.join(BACKENDS)}")
