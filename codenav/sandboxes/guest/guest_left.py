"""Child processes and files outside of the work folder that a step which was ended leaves behind."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from guest_notice import few

COMMAND_CHARACTERS = 40
_REALTIME_COARSE = 5
"""The clock that gives files their times, see clock_gettime(2). It lags behind by up to a tick of the kernel."""


def now() -> float:
    """The time that a file would get now."""
    return time.clock_gettime(_REALTIME_COARSE)


def left_behind(pids: Iterable[int], folders: Iterable[str], since: float) -> str:
    """A sentence about those processes and files in the folders that are not older than `since`. Empty for none.

    Hidden files do not count: they are what libraries keep in a home folder.
    """
    booted = now() - time.clock_gettime(time.CLOCK_BOOTTIME)
    left = [name for pid in sorted(pids) for name in _process(pid, since - booted)]
    left += [path for folder in folders for path in _files(folder, since)]
    return f"left behind by the step: {few(' '.join(one.split()) for one in left)}." if left else ""


def _process(pid: int, since: float) -> list[str]:
    """The id and the command of a process, if it was started since then."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            command = file.read(400).replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return []
    # Its time is cut to whole ticks.
    started = (int(fields[19]) + 1) / os.sysconf("SC_CLK_TCK")
    if fields[0] in (b"Z", b"X") or started < since:
        return []
    return [f"process {pid} ({command[:COMMAND_CHARACTERS]})"]


def _files(folder: str, since: float) -> list[str]:
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.name.startswith(".") and entry.stat(follow_symlinks=False).st_ctime >= since:
                    found.append(entry.path)
    except OSError:
        return sorted(found)
    return sorted(found)
