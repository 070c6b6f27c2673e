"""Sandboxes seen from outside: their processes, their memory, and their leftovers."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measure import descendants

from codenav.core.protocols import Sandbox

WHO = "import os\nprint(os.stat('/proc/self/ns/pid').st_ino, os.getpid())"


def namespace_and_worker(sandbox: Sandbox) -> tuple[int, int]:
    """The inode of the pid namespace, and the worker's number in it, according to the code inside."""
    space, pid = sandbox.run(WHO).stdout.split()
    return int(space), int(pid)


def processes(space: int) -> Iterator[int]:
    """Every process of a pid namespace, by its number on this machine. For root; others see none of a supervisor."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            if (entry / "ns" / "pid").stat().st_ino == space:
                yield int(entry.name)


def worker(sandbox: Sandbox) -> int | None:
    """The process on this machine that runs the steps; None if it cannot be seen, as on another machine's engine."""
    space, wanted = namespace_and_worker(sandbox)
    for pid in processes(space):
        with contextlib.suppress(OSError):
            numbers = next(
                line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("NSpid")
            )
            if int(numbers.split()[-1]) == wanted:
                return pid
    return None


def pss(pids: Iterator[int] | list[int]) -> float | None:
    """MiB of resident memory, with shared pages counted once; None if nothing can be read."""
    total, seen = 0, False
    for pid in pids:
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total, seen = total + int(line.split()[1]), True
    return total / 1024 if seen else None


def resident(pid: int | None = None) -> float:
    """MiB of resident memory of a process, by default this one."""
    return (
        int(Path(f"/proc/{pid or os.getpid()}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    )


def traces() -> set[str]:
    """Everything that a sandbox of this process could leave: processes, temporary files, control groups, containers."""
    found = {f"process {pid}" for pid in descendants(os.getpid())[1:]}
    found |= {f"file {name}" for name in os.listdir(tempfile.gettempdir())}
    for folder, names, _ in os.walk("/sys/fs/cgroup"):
        found |= {f"cgroup {folder}/{name}" for name in names if "codenav" in name and str(os.getpid()) in name}
    with contextlib.suppress(Exception):
        import docker

        with contextlib.closing(docker.from_env(timeout=30)) as client:
            for one in client.containers.list(all=True, filters={"label": "codenav.owner"}):
                if str(os.getpid()) in one.labels["codenav.owner"]:
                    found.add(f"container {one.short_id}")
    return found
