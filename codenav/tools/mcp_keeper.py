"""The parent of an MCP server's process. It ends all that the server started once the server or the host has ended.

Runs as a script, `mcp_keeper.py HOST COMMAND…`, with the standard library only. It has the server's pipes for no longer
than it takes to start it. SIGTERM ends everything, and so does the end of the thread that started it: the death of the
host counts, however it came.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Sequence

GRACE_SECONDS = 0.5
"""Time between SIGTERM and SIGKILL."""
NOT_STARTED = 127
"""Exit code if the command cannot be run. The reason is on standard error."""
_SET_PARENT_DEATH_SIGNAL, _SET_CHILD_SUBREAPER = 1, 36  # <linux/prctl.h>
_WATCHED = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD}


def main(host: int, command: Sequence[str]) -> int:
    """Run a command, and return its exit code once nothing of it is left."""
    control = ctypes.CDLL(None).prctl
    control(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
    # Processes whose parent has ended become children of this one, where they can be found.
    control(_SET_CHILD_SUBREAPER, 1)
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    if os.getppid() != host:
        return 0
    keeper = os.getpid()
    child = os.fork()
    if child == 0:
        control(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() == keeper:
            _become(command)
        os._exit(NOT_STARTED)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    code = _wait(child)
    _kill_all(child)
    return code


def _become(command: Sequence[str]) -> None:
    os.setpgid(0, 0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)
    # The interpreter ignores these two; a server expects them as they are by default.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], list(command))
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())


def _wait(child: int) -> int:
    """Wait until the server ends; ask it to when this process is told to end."""
    while True:
        if signal.sigwait(_WATCHED) != signal.SIGCHLD:
            with contextlib.suppress(OSError):
                os.killpg(child, signal.SIGTERM)
            return _reap(child, time.monotonic() + GRACE_SECONDS) or 0
        code = _reap(child, 0.0)
        if code is not None:
            return code


def _reap(child: int, until: float) -> int | None:
    """Collect ended processes. Return the exit code of the server, or None if it still runs at that time."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return 0
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if pid == 0:
            if time.monotonic() >= until:
                return None
            time.sleep(0.005)


def _kill_all(child: int) -> None:
    """Kill what is left. The children of a killed process become those of this one, so it takes several rounds."""
    own = os.getpid()
    while True:
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        with contextlib.suppress(OSError), open(f"/proc/{own}/task/{own}/children") as children:
            for pid in children.read().split():
                with contextlib.suppress(OSError):
                    os.kill(int(pid), signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
