"""The process that runs the steps, and its frozen copy, from the supervisor's side."""

from __future__ import annotations

import array
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable, Collection
from typing import Any

import guest_linux
from guest_frames import Message, encode

WAKE_SECONDS = 0.4
"""Time for a woken twin to answer; one that does not hangs, in a lock of a thread that a fork does not copy."""
COMING_SECONDS = 1.0
"""Time for a new twin to speak, also on a machine under load."""
LOST = 70
"""The exit code of a worker that cannot talk to the supervisor any more."""
FULL = 71
"""The exit code of a worker that has no memory left to serve a request."""

_CREDENTIALS = struct.Struct("3i")
_SO_PASSCRED = getattr(socket, "SO_PASSCRED", 16)
_SCM_CREDENTIALS = getattr(socket, "SCM_CREDENTIALS", 2)


class Worker:
    """The process that serves requests."""

    def __init__(self, pid: int, control: socket.socket) -> None:
        self.pid, self.control = pid, control
        guest_linux.watch_end(pid)
        control.setblocking(False)
        self.unsent = b""
        self.served = False
        """True once it has taken up a request: a fresh one may need long to import what it must."""

    def close(self) -> None:
        """Forget the worker, which was killed."""
        self.control.close()
        guest_linux.unwatch_end(self.pid)

    def alive(self) -> bool:
        """True if it has not ended."""
        return self.pid not in guest_linux.reap()

    def was_killed(self) -> bool:
        """True if it ended by SIGKILL."""
        status = guest_linux.reap().get(self.pid)
        return status is not None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL

    def was_full(self) -> bool:
        """True if it ended for want of memory by itself."""
        return guest_linux.reap().get(self.pid) == FULL << 8

    def end(self) -> str:
        """A description of its end, such as `was killed by SIGKILL`."""
        status = guest_linux.reap().get(self.pid)
        if status is None:
            return "was killed"
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            try:
                return f"was killed by {signal.Signals(number).name}"
            except ValueError:
                return f"was killed by signal {number}"
        if self.was_full():
            return "ran out of memory"
        if os.WEXITSTATUS(status) == LOST:
            return "lost its connection to the sandbox: too many files are open, or one was closed that was its"
        return f"ended with exit code {os.WEXITSTATUS(status)}"

    def send(self, message: Message, descriptors: list[int]) -> None:
        """Begin to send a message; `push` sends what did not fit."""
        data = encode(message)
        attached = array.array("i", descriptors)
        try:
            sent = self.control.sendmsg([data[: 1 << 15]], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, attached)])
        except OSError:
            sent = len(data)
        self.unsent = data[sent:]

    def push(self) -> None:
        """Send more; a worker that is gone is noticed elsewhere."""
        try:
            self.unsent = self.unsent[self.control.send(self.unsent) :]
        except BlockingIOError:
            return
        except OSError:
            self.unsent = b""


class Twin:
    """The frozen copy of a worker. Its process id comes from the kernel, not from itself.

    The line on which it speaks passes through the worker, whose threads can write there too: what comes from a process
    that was there before the request is not from the twin, and after the first word only that one is heard.
    """

    def __init__(self, loop: Any, present: Collection[int]) -> None:
        self._loop, self._present = loop, frozenset(present)
        self._on_life: Callable[[Twin], None] | None = None
        self.line, self.far_end = socket.socketpair()
        self.line.setsockopt(socket.SOL_SOCKET, _SO_PASSCRED, 1)
        self.line.setblocking(False)
        self.pid: int | None = None
        self.gone = False
        self.losses = ""
        """The letters that it sent on waking for what a fork cannot keep; it may have made up any of them."""
        self._made = time.monotonic()

    def coming(self) -> bool:
        """True if it may be just being made."""
        return self.pid is None and not self.gone and time.monotonic() - self._made < COMING_SECONDS

    def sent(self, on_life: Callable[[Twin], None]) -> None:
        """Note that the other end was handed over; `on_life` is called when the twin speaks."""
        self.far_end.close()
        self._on_life = on_life
        self._loop.watch(self.line.fileno(), self.listen)

    def listen(self) -> None:
        """Take its first word, which carries its process id."""
        self._hear()
        if self.gone or self.pid is not None:
            self._loop.unwatch(self.line.fileno())
        if self.pid is not None and self._on_life is not None:
            on_life, self._on_life = self._on_life, None
            on_life(self)

    def _hear(self) -> bytes:
        """Read what it says; nothing where another process spoke."""
        try:
            data, ancillary, _, _ = self.line.recvmsg(32, 64)
        except BlockingIOError:
            return b""
        except OSError:
            self.gone = True
            return b""
        if not data:
            self.gone = True
        speaker = 0
        for level, kind, attached in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, _SCM_CREDENTIALS) and len(attached) >= _CREDENTIALS.size:
                speaker = _CREDENTIALS.unpack_from(attached)[0]
        if self.pid is None and speaker > 1 and speaker not in self._present:
            self.pid = speaker
            guest_linux.watch_end(speaker)
        return data if speaker == self.pid else b""

    def _await(self, heard: Callable[[], object], seconds: float) -> bool:
        """Wait for the twin to be heard. True if it is there and was heard in time."""
        poll = select.poll()
        poll.register(self.line, select.POLLIN)
        until = time.monotonic() + seconds
        while not heard() and not self.gone:
            left = until - time.monotonic()
            if left <= 0 or not poll.poll(int(left * 1000) + 1):
                return False
        return not self.gone

    def exists(self) -> bool:
        """True if it was made and still is there. Waits for one that is just being made."""
        if self.pid is None and not self.gone:
            self._await(self._lives, WAKE_SECONDS)
        return self.pid is not None and not self.gone and self.pid not in guest_linux.reap()

    def _lives(self) -> bool:
        self.listen()
        return self.pid is not None

    def wake(self) -> Worker | None:
        """Make the twin the worker; None where it does not answer."""
        said = b""

        def answers() -> bool:
            nonlocal said
            said = self._hear()
            return said.startswith(b"w")

        try:
            self.line.send(b"g")
        except OSError:
            return None
        if self.pid is None or not self._await(answers, WAKE_SECONDS):
            return None
        self.losses = said[1:].decode("ascii", "replace")
        return Worker(self.pid, self.line)

    def drop(self) -> None:
        """End the twin. One that has not spoken yet ends at the end of its line."""
        if self.pid is None:
            self._hear()
        self._loop.unwatch(self.line.fileno())
        self.line.close()
        if self.pid is not None:
            if self.pid not in guest_linux.reap():
                os.kill(self.pid, signal.SIGKILL)
            guest_linux.unwatch_end(self.pid)
