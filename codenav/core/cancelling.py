"""Cancelling: one thread ends what another one waits for."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from codenav.core.errors import Cancelled

AGAIN_SECONDS = 1.0
"""Time between two wakes of something that has not ended.

A step that does not answer an interrupt is ended by the second one, which also makes up for an interrupt that came
before its step.
"""

_current: ContextVar[CancelScope] = ContextVar("codenav-cancel-scope")


class CancelScope:
    """A piece of work that can be cancelled, and what it waits for. Thread-safe.

    `Episode` makes one, and enters it around each call to its agent, its environments and its verifier. Whatever waits
    within such a call, in the same thread, gets it from `current_scope()`, so no signature in between mentions it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._idle = threading.Event()
        """Set while nothing waits."""
        self._wakes: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        """True once `cancel` was called."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Cancel, and wake what waits. Returns at once, and does nothing the second time."""
        if self.cancelled:
            return
        with self._lock:
            self._cancelled.set()
            waiting = bool(self._wakes)
        if waiting:
            threading.Thread(target=self._wake, name="codenav-cancel", daemon=True).start()

    def check(self) -> None:
        """Raise if the work is cancelled.

        Raises:
            Cancelled: it is cancelled.
        """
        if self.cancelled:
            raise Cancelled

    def sleep(self, seconds: float) -> None:
        """Sleep, unless the work is cancelled.

        Raises:
            Cancelled: it was cancelled before the time was over.
        """
        if self._cancelled.wait(seconds):
            raise Cancelled

    def wait(self, event: threading.Event) -> bool:
        """Wait until an event is set. False if the work was cancelled first."""
        while not event.wait(0.05):
            if self.cancelled:
                return False
        return True

    @contextlib.contextmanager
    def waking(self, wake: Callable[[], None]) -> Iterator[None]:
        """Let `cancel` call `wake` from another thread, every second until the context is left.

        Raises:
            Cancelled: it is cancelled already, so what would be woken must not begin.
        """
        with self._lock:
            self.check()
            self._wakes.append(wake)
            self._idle.clear()
        try:
            yield
        finally:
            # Waits for a wake that is in progress: a late one would hit what comes next.
            with self._lock:
                self._wakes.remove(wake)
                if not self._wakes:
                    self._idle.set()

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Make this the current scope of the thread."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def _wake(self) -> None:
        while True:
            with self._lock:
                if not self._wakes:
                    return
                for wake in self._wakes:
                    # A failed wake is repeated.
                    with contextlib.suppress(Exception):
                        wake()
            self._idle.wait(AGAIN_SECONDS)


def current_scope() -> CancelScope:
    """Return the current scope of this thread, or a new one that nobody cancels."""
    return _current.get(None) or CancelScope()
