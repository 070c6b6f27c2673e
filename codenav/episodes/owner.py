"""Whose record it is, and whether that process still lives."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_STATE, _START_TIME = 0, 19
"""Places in /proc/PID/stat after the command's name: fields 3 and 22 of proc(5)."""


def owner() -> dict[str, Any]:
    """This process: `host`, `boot` (the kernel's boot id), `pid`, `started` (clock ticks after the boot)."""
    return {"host": os.uname().nodename, "boot": _boot(), "pid": os.getpid(), "started": _started(os.getpid())}


def lives(data: Any) -> bool:
    """Whether the process that `owner` described, as read back from a record, still runs.

    A pid that was given to another process does not count, a zombie does not, nor does one of another host.
    """
    if not isinstance(data, Mapping) or data.get("host") != os.uname().nodename or data.get("boot") != _boot():
        return False
    pid = data.get("pid")
    if not isinstance(pid, int) or pid <= 0:
        return False
    started = _started(pid)
    return started is not None and started == data.get("started")


def _boot() -> str:
    """Empty where /proc is not mounted: then no process can be told from another, and none counts as living."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _started(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    fields = text.rpartition(b")")[2].split()
    return None if fields[_STATE] in (b"Z", b"X") else int(fields[_START_TIME])
