"""Calls from a running step to the host. A handler answers them one at a time while the step waits."""

from __future__ import annotations

import contextlib
import contextvars
import threading
import time
from collections.abc import Mapping
from typing import Any

from codenav.core.clocks import Clock
from codenav.core.protocols import CallHandler, StepHandler
from codenav.sandboxes.channel import Channel, Closed, TooLate
from codenav.sandboxes.decoding import Malformed
from codenav.sandboxes.shared import frames, schema

_threads = threading.local()
"""Thread-local `sandbox`: in a thread that runs a handler, the sandbox whose step waits for it."""


class Calls:
    """The calls of one step. Each is answered in its own thread, so that a stuck handler does not delay a timeout."""

    def __init__(
        self, handler: CallHandler | None, sandbox: object, channel: Channel, step: int, *, seconds: float
    ) -> None:
        self._handler, self._sandbox, self._channel, self._step = handler, sandbox, channel, step
        self._count = 0
        self._open = self._over = False
        self._lock = threading.Lock()
        self.clock = Clock(self._tell)
        if isinstance(handler, StepHandler):
            handler.begin(seconds)

    def hear(self, frame: Mapping[str, Any], blob: bytes, deadline: float) -> None:
        """Answer a `call` frame from inside. The supervisor forwards only valid ones.

        Raises:
            Malformed: there is no handler, or the call is out of turn, too large or one too many.
        """
        if self._handler is None:
            raise Malformed("a call to the host that nobody answers")
        turn = (frame["step"], frame["call"]) == (self._step, self._count + 1)
        if self._open or not turn or self._count >= schema.MOST_CALLS:
            raise Malformed("a call to the host out of its turn")
        if len(blob) > schema.CALL_BYTES:
            raise Malformed(f"a call to the host with {len(blob)} bytes")
        self._count += 1
        self._open = True
        work = (self._handler, self._count, frame["name"], blob, deadline)
        try:
            # In the context of the step, whose clocks a question to a person stops.
            threading.Thread(
                target=contextvars.copy_context().run, args=(self._answer, *work), name="codenav-call", daemon=True
            ).start()
        except RuntimeError:
            self._send(self._count, "the host has no thread left to answer in", b"", deadline)

    def close(self) -> None:
        """Mark the step as over. Results that handlers return from now on are dropped."""
        with self._lock:
            self._over = True
        if isinstance(self._handler, StepHandler):
            self._handler.end()

    def _answer(self, handler: CallHandler, number: int, name: str, blob: bytes, deadline: float) -> None:
        _threads.sandbox = self._sandbox
        with self.clock.current():
            made = _made(handler, name, blob)
        self._send(number, *made, deadline + self.clock.asked)

    def _tell(self, stands: bool) -> None:
        """Tell the supervisor that the clock of the step stands, or goes on."""
        with self._lock, contextlib.suppress(Closed, TooLate):
            if not self._over:
                told = {"op": "clock", "step": self._step, "stands": stands}
                self._channel.send(told, deadline=time.monotonic() + 1.0)

    def _send(self, number: int, error: str | None, result: bytes, deadline: float) -> None:
        answer = {"op": "answer", "step": self._step, "call": number, "error": error}
        with self._lock:
            if self._over:
                return
            # Cleared before the answer is sent: the next call may come at once.
            self._open = False
            try:
                self._channel.send(answer, result, deadline=deadline)
            except (Closed, TooLate):
                # The thread that waits for the step gets the same error.
                return


def is_answering(sandbox: object) -> bool:
    """True if this thread runs a handler for a step of that sandbox."""
    return getattr(_threads, "sandbox", None) is sandbox


def _made(handler: CallHandler, name: str, blob: bytes) -> tuple[str | None, bytes]:
    """Call the handler. Return an error message, or None and the result as JSON."""
    try:
        arguments = frames.message_of(blob)
    except Malformed as problem:
        return f"the arguments of {name} are {problem}", b""
    try:
        returned = handler(name, arguments)
    except BaseException as problem:
        return _message(problem), b""
    try:
        result = frames.to_json(returned).encode("ascii")
    except (TypeError, ValueError, RecursionError) as problem:
        return f"the result of {name} is no JSON: {problem}", b""
    if len(result) > schema.ANSWER_BYTES:
        return f"the result of {name} takes {len(result)} bytes; {schema.ANSWER_BYTES} are allowed", b""
    return None, result


def _message(problem: BaseException) -> str:
    try:
        text = str(problem)
    except Exception:
        text = ""
    return (text or type(problem).__name__)[: schema.CALL_ERROR_CHARACTERS]
