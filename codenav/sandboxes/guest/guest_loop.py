"""The one event loop of all steps that await."""

from __future__ import annotations

import os
import selectors
from typing import Any

from guest_describe import guarded

CANCEL_SECONDS = 0.2
"""Time that an interrupted step has for its `finally`; less than the supervisor's grace."""


class Loop:
    """An event loop that runs a coroutine to its end. Tasks that it leaves go on while a later one runs."""

    def __init__(self) -> None:
        self._loop: Any = None
        self._owner = 0

    def run(self, coroutine: Any) -> None:
        """Run a coroutine. Raises what it raises; if interrupted it is cancelled, and what it makes of that holds."""
        import asyncio

        loop = self._ready()
        task = loop.create_task(coroutine)
        try:
            loop.run_until_complete(task)
        except BaseException:
            if not task.done():
                task.cancel()
                guarded(lambda: loop.run_until_complete(asyncio.wait([task], timeout=CANCEL_SECONDS)))
                if task.done() and not task.cancelled() and task.exception() is None:
                    return
            raise

    def _ready(self) -> Any:
        import asyncio

        if self._loop is not None and self._owner != os.getpid():
            # A copy of the process: the two must not wake each other.
            self._owner = os.getpid()
            if guarded(self._own_line) is None:
                self._loop = None
        if self._loop is None or self._loop.is_closed() or self._loop.is_running():
            # No epoll: its list of descriptors would be shared with the frozen twin.
            self._loop, self._owner = asyncio.SelectorEventLoop(selectors.PollSelector()), os.getpid()
        asyncio.set_event_loop(self._loop)
        return self._loop

    def _own_line(self) -> bool:
        self._loop._close_self_pipe()
        self._loop._make_self_pipe()
        return True
