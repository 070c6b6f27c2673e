"""Sandboxes: stateful Python that is contained. `start` opens one, `diagnose` says whether a backend works here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from codenav.errors import UsageError
from codenav.execution import SandboxSpec

if TYPE_CHECKING:
    from codenav.sandboxes.host import GuestSandbox

__all__ = ["BACKENDS", "Diagnosis", "diagnose", "start"]

BACKENDS = ("bubblewrap", "process")


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
        UsageError: no such backend or network, or a work folder that is missing or too large.
        SandboxUnavailable: it cannot run here; the message says why.
    """
    _known(backend)
    if spec.network not in ("none", "host"):
        raise UsageError(f"{backend} has no network {spec.network!r}", hint="--network none or --network host")
    from codenav.sandboxes.host import GuestSandbox

    if backend == "process":
        from codenav.sandboxes.process import launch_process

        return GuestSandbox(backend, spec, launch_process, network="host")
    from codenav.sandboxes.bubblewrap import launch_bubblewrap

    return GuestSandbox(backend, spec, launch_bubblewrap, network=spec.network)


def diagnose(backend: str) -> Diagnosis:
    """Whether a backend works here, found out by starting something in it. Takes some 20 ms.

    Raises:
        UsageError: no such backend.
    """
    _known(backend)
    if backend == "process":
        return Diagnosis(True, "no isolation: code runs as this user")
    from codenav.sandboxes.bubblewrap import trouble, version

    problem = trouble()
    if problem is None:
        return Diagnosis(True, f"bubblewrap {version()}")
    return Diagnosis(False, problem.detail, problem.hint)


def _known(backend: str) -> None:
    if backend not in BACKENDS:
        raise UsageError(f"no such sandbox backend: {backend!r}", hint=f"one of {', '.join(BACKENDS)}")
