"""Policy for host folders mounted into a sandbox: which are refused, and which are live."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from codenav.core.errors import UsageError
from codenav.core.execution import Mount
from codenav.core.secrets.files import first_secret
from codenav.core.system import docker_engine
from codenav.sandboxes.places import why_not, within

_ENGINES = (
    "/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock",
)  # fmt: skip
_HINT = "name the data's own folder"


@dataclass(frozen=True, slots=True)
class Checked:
    """A mount that passed the checks."""

    path: Path
    on_host: Path
    writable: bool
    live: bool
    """True if the folder itself is shown, False if a copy is."""
    notice: str = ""


def checked_mounts(mounts: Sequence[Mount]) -> list[Checked]:
    """Check mounts. Return them with the outer ones first, so that they do not cover inner ones.

    A read-only mount that contains a secret is shown as a copy without it.

    Raises:
        UsageError: a folder is missing, a writable one contains a secret, or a mount would expose this machine: the
            system, a home folder, or the socket of an engine, which gives root to whoever writes to it.
    """
    found = [_checked(mount, [other.path for other in mounts]) for mount in mounts]
    return sorted(found, key=lambda mount: len(mount.path.parts))


def _checked(mount: Mount, places: Sequence[Path]) -> Checked:
    path = mount.path
    if not path.is_absolute():
        raise UsageError(f"the path of a mount is not absolute: {path}", hint=f"{path.absolute()}")
    for folder in dict.fromkeys((path, mount.on_host)):
        if not folder.is_dir():
            raise UsageError(f"no such folder to mount: {folder}", hint=f"mkdir -p {folder}")
        reason = why_not(folder)
        if reason:
            raise UsageError(f"{folder} is not mounted: {reason}", hint=_HINT)
        for socket in engine_sockets():
            if within(socket, os.path.realpath(folder)):
                raise UsageError(f"{folder} is not mounted: the engine's socket {socket} lies in it", hint=_HINT)
    host = Path(os.path.realpath(mount.on_host))
    inner = [host / place.relative_to(path) for place in places if place != path and place.is_relative_to(path)]
    secret = first_secret(str(host), passed=map(str, inner))
    if secret and mount.writable:
        raise UsageError(
            f"{path} is not mounted to be written to: {secret} is a secret",
            hint=f"mount it read-only, as a copy without it, or a folder below {path}",
        )
    notice = f"{path} holds secrets ({secret}), so that a copy without them is shown" if secret else ""
    return Checked(path, host, mount.writable, live=not secret, notice=notice)


def engine_sockets() -> list[str]:
    """Return the sockets on which container engines may listen here, with links followed."""
    named = urlsplit(docker_engine.host())
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    own = [f"{runtime}/docker.sock", f"{runtime}/podman/podman.sock"] if runtime else []
    places = [*_ENGINES, *own, *([named.path] if named.scheme == "unix" and named.path else [])]
    return list(dict.fromkeys(os.path.realpath(place) for place in places))
