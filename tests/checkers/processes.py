"""The checkers' processes, seen from outside (/proc)."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import termios
import time
from collections.abc import Callable
from pathlib import Path


def children(parent: int | None = None) -> dict[str, int]:
    """Folder of each checker process of `parent` (this process), and its pid."""
    wanted = os.getpid() if parent is None else parent
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            ppid = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if ppid == wanted and b"codenav.environments.checkers.serve" in command:
                found[os.readlink(entry / "cwd")] = int(entry.name)
        except OSError:
            continue
    return found


def alive(pid: int) -> bool:
    """True if it runs: a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def stop(pid: int) -> None:
    """Stop a process, and wait until it stands still: what is sent to it from then on stays in its pipe."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")


def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for something that happens outside this process."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def asked(pid: int) -> bool:
    """True if a request lies unread in the pipe to a process."""
    pipe = os.open(f"/proc/{pid}/fd/0", os.O_RDONLY | os.O_NONBLOCK)
    try:
        size: int = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]
        return size > 0
    finally:
        os.close(pipe)
