"""Checks around every case: nothing left behind, the host untouched."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import os
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from codenav.core.protocols import Sandbox
from codenav.sandboxes.conformance.lab import Broken, Lab

LEFT_SECONDS = 5.0
"""Time for the kernel and an engine to take away what was ended."""
_SYSCTLS = ("kernel/hostname", "kernel/core_pattern", "kernel/domainname", "vm/overcommit_memory", "kernel/pid_max")
_FILES = ("/etc/passwd", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf")


class Alive(NamedTuple):
    """A process of the host: its id and the moment it started, in clock ticks."""

    pid: int
    started: str


def namespace_of(box: Sandbox) -> str:
    """The pid namespace of a sandbox; empty where it does not say."""
    return box.run("import os\nprint(os.readlink('/proc/self/ns/pid'))", timeout=20.0).stdout.strip()


def processes_of(namespace: str) -> set[Alive]:
    """The processes in a pid namespace, as the host sees them. Zombies have ended."""
    found = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{name}/ns/pid") == namespace:
                    found.add(_alive(int(name)))
    return {one for one in found if one is not None}


def _alive(pid: int) -> Alive | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else Alive(pid, fields[19])


class Remains:
    """The host before a case, to find what must be gone after it."""

    def __init__(self) -> None:
        gc.collect()
        self._descriptors = _descriptors()
        self._children = _children()
        self._temporary = _temporary()
        self._processes: set[Alive] = set()
        self._cgroups: set[str] = set()
        self._own = _cgroups_of(os.getpid())

    def note(self, namespace: str) -> None:
        """Remember what a sandbox consists of, while it lives."""
        if not namespace or namespace == os.readlink("/proc/self/ns/pid"):
            return
        found = processes_of(namespace)
        self._processes |= found
        for one in found:
            self._cgroups |= _cgroups_of(one.pid) - self._own

    def check(self) -> None:
        """Check that nothing is left, after some patience. Raises Broken."""
        until = time.monotonic() + LEFT_SECONDS
        while True:
            gc.collect()
            left = self._left()
            if not left:
                return
            if time.monotonic() > until:
                raise Broken(f"left behind: {left}")
            time.sleep(0.05)

    def _left(self) -> str:
        processes = sorted(one.pid for one in self._processes if _alive(one.pid) == one)
        things = {
            "processes": processes,
            "children": sorted(_children() - self._children),
            "cgroups": sorted(path for path in self._cgroups if os.path.isdir(path)),
            "temporary files": sorted(_temporary() - self._temporary),
            "mounts": [line for line in _mounts() if tempfile.gettempdir() in line or line.split()[-2] == "codenav"],
            "descriptors": sorted(set(_descriptors().items()) - set(self._descriptors.items()))
            if len(_descriptors()) > len(self._descriptors)
            else [],
        }
        return "; ".join(f"{name}: {found}" for name, found in things.items() if found)


def _descriptors() -> dict[int, str]:
    found = {}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
    return found


def _temporary() -> set[str]:
    return {
        os.path.join(folder, name)
        for folder, folders, files in os.walk(tempfile.gettempdir())
        for name in (*folders, *files)
    }


def _children() -> set[int]:
    """The living children of this process."""
    found: set[int] = set()
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            found.update(int(pid) for pid in (thread / "children").read_text().split())
    return {pid for pid in found if _alive(pid) is not None}


def _cgroups_of(pid: int) -> set[str]:
    """The folders of the cgroups of a process, of both versions."""
    found = set()
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if path == "/":
                continue
            name = controllers.removeprefix("name=")
            for root in (f"/sys/fs/cgroup/{name}", "/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
                if os.path.isdir(root + path):
                    found.add(root + path)
    return found


def _mounts() -> list[str]:
    with contextlib.suppress(OSError):
        return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    return []


class Canaries:
    """Parts of the host that a case must leave as they are."""

    def __init__(self) -> None:
        self._tcp = socket.create_server(("127.0.0.1", 0))
        self._unix = socket.socket(socket.AF_UNIX)
        self._unix.bind(f"\0codenav-check-canary-{os.getpid()}")
        self._unix.listen()
        for server in (self._tcp, self._unix):
            server.setblocking(False)
        self._before = self._state()

    def close(self) -> None:
        """Give the sockets back."""
        self._tcp.close()
        self._unix.close()

    def check(self, lab: Lab) -> None:
        """Check that nothing has changed. Raises Broken."""
        after = self._state()
        for name, value in self._before.items():
            if after[name] != value:
                raise Broken(f"{name} of the host changed: {value!r} became {after[name]!r}")
        if lab.canary.read_text(encoding="utf-8") != lab.secret:
            raise Broken("a file of the host changed")
        for server in (self._tcp, self._unix):
            with contextlib.suppress(BlockingIOError):
                server.accept()[0].close()
                raise Broken("a socket of the host was reached")

    @staticmethod
    def _state() -> dict[str, Any]:
        return {
            "environment": dict(os.environ),
            "working directory": os.getcwd(),
            "nice value": os.nice(0),
            "processors": os.sched_getaffinity(0),
            **{f"sysctl {name}": _digest(f"/proc/sys/{name}") for name in _SYSCTLS},
            **{name: _digest(name) for name in _FILES},
        }


def _digest(path: str) -> str:
    with contextlib.suppress(OSError):
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    return ""


@contextlib.contextmanager
def planted(environment: Mapping[str, str], folder: Path) -> Iterator[None]:
    """Put canaries into the environment of this process, and give it a temporary folder, while the block runs."""
    kept = tempfile.tempdir
    os.environ.update(environment)
    tempfile.tempdir = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = kept
        for name in environment:
            os.environ.pop(name, None)
