"""The one event loop of all steps that await."""

from __future__ import annotations

import contextlib
import os
import selectors
import sys
from collections.abc import Iterator
from typing import Any

from guest_describe import guarded

CANCEL_SECONDS = 0.2
"""Time that an interrupted step has for its `finally`; less than the supervisor's grace."""

_COROUTINES = 0x80 | 0x100 | 0x200
"""`inspect.CO_COROUTINE`, `CO_ITERABLE_COROUTINE`, `CO_ASYNC_GENERATOR`."""

ANYIO = ("anyio._core._eventloop", "sniffio._impl")
"""Modules that `anyio.run` asks whether a loop is running."""


def _in_step() -> bool:
    """True if the caller is the code of a step itself, or a function that it called, and nothing that it awaits."""
    frame = sys._getframe(1)
    while frame is not None and not frame.f_code.co_flags & _COROUTINES:
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None and frame.f_code.co_filename.startswith("<step ") and frame.f_code.co_name == "<module>"


def _new_loop() -> Any:
    """An event loop that the step which it runs may run once more."""
    import asyncio

    class StepLoop(asyncio.SelectorEventLoop):
        _thread_id: Any
        _ready: Any

        def _check_running(self) -> None:
            if not _in_step():
                super()._check_running()  # type: ignore[misc]

        def run_forever(self) -> None:
            thread, ready = self._thread_id, len(self._ready)
            try:
                super().run_forever()
            finally:
                if thread is not None:
                    self._thread_id = thread
                    # The round that is interrupted takes as many as there were.
                    for _ in range(ready - len(self._ready)):
                        self.call_soon(int)

    # No epoll: its list of descriptors would be shared with the frozen twin.
    return StepLoop(selectors.PollSelector())


@contextlib.contextmanager
def _nesting(loop: Any, task: Any) -> Iterator[None]:
    """Let the code of a step that awaits also run event loops, such as by `asyncio.run`, as if it were not run by one.

    asyncio asks its module `events` whether a loop is running before it starts one; anyio asks the package.
    """
    import asyncio
    from asyncio import events, tasks

    get, put = events._get_running_loop, events._set_running_loop
    public = asyncio.get_running_loop, asyncio.current_task
    outer: list[Any] = []

    def put_nested(new: Any) -> None:
        if new is not None:
            outer.append(get())
            if outer[-1] is loop:
                tasks._leave_task(loop, task)
            put(new)
            return
        back: Any = outer.pop() if outer else None
        put(back)
        if back is loop:
            tasks._enter_task(loop, task)

    def hidden_from_anyio(ask: Any) -> Any:
        def asked(*loop: Any, **named: Any) -> Any:
            if sys._getframe(1).f_globals.get("__name__") in ANYIO and _in_step():
                raise RuntimeError("no running event loop")
            return ask(*loop, **named)

        return asked

    events._get_running_loop = lambda: None if _in_step() else get()
    events._set_running_loop = put_nested
    asyncio.get_running_loop, asyncio.current_task = map(hidden_from_anyio, public)
    try:
        yield
    finally:
        events._get_running_loop, events._set_running_loop = get, put
        asyncio.get_running_loop, asyncio.current_task = public


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
            with _nesting(loop, task):
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
            self._loop, self._owner = _new_loop(), os.getpid()
        asyncio.set_event_loop(self._loop)
        return self._loop

    def _own_line(self) -> bool:
        self._loop._close_self_pipe()
        self._loop._make_self_pipe()
        return True
