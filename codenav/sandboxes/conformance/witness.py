"""Checks around every case: nothing left behind, the host untouched, a neighbour undisturbed."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import hashlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from codenav.core.protocols import Sandbox
from codenav.sandboxes.conformance.lab import Broken, Lab, Late

LEFT_SECONDS = 5.0
"""Time for the kernel and an engine to take away what was ended."""
BEAT_SECONDS = 0.01
MISSED_SECONDS = 0.1
"""Maximum seconds that a beat of the neighbour may be late, besides those that the machine itself was late.

Where more processes want to run than there are processors, as many times more: control groups share by group, and the
waiting is not of the sandbox's making.
"""
CLOCK_SECONDS = 1.0
"""Maximum seconds that the wall clock may drift from the monotonic one in a case."""
_PR_GET_CHILD_SUBREAPER = 37
"""An option of prctl(2)."""
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
    """The children of this process. If it adopts orphans, ended ones may be those of others and do not count."""
    found: set[int] = set()
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            found.update(int(pid) for pid in (thread / "children").read_text().split())
    return {pid for pid in found if _alive(pid) is not None} if _adopts() else found


def _adopts() -> bool:
    """True if orphans come to this process: as the first one of a container, or because it asked for them."""
    asked = ctypes.c_int()
    ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(asked), 0, 0, 0)
    return os.getpid() == 1 or bool(asked.value)


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
        self._offset = time.time() - time.monotonic()

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
        drift = time.time() - time.monotonic() - self._offset
        self._offset += drift
        if abs(drift) > CLOCK_SECONDS:
            raise Broken(f"the clock of the host moved by {drift:.1f} s")

    @staticmethod
    def _state() -> dict[str, Any]:
        status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        return {
            "environment": dict(os.environ),
            "working directory": os.getcwd(),
            "garbage collector": (gc.isenabled(), gc.get_threshold()),
            "recursion limit": sys.getrecursionlimit(),
            "umask": status.get("Umask"),
            "nice value": os.nice(0),
            "processors": os.sched_getaffinity(0),
            "signal handlers": {number: signal.getsignal(number) for number in signal.valid_signals()},
            "blocked signals": signal.pthread_sigmask(signal.SIG_BLOCK, []),
            **{f"sysctl {name}": _digest(f"/proc/sys/{name}") for name in _SYSCTLS},
            **{name: _digest(name) for name in _FILES},
        }


def _digest(path: str) -> str:
    with contextlib.suppress(OSError):
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    return ""


_PULSE = """
import sys, time
def beat():
    last = time.monotonic()
    while True:
        time.sleep({beat})
        now = time.monotonic()
        state[0], state[1], last = max(state[0], now - last - {beat}), state[1] + 1, now
state = [0.0, 0]
"""


def crowding() -> float:
    """The number of processes that want to run for each processor, in the last minute; at least 1."""
    return max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))


@dataclass
class Neighbour:
    """A sandbox that counts all along, and a process of the host that does too: what both miss is the machine's."""

    box: Sandbox
    control: subprocess.Popen[bytes]

    @classmethod
    def beside(cls, box: Sandbox) -> Neighbour:
        """Start counting in a sandbox, and beside it on the host."""
        pulse = _PULSE.format(beat=BEAT_SECONDS)
        done = box.run(pulse + "import threading\nthreading.Thread(target=beat, daemon=True).start()", timeout=20.0)
        if not done.ok:
            raise Broken(f"the neighbour does not start: {done.error}")
        script = pulse + (
            "import threading\nthreading.Thread(target=beat, daemon=True).start()\n"
            "while sys.stdin.readline():\n    print(*state, flush=True)\n    state[0] = 0.0"
        )
        control = subprocess.Popen(
            [sys.executable, "-S", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}
        )
        return cls(box, control)

    def slack(self) -> float:
        """The seconds that anything may come later than promised, for what else the machine is busy with."""
        return self.late() + crowding() - 1.0

    def late(self) -> float:
        """The longest that the machine itself was late since the last check, in seconds."""
        assert self.control.stdin is not None
        assert self.control.stdout is not None
        self.control.stdin.write(b"\n")
        self.control.stdin.flush()
        return float(self.control.stdout.readline().split()[0])

    def check(self, *, raising: bool = True) -> None:
        """Check the beats since the last check: raises `Late` where they came late, `Broken` where they stopped."""
        done = self.box.run("print(*state)\nstate[0], state[1] = 0.0, 0", timeout=20.0)
        machine = self.late()
        if not done.ok:
            raise Broken(f"the neighbour stopped: {done.outcome} {done.error}")
        worst, beats = done.stdout.split()
        if raising and int(beats) == 0:
            raise Broken("the neighbour missed every beat")
        if raising and float(worst) > MISSED_SECONDS * crowding() + machine:
            raise Late(f"the neighbour was {float(worst):.2f} s late, the machine itself {machine:.2f} s")

    def close(self) -> None:
        """End the sandbox and the process."""
        self.control.kill()
        self.control.communicate()
        self.box.close()


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
