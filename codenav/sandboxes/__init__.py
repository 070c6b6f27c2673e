"""Sandboxes: stateful Python that is contained. `start` opens one, `diagnose` says whether a backend works here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from codenav.errors import UsageError
from codenav.execution import SandboxSpec

if TYPE_CHECKING:
    from codenav.sandboxes.host import GuestSandbox

__all__ = ["BACKENDS", "Diagnosis", "diagnose", "start"]

BACKENDS = ("bubblewrap", "process")

LEAST_MEMORY = 32 << 20
"""Bytes: three interpreters hold 20 MiB together before any step."""
MOST_OUTPUT = 1 << 20
"""Bytes kept of a stream of one step: more would not fit into a frame of the protocol."""


DEFAULT_NETWORK = {"bubblewrap": "none", "process": "host"}
"""What holds where a specification leaves it open."""


@dataclass(frozen=True)
class Diagnosis:
    """Whether a backend works on this machine."""

    ok: bool
    detail: str
    hint: str = ""
    """What to do, where it does not work."""


def start(backend: str, spec: SandboxSpec) -> GuestSandbox:
    """A running sandbox; close it, or use it as a context manager.

    Raises:
        UsageError: no such backend or network, no network in `process`, which cannot cut it off, a work folder that
            is missing or too large, limits out of range.
        SandboxUnavailable: it cannot run here; the message says why.
    """
    _known(backend)
    network = spec.network or DEFAULT_NETWORK[backend]
    if network not in ("none", "host"):
        raise UsageError(f"{backend} has no network {network!r}", hint="--network none or --network host")
    if backend == "process" and network == "none":
        raise UsageError(
            "process cannot cut the code off from the network", hint="--sandbox bubblewrap, or --network host"
        )
    spec = replace(spec, network=network)
    if spec.resources.memory_bytes < LEAST_MEMORY:
        raise UsageError(
            f"a memory limit of {spec.resources.memory_bytes >> 20} MiB is too low for Python",
            hint=f"allow {LEAST_MEMORY >> 20} MiB or more",
        )
    if spec.resources.output_bytes > MOST_OUTPUT:
        raise UsageError(
            f"{spec.resources.output_bytes} bytes of output per step are too many", hint="allow 1 MiB or less"
        )
    from codenav.sandboxes.host import GuestSandbox

    if backend == "process":
        from codenav.sandboxes.process import launch_process

        return GuestSandbox(backend, spec, launch_process)
    from codenav.sandboxes.bubblewrap import launch_bubblewrap

    return GuestSandbox(backend, spec, launch_bubblewrap)


def diagnose(backend: str) -> Diagnosis:
    """Whether a backend works here, found out by starting something in it. Takes some 20 ms.

    Raises:
        UsageError: no such backend.
    """
    _known(backend)
    if backend == "process":
        return Diagnosis(True, "no isolation: code runs as this user")
    import platform

    from codenav.sandboxes.bubblewrap import trouble, version
    from codenav.sandboxes.seccomp import supported

    problem = trouble()
    if problem is None:
        machine = platform.machine()
        lacking = "" if supported(machine) else f"; without its second line, there is no seccomp filter for {machine}"
        return Diagnosis(True, f"bubblewrap {version()}{lacking}")
    return Diagnosis(False, problem.detail, problem.hint)


def _known(backend: str) -> None:
    if backend not in BACKENDS:
        raise UsageError(f"no such sandbox backend: {backend!r}", hint=f"one of {', '.join(BACKENDS)}")
