"""What a step that was ended leaves behind: child processes, and files outside of the work folder."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from guest_told import few

CLOCK_SECONDS = 0.01
"""How far the times of files and processes may lag behind the clock: a tick of the kernel."""
COMMAND_CHARACTERS = 40


def left_behind(pids: Iterable[int], folders: Iterable[str], seconds: float) -> str:
    """A sentence about the processes and the files in the folders that the last seconds have made. Empty for none.

    Hidden files do not count: they are what libraries keep in a home folder.
    """
    since = seconds + CLOCK_SECONDS
    started = time.clock_gettime(time.CLOCK_BOOTTIME) - since
    left = [name for pid in sorted(pids) for name in _process(pid, started)]
    left += [path for folder in folders for path in _files(folder, time.time() - since)]
    return f"left behind by the step: {few(' '.join(one.split()) for one in left)}." if left else ""


def _process(pid: int, since: float) -> list[str]:
    """The id and the command of a process that was started since then; nothing for another."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            command = (
                file.read(4 * COMMAND_CHARACTERS)
                .replace(b"\0", b" ")
                .decode("utf-8", "replace")
                .strip()[:COMMAND_CHARACTERS]
            )
    except OSError:
        return []
    started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return (
        [f"process {pid} ({command[:COMMAND_CHARACTERS]})"]
        if fields[0] not in (b"Z", b"X") and started >= since
        else []
    )


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
