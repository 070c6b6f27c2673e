"""Calls to the host from inside a step: `call_host(name, **arguments)`, on the worker's side."""

from __future__ import annotations

import _socket
import contextlib
import json
import os
import select
import threading
from types import ModuleType
from typing import Any

from guest_frames import Frames, Message, encode, write_all
from guest_schema import ANSWER_BYTES, CALL_BYTES, CALL_NAME

_to_json = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode
_from_json = json.JSONDecoder().decode
_getpid, _ident, _read, _poll = os.getpid, threading.get_ident, os.read, select.poll
"""Bound here because user code may put something else in their place."""
_HEED_MILLISECONDS = 200
"""Time within which an interrupt is acted on that came just before the wait for an answer, and does not end it."""

_OVER = "the step is over: calls to the host are made while one runs"
_NOBODY = "the host takes no calls: this sandbox was started without a handler for them"
_CHILD = "calls to the host are made by the process of the steps, not by a child of it"
_BROKEN = "an earlier call of this step was interrupted; it makes no more calls to the host"
_NESTED = "a call to the host cannot be made while the same thread waits for another one"


class HostCallError(RuntimeError):
    """A call to the host that was refused, or failed there."""


HostCallError.__module__ = "builtins"


class Line:
    """The connection of one step to the supervisor. One call at a time: other threads wait for their turn."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._owner = descriptor, _getpid()
        self._frames = Frames(blob_bytes=ANSWER_BYTES)
        self._turn = threading.Lock()
        self._caller = self._count = 0
        self._closed = ""
        """The reason why no more calls are made; empty while they are."""

    def close(self, why: str) -> None:
        """Refuse all further calls; a thread that waits for an answer is told `why`."""
        if self._closed:
            return
        self._closed = why
        with contextlib.suppress(OSError):
            line = _socket.socket(fileno=self._descriptor)
            try:
                # Closing alone would not wake a thread that reads.
                line.shutdown(_socket.SHUT_RDWR)
            finally:
                line.close()

    def call(self, name: str, arguments: bytes) -> Any:
        """Make a call and return its result. Raises HostCallError."""
        if self._owner != _getpid():
            raise HostCallError(_CHILD)
        if self._caller == _ident():
            raise HostCallError(_NESTED)
        with self._turn:
            if self._closed:
                raise HostCallError(self._closed)
            self._caller = _ident()
            try:
                answer, result = self._exchange(name, arguments)
            except OSError:
                raise HostCallError(self._closed or _OVER) from None
            except BaseException:
                # Part of a frame may be lost with it.
                self.close(_BROKEN)
                raise
            finally:
                self._caller = 0
        if answer.get("error") is not None:
            raise HostCallError(answer["error"])
        return _from_json(result.decode("utf-8"))

    def _exchange(self, name: str, arguments: bytes) -> tuple[Message, bytes]:
        self._count += 1
        write_all(self._descriptor, encode({"op": "call", "call": self._count, "name": name}, arguments))
        answered = _poll()
        answered.register(self._descriptor, select.POLLIN)
        while True:
            while not answered.poll(_HEED_MILLISECONDS):
                pass
            data = _read(self._descriptor, 1 << 16)
            if not data:
                raise ConnectionError
            answers = self._frames.feed(data)
            if answers:
                return answers[0]


class _Now:
    """The connection of the running step, and the reason to refuse calls where there is none."""

    line: Line | None = None
    refusal = _OVER


def begin(descriptor: int | None) -> None:
    """Begin the calls of a step; without a descriptor the host takes none."""
    _Now.line = None if descriptor is None else Line(descriptor)
    _Now.refusal = _NOBODY if descriptor is None else _OVER


def end() -> None:
    """End the calls of a step."""
    line, _Now.line = _Now.line, None
    if line is not None:
        line.close(_OVER)


def call_host(name: str, /, **arguments: Any) -> Any:
    """Call a function that the host offers, and return its result.

    Arguments and result are JSON data: None, bool, int, float, str, list and dict with texts as keys.

    Raises:
        HostCallError: the host refuses the call, it failed there, or it is over a limit.
    """
    if not isinstance(name, str) or not CALL_NAME.fullmatch(name):
        raise HostCallError(f"{name!r:.100} is not the name of a call: letters, digits and _.:/- are allowed")
    try:
        data = _to_json(arguments).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise HostCallError(f"the arguments of {name} are no JSON: {error}") from None
    if len(data) > CALL_BYTES:
        raise HostCallError(f"the arguments of {name} take {len(data)} bytes; {CALL_BYTES} are allowed")
    line = _Now.line
    if line is None:
        raise HostCallError(_Now.refusal)
    return line.call(name, data)


def module() -> ModuleType:
    """Make `codenav_host`, the module by which stubs reach the host: their own globals have no names of steps."""
    made = ModuleType("codenav_host", "The calls of a step to the host.")
    made.__dict__.update(call_host=call_host, HostCallError=HostCallError, __all__=["HostCallError", "call_host"])
    return made
