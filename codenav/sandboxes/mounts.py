"""Live folders of the host in a sandbox: which ones are refused."""

from __future__ import annotations

import os
from collections.abc import Sequence
from urllib.parse import urlsplit

from codenav import docker_engine
from codenav.errors import UsageError
from codenav.execution import Mount

TOO_WIDE = ("/", "/home", "/root", "/etc", "/var", "/run", "/boot", "/usr")
_KERNEL = ("/proc", "/sys", "/dev")
_ENGINES = (
    "/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock",
)  # fmt: skip
_HINT = "name the data's own folder"


def checked_mounts(mounts: Sequence[Mount]) -> list[Mount]:
    """Mounts that are harmless, the outer ones first, so that an inner one is not covered.

    Raises:
        UsageError: a folder is missing, or would open this machine: the system, the home folder, the socket of an
            engine, which makes whoever writes into it root.
    """
    for mount in mounts:
        path, real = mount.path, os.path.realpath(mount.path)
        if not path.is_absolute():
            raise UsageError(f"the path of a mount is not absolute: {path}", hint=f"{path.absolute()}")
        if not path.is_dir():
            raise UsageError(f"no such folder to mount: {path}", hint=f"mkdir -p {path}")
        for shown in (real, os.path.normpath(path)):
            wide = shown in (*TOO_WIDE, os.path.realpath(os.path.expanduser("~")))
            if wide or any(within(shown, folder) for folder in _KERNEL):
                raise UsageError(f"{path} is not mounted: it would open this machine", hint=_HINT)
        if mount.source is not None and not mount.source.is_dir():
            raise UsageError(f"no such folder to mount: {mount.source}", hint=f"mkdir -p {mount.source}")
        for socket in engine_sockets():
            if within(socket, real):
                raise UsageError(f"{path} is not mounted: the engine's socket {socket} lies in it", hint=_HINT)
    return sorted(mounts, key=lambda mount: len(mount.path.parts))


def engine_sockets() -> list[str]:
    """Where engines listen here, links followed."""
    named = urlsplit(docker_engine.host())
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    own = [f"{runtime}/docker.sock", f"{runtime}/podman/podman.sock"] if runtime else []
    places = [*_ENGINES, *own, *([named.path] if named.scheme == "unix" and named.path else [])]
    return list(dict.fromkeys(os.path.realpath(place) for place in places))


def within(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
