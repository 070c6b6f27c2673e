"""Clocks of limits: they stand still while a person is asked."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar

_current: ContextVar[tuple[Clock, ...]] = ContextVar("codenav-clocks", default=())


class Clock:
    """The seconds since its beginning in which no person was asked.

    `Episode` has one, each step of a sandbox, and the broker. Whoever asks a person does so in `asking()`, which stops
    the clocks that are current in its thread, so no signature in between mentions them.
    """

    def __init__(self, on_change: Callable[[bool], None] = lambda stands: None) -> None:
        """`on_change` is called with True when the clock stops, and with False when it goes on."""
        self._began, self._on_change = time.monotonic(), on_change
        # One value, since other threads read it: the seconds of earlier questions, and when the open one began.
        self._asked: tuple[float, float | None] = 0.0, None

    @property
    def asked(self) -> float:
        """The seconds in which a person was asked, those of an open question included."""
        before, began = self._asked
        return before + (0.0 if began is None else time.monotonic() - began)

    @property
    def seconds(self) -> float:
        """The seconds since the beginning, without `asked`."""
        return time.monotonic() - self._began - self.asked

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        """Let questions of this thread stop the clock."""
        token = _current.set((*_current.get(), self))
        try:
            yield
        finally:
            _current.reset(token)

    def _stop(self) -> None:
        self._asked = self.asked, time.monotonic()
        self._on_change(True)

    def _go_on(self) -> None:
        self._asked = self.asked, None
        self._on_change(False)


@contextlib.contextmanager
def asking() -> Iterator[None]:
    """Stop the current clocks while a person is asked."""
    clocks = _current.get()
    token = _current.set(())
    try:
        for clock in clocks:
            clock._stop()
        yield
    finally:
        for clock in clocks:
            clock._go_on()
        _current.reset(token)
