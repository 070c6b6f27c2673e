"""Calls while they are made: each ends in time, and at once when it is cancelled."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from codenav.core.system.repeats import pause_after

MOST_TRIES = 4

Made = TypeVar("Made")


class Refused(Exception):
    """A call of which nothing was sent."""


class Failed(Exception):
    """A call to which no usable answer came.

    `status` is that of HTTP where one came; `tries` counts the requests that were sent.
    """

    def __init__(self, message: str, *, status: int | None = None, tries: int = 1) -> None:
        super().__init__(message)
        self.status, self.tries = status, tries


class OutOfTime(Exception):
    """The work did not end in its time."""


class Flight:
    """One call. Its requests run in threads that are left behind where they do not end in time."""

    def __init__(self, until: float) -> None:
        self.until = until
        """Time of `time.monotonic()` at which it has to be over."""
        self.stopped = threading.Event()
        """Set once nobody waits for the work any more; it ends at its next byte."""
        self._results: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()

    @property
    def left(self) -> float:
        """Seconds that are left; not under 0."""
        return max(self.until - time.monotonic(), 0.0)

    def cancel(self) -> None:
        """End it, from any thread."""
        self.stopped.set()
        self._results.put(("cancelled", None))

    def run(self, work: Callable[[], Made]) -> Made:
        """Return what the work returns, and raise what it raises.

        Raises:
            OutOfTime: the time was over first.
            Failed: it was cancelled.
        """
        self.check()

        def thread() -> None:
            try:
                self._results.put(("made", work()))
            except BaseException as error:
                self._results.put(("raised", error))

        threading.Thread(target=thread, name="codenav-tool", daemon=True).start()
        try:
            kind, found = self._results.get(timeout=self.left)
        except queue.Empty:
            self.stopped.set()
            raise OutOfTime from None
        if kind == "raised":
            raise found
        if kind == "cancelled":
            raise Failed("the call was interrupted")
        return found  # type: ignore[no-any-return]

    def sleep(self, seconds: float) -> None:
        """Sleep. Raises Failed where it is cancelled meanwhile."""
        self.stopped.wait(seconds)
        self.check()

    def rest(self, tries: int, asked: float | None = None) -> bool:
        """Sleep before another try. False, at once, if there is none: too many were made, or the time is too short.

        `asked`: seconds for which the server asked. Raises Failed where it is cancelled meanwhile.
        """
        pause = pause_after(tries, asked)
        if tries >= MOST_TRIES or pause >= self.left:
            return False
        self.sleep(pause)
        return True

    def check(self) -> None:
        """Raise Failed if it was cancelled."""
        if self.stopped.is_set():
            raise Failed("the call was interrupted")
