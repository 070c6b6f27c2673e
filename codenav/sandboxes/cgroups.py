"""Control groups of a sandbox, version 1 or 2, if this user can make them. They limit memory, processors, processes.

Version 2 needs a parent group that delegates the memory controller and that this user may write to. systemd's
user@.service provides one for what was started in it; root can write nearly everywhere. A parent group that has a
limit of its own is never left.
Kernel documentation: admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst, scheduler/sched-bwc.rst.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import shlex
import signal
import subprocess
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from codenav.core.execution import Resources

BESIDE_BYTES = 64 << 20
"""Bytes on top of the memory limit of the code, for the launcher, the supervisor and the kernel.

The supervisor checks every 50 ms. It should usually act before the kernel, since it can report what was held.
"""
BESIDE_PROCESSES = 16
"""Processes on top of the limit of the code: the launcher, the supervisor, snapshots."""
PERIOD_MICROSECONDS = 100_000
"""Period of the processor quota. This is the kernel's default."""
PREFIX = "codenav-"
_REMOVE_SECONDS = 2.0
"""Time to retry a removal: the last process of a group may still be exiting."""


@dataclass(frozen=True)
class Place:
    """The parent groups in which this process can make groups."""

    unified: Path | None
    """The parent group in version 2."""
    split: Mapping[str, Path]
    """The parent group of each controller in version 1."""

    def groups(self, name: str) -> dict[str, Path]:
        """Return the folder of a sandbox's group for each controller. In version 2 it is the same for all."""
        if self.unified is not None:
            given = _words(self.unified / "cgroup.subtree_control")
            return {one: self.unified / (PREFIX + name) for one in ("memory", "cpu", "pids") if one in given}
        return {one: above / (PREFIX + name) for one, above in self.split.items()}


@dataclass(frozen=True)
class Cgroup:
    """The control groups of one sandbox."""

    groups: Mapping[str, Path]
    """The folder of the group for each controller."""
    killed: Path
    """File whose line `oom_kill N` counts the processes that the kernel killed for lack of memory."""

    @property
    def folders(self) -> list[Path]:
        """The distinct folders of the groups, to enter and finally to remove."""
        return list(dict.fromkeys(self.groups.values()))

    @property
    def limits_processors(self) -> bool:
        """True if there is a quota of processor time."""
        return "cpu" in self.groups

    def entering(self) -> list[str]:
        """Return shell lines that move the shell, and with it everything it starts, into the groups."""
        return [f"echo $$ > {shlex.quote(str(folder))}/cgroup.procs" for folder in self.folders]


@functools.cache
def usable() -> Place | None:
    """Find where this process can make groups, and check it by starting a process in one. None if it cannot."""
    place = find()
    tried = None if place is None else make_groups(place, f"try-{uuid.uuid4().hex[:12]}", Resources(), processors=0)
    if tried is None:
        return None
    try:
        script = "\n".join(["set -e", *tried.entering()])
        done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    finally:
        remove_groups(tried.folders)
    return place if done.returncode == 0 else None


@functools.cache
def find(root: str = "/") -> Place | None:
    """Find where this process can make groups with a memory limit. None if it cannot.

    `root` is prefixed to `/proc` and to the mount points.
    """
    own = _own_groups(root)
    mounted = _mounted(root)
    if "memory" in mounted:
        split = {}
        for controller in ("memory", "cpu", "pids"):
            above = _within_mount(root, mounted.get(controller), own.get(controller, ""))
            if above is not None and os.access(above, os.W_OK):
                split[controller] = above
        return Place(None, split) if "memory" in split else None
    above = _within_mount(root, mounted.get(""), own.get("", ""))
    return _handed_down(above, Path(root, mounted[""][0].lstrip("/"))) if above is not None else None


