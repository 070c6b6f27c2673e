"""A bound on the time of a piece of work in this process."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from codenav.core.cancelling import current_scope

T = TypeVar("T")


class OutOfTime(Exception):
    """A piece of work did not end in its time."""


class _Stop(BaseException):
    """Raised in the thread of work that nobody waits for any more."""


class Deadline:
    """A point in time, for work in several pieces."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """The seconds that are left, at least 0."""
        return max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        """Raise if no time is left.

        Raises:
            OutOfTime: none is left.
        """
        if not self.left:
            raise OutOfTime

    def within(self, work: Callable[[], T]) -> T:
        """The result of a piece of work, in the time that is left. See `within`."""
        return within(self.left, work)


def within(seconds: float, work: Callable[[], T]) -> T:
    """The result of `work`, which is done in a thread of its own and must need no lock: it may be stopped anywhere.

    Raises:
        OutOfTime: it takes more than `seconds`.
        Cancelled: the current scope was cancelled meanwhile.
    """
    scope, done = current_scope(), threading.Event()
    results: list[T] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            results.append(work())
        except Exception as error:
            errors.append(error)
        except _Stop:
            pass
        finally:
            done.set()

    thread = threading.Thread(target=run, name="codenav-bounded", daemon=True)
    thread.start()
    waited = 0.0
    try:
        while not done.wait(min(0.05, seconds)) and waited < seconds:
            scope.check()
            waited += 0.05
    finally:
        if not done.is_set() and thread.ident is not None:
            # The one way to end a thread that runs Python code; a single call into C has to return first.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_Stop))
    if errors:
        raise errors[0]
    if not results:
        raise OutOfTime
    return results[0]
