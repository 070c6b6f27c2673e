"""The relay of the calls of one step, one at a time, from the worker to the host, and of the answers back.

Answers are kept with the step. A step that runs again gets these answers, and reaches the host no more.
"""

from __future__ import annotations

import _socket
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from guest_frames import Frame, Frames, Message, Violation, encode
from guest_schema import ANSWER_BYTES, CALL_BYTES, FROM_CALLER, MOST_CALLS

HEAD_BYTES = 4096
"""Largest JSON part of a call, which holds its number and name."""
KEPT_BYTES = ANSWER_BYTES + HEAD_BYTES
"""Maximum bytes of answers kept of one step: the largest one alone."""


class Answered(NamedTuple):
    """A call that was made, and the frame that answered it."""

    name: str
    arguments: int
    """A hash of the arguments: equal ones are the same call."""
    frame: bytes


class Relay:
    """A listener to the worker from `begin` to `close`. With `earlier`, the answers of the first run, it asks nobody.

    `on_violation` is called where the worker writes something that is no call.
    """

    def __init__(self, loop: Any, step: int, earlier: Sequence[Answered] | None = None) -> None:
        self._loop, self._step, self._earlier = loop, step, earlier
        self._count = 0
        self._asked: tuple[str, int] | None = None
        """The call that the host has not answered yet."""
        self._frames = Frames(json_bytes=HEAD_BYTES, blob_bytes=CALL_BYTES)
        self._waiting: list[Frame] = []
        self._unsent = bytearray()
        self._violated: Callable[[], None] = lambda: None
        ours, theirs = _socket.socketpair()
        ours.setblocking(False)
        self._line, self.writer = ours, theirs.detach()
        self.answered: list[Answered] = []
        self.stands = False
        """True while the clock of the step stands: a person is asked about its call."""
        self._kept = 0

    @property
    def complete(self) -> bool:
        """True if all answers were kept."""
        return self._kept <= KEPT_BYTES

    def begin(self, on_violation: Callable[[], None]) -> None:
        """Begin to listen: the worker has its end now."""
        os.close(self.writer)
        self._violated = on_violation
        self._loop.on_answer = self._take
        self._loop.watch(self._line.fileno(), self._read)

    def close(self) -> None:
        """Take no more calls, and send no more answers."""
        self._loop.on_answer = None
        self._stop()
        self._line.close()

    def _stop(self) -> None:
        self._loop.unwatch(self._line.fileno())

    def _read(self) -> None:
        try:
            data = self._line.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._stop()
            return
        try:
            self._waiting += self._frames.feed(data)
        except Violation:
            self._end_badly()
            return
        self._next()

    def _end_badly(self) -> None:
        self._stop()
        self._waiting = []
        self._violated()

    def _next(self) -> None:
        """Take up calls for as long as each can be answered here; listen no more while the host has one."""
        while self._waiting and self._asked is None and not self._unsent:
            message, arguments = self._waiting.pop(0)
            if not FROM_CALLER(message) or message["call"] != self._count + 1:
                self._end_badly()
                return
            self._count += 1
            self._answer_or_ask(message["name"], arguments)

    def _answer_or_ask(self, name: str, arguments: bytes) -> None:
        call = (name, hash(arguments))
        if self._count > MOST_CALLS:
            self._say(encode({"op": "answer", "error": f"a step may make {MOST_CALLS} calls to the host"}))
        elif self._earlier is None:
            self._asked = call
            self._stop()
            self._loop.post({"op": "call", "step": self._step, "call": self._count, "name": name}, arguments)
        elif self._count <= len(self._earlier) and self._earlier[self._count - 1][:2] == call:
            self._say(self._earlier[self._count - 1].frame)
        else:
            self._say(encode({"op": "answer", "error": f"the step runs again, and had not called {name} then"}))

    def _take(self, message: Message, result: bytes) -> None:
        """Pass on an answer of the host, or note that the clock of the step stands or goes on."""
        if message["op"] == "clock":
            self.stands = message["step"] == self._step and message["stands"]
            return
        if self._asked is None or (message["step"], message["call"]) != (self._step, self._count):
            return
        frame = encode({"op": "answer", "error": message["error"]}, result)
        self._kept += len(frame)
        if self.complete:
            self.answered.append(Answered(*self._asked, frame))
        self._asked = None
        self._loop.watch(self._line.fileno(), self._read)
        self._say(frame)
        self._next()

    def _say(self, frame: bytes) -> None:
        self._unsent += frame
        self._push()

    def _push(self) -> None:
        """Send what fits; the rest when there is room. The worker is not listened to before all is sent."""
        try:
            while self._unsent:
                del self._unsent[: self._line.send(self._unsent)]
        except BlockingIOError:
            self._stop()
            self._loop.watch(self._line.fileno(), self._push_on, out=True)
        except OSError:
            self._stop()
            self._unsent = bytearray()

    def _push_on(self) -> None:
        self._stop()
        self._loop.watch(self._line.fileno(), self._read)
        self._push()
        if not self._unsent:
            self._next()
