"""The fork that makes the frozen copy of a worker, and cuts the connections that a copy must not hold."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import sys
import time
import warnings
from collections.abc import Callable
from typing import TypeVar

from guest_describe import TooSlow, limited
from guest_revived import replace_by_dead

FORK_SECONDS = 2.0
"""Maximum time for a fork. A fork of 10 GB takes half a second."""

T = TypeVar("T")
_clock = time.monotonic


class Forker:
    """A double fork, so that user code finds no child that it did not start."""

    def __init__(self) -> None:
        self._ends = True
        """False once a fork did not come to its end: what a library does at each fork may wait for a lock for ever."""

    def fork(self) -> bool | None:
        """Fork. True in the copy; False in this process where there is a copy; None where none could be made."""
        if not self._ends:
            return None
        started = _clock()
        middle = _within(FORK_SECONDS, _fork)
        if middle == 0:
            try:
                if _fork():
                    os._exit(0)
            except OSError:
                os._exit(0)
            return True
        self._ends = _clock() - started < FORK_SECONDS
        if middle is None:
            return None
        if _within(FORK_SECONDS, lambda: _wait_for(middle)):
            return False
        self._ends = False
        os.kill(middle, signal.SIGKILL)
        _wait_for(middle)
        return None


def _wait_for(pid: int) -> bool:
    # Where user code ignores SIGCHLD, children vanish by themselves.
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
    return True


def _within(seconds: float, work: Callable[[], T]) -> T | None:
    """Return the result of work that may wait for ever; None where it takes too long or the system refuses."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
    try:
        found: T = limited(work, seconds)
        return found
    except (OSError, TooSlow):
        return None


def _fork() -> int:
    if sys.version_info < (3, 12):
        return os.fork()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def cut_connections(spared: set[int]) -> None:
    """Replace each pipe and socket by a dead socket.

    Their other ends must see the end of file when user code closes them, and a port must be free again, which a copy
    held by the twin would prevent. The numbers stay taken, so that an object of user code never meets the descriptor
    of another one.
    """
    cut = []
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        try:
            mode = os.fstat(number).st_mode
        except OSError:
            continue
        if number > 2 and number not in spared and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            cut.append(number)
    replace_by_dead(cut)
