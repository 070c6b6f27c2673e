"""Cancelling: one thread ends what another one is waiting for."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from codenav.errors import Cancelled

AGAIN_SECONDS = 1.0
"""Between two wakes of something that has not ended: a step that does not answer an interrupt is ended by the second,
and an interrupt that came before its step is made up for."""

_current: ContextVar[CancelScope] = ContextVar("codenav-cancel-scope")


class CancelScope:
    """A piece of work that can be cancelled, and what it waits for. Thread-safe.

    `Episode` makes one, and enters it around each call to its agent, its environments and its verifier. What waits
    inside such a call, in the same thread, finds it by `current_scope()`; so no signature between the two knows of it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._idle = threading.Event()
        """Nothing waits inside."""
        self._wakes: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        """`cancel` was called."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Cancel, and wake what waits; returns at once, and does nothing the second time."""
        if self.cancelled:
            return
        with self._lock:
            self._cancelled.set()
            waiting = bool(self._wakes)
        if waiting:
            threading.Thread(target=self._wake, name="codenav-cancel", daemon=True).start()

    def check(self) -> None:
        """Stop here where it is cancelled.

        Raises:
            Cancelled: it is.
        """
        if self.cancelled:
            raise Cancelled

    def sleep(self, seconds: float) -> None:
        """Sleep.

        Raises:
            Cancelled: it was cancelled before the time was over.
        """
        if self._cancelled.wait(seconds):
            raise Cancelled

    def wait(self, event: threading.Event) -> bool:
        """Wait until an event is set; False where it was cancelled first."""
        while not event.wait(0.05):
            if self.cancelled:
                return False
        return True

    @contextlib.contextmanager
    def waking(self, wake: Callable[[], None]) -> Iterator[None]:
        """While this is entered, `cancel` calls `wake`, from another thread, every second until it is left.

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
            # Waits for a wake that is under way: a late one would hit what comes next.
            with self._lock:
                self._wakes.remove(wake)
                if not self._wakes:
                    self._idle.set()

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Make this the current scope of this thread."""
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
                    # What cannot be woken now is tried again.
                    with contextlib.suppress(Exception):
                        wake()
            self._idle.wait(AGAIN_SECONDS)


def current_scope() -> CancelScope:
    """The scope that was entered in this thread; one that nobody cancels where none was."""
    return _current.get(None) or CancelScope()
