"""The one event loop of all steps that await."""

from __future__ import annotations

import selectors
from typing import Any

from guest_describe import guarded

CANCEL_SECONDS = 0.2
"""Time that an interrupted step has for its `finally`; less than the supervisor's grace."""


class Loop:
    """An event loop that runs a coroutine to its end. Tasks that it leaves go on while a later one runs."""

    def __init__(self) -> None:
        self._loop: Any = None

    def run(self, coroutine: Any) -> None:
        """Run a coroutine. Raises what it raises; if interrupted it is cancelled, and what it makes of that holds."""
        import asyncio

        if self._loop is None or self._loop.is_closed() or self._loop.is_running():
            # No epoll: its list of descriptors would be shared with the frozen twin.
            self._loop = asyncio.SelectorEventLoop(selectors.PollSelector())
        loop = self._loop
        asyncio.set_event_loop(loop)
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