def make_groups(place: Place, name: str, resources: Resources, *, processors: int) -> Cgroup | None:
    """Make groups with these limits. Return None if the kernel refuses.

    Processor time is limited only if the limit is below `processors`.
    """
    groups = place.groups(name)
    if "memory" not in groups:
        return None
    if resources.cpus >= processors:
        groups.pop("cpu", None)
    made = Cgroup(groups, _killed(place, groups))
    memory, quota = resources.memory_bytes + BESIDE_BYTES, max(1000, int(resources.cpus * PERIOD_MICROSECONDS))
    pids = resources.processes + BESIDE_PROCESSES
    if place.unified is not None:
        values = {"memory": {"memory.max": str(memory)}, "cpu": {"cpu.max": f"{quota} {PERIOD_MICROSECONDS}"}}
        extra = {"memory.swap.max": "0"}
    else:
        quotas = {"cpu.cfs_period_us": str(PERIOD_MICROSECONDS), "cpu.cfs_quota_us": str(quota)}
        values = {"memory": {"memory.limit_in_bytes": str(memory)}, "cpu": quotas}
        extra = {"memory.memsw.limit_in_bytes": str(memory)}
    values["pids"] = {"pids.max": str(pids)}
    try:
        for folder in made.folders:
            folder.mkdir()
        for controller, folder in groups.items():
            for file, value in values[controller].items():
                (folder / file).write_text(value)
        for file, value in extra.items():
            with contextlib.suppress(OSError):
                # The file is missing if the kernel does not account for swap.
                _write_existing(groups["memory"] / file, value)
    except OSError:
        remove_groups(made.folders)
        return None
    return made


def remove_groups(folders: Iterable[Path]) -> bool:
    """Kill the processes in groups and remove them, but only those of `make_groups`. Return True if all are gone."""
    gone = True
    for folder in folders:
        if folder.name.startswith(PREFIX) and (folder / "cgroup.procs").exists():
            gone &= _remove(folder)
    return gone


def _remove(folder: Path) -> bool:
    deadline = time.monotonic() + _REMOVE_SECONDS
    while True:
        try:
            folder.rmdir()
            return True
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                return False
        _kill(folder)
        time.sleep(0.005)


def _kill(folder: Path) -> None:
    with contextlib.suppress(OSError):
        _write_existing(folder / "cgroup.kill", "1")
        return
    with contextlib.suppress(OSError):
        for pid in _words(folder / "cgroup.procs"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


def _killed(place: Place, groups: Mapping[str, Path]) -> Path:
    return groups["memory"] / ("memory.events" if place.unified is not None else "memory.oom_control")


def _write_existing(path: Path, value: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)


def _own_groups(root: str) -> dict[str, str]:
    """Return the group of this process for each controller. Version 2 has the empty name."""
    found = {}
    with contextlib.suppress(OSError):
        for line in Path(root, "proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            found.update(dict.fromkeys(controllers.split(","), path))
    return found


def _mounted(root: str) -> dict[str, tuple[str, str]]:
    """Return the mount point and its root group for each controller. Version 2 has the empty name."""
    found: dict[str, tuple[str, str]] = {}
    with contextlib.suppress(OSError):
        for line in Path(root, "proc/self/mountinfo").read_text().splitlines():
            fields, _, rest = line.partition(" - ")
            kind, _, options = rest.split(" ", 2)
            top, point = fields.split(" ")[3:5]
            if kind == "cgroup2":
                found.setdefault("", (point, top))
            elif kind == "cgroup":
                for controller in options.split(" ")[-1].split(","):
                    found.setdefault(controller, (point, top))
    return found


def _within_mount(root: str, mounted: tuple[str, str] | None, own: str) -> Path | None:
    """Return the folder of a group, or None if it is not mounted.

    In a container the mount shows only a part of the hierarchy, possibly without the group of this process.
    """
    if mounted is None:
        return None
    point, top = mounted
    relative = os.path.relpath(own or "/", top)
    folder = Path(root, point.lstrip("/"), "" if relative.startswith("..") else relative)
    return folder if folder.is_dir() else None


def _handed_down(own: Path, top: Path) -> Place | None:
    """Return the nearest group, upwards from this process's own, that delegates memory and is writable."""
    for above in (own, *own.parents):
        if "memory" in _words(above / "cgroup.subtree_control") and os.access(above / "cgroup.procs", os.W_OK):
            return Place(above, {}) if os.access(above, os.W_OK) else None
        limits = [" ".join(_words(above / file)) for file in ("memory.max", "memory.high", "pids.max", "cpu.max")]
        if above == top or any(limit and not limit.startswith("max") for limit in limits):
            return None
    return None


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []
