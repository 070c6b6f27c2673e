"""One request to the worker, from the supervisor's side: descriptors out, output and reply in, limits kept."""

from __future__ import annotations

import array
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

import guest_linux
from guest_check import well_formed
from guest_frames import Frames, Message, Violation, encode
from guest_output import Pipe

GRACE_SECONDS = 0.3
"""Between SIGINT at the timeout and SIGKILL."""
WAKE_SECONDS = 0.4
"""A woken twin that does not answer by then hangs, in a lock of a thread that a fork does not copy."""
BEGIN_SECONDS = 2.0
"""A worker that does not take up a request by then, or by half of its time, is still busy with an earlier step."""
LOST = 70
"""Exit code of a worker that cannot talk to the supervisor any more."""
CHECK_SECONDS = 0.05
"""How often memory is summed during a step."""
SLOW_CHECK_SECONDS = 0.25
"""How often where the exact sum is needed, which walks page tables."""

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
        """Whether it has taken up a request: a fresh one may need long to import what it must."""

    def close(self) -> None:
        """Forget it; it was killed."""
        self.control.close()
        guest_linux.unwatch_end(self.pid)

    def alive(self) -> bool:
        """Whether it has not ended."""
        return self.pid not in guest_linux.reap()

    def end(self) -> str:
        """How it ended, in words."""
        status = guest_linux.reap().get(self.pid)
        if status is None:
            return "was killed"
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            try:
                return f"was killed by {signal.Signals(number).name}"
            except ValueError:
                return f"was killed by signal {number}"
        if os.WEXITSTATUS(status) == LOST:
            return "lost its connection to the sandbox; code must not close descriptors that it did not open"
        return f"ended with exit code {os.WEXITSTATUS(status)}"

    def send(self, message: Message, descriptors: list[int]) -> None:
        """Begin to send; `push` sends what did not fit."""
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
    """The frozen copy of a worker. Its process id comes from the kernel, not from itself."""

    def __init__(self) -> None:
        self.line, self.theirs = socket.socketpair()
        self.line.setsockopt(socket.SOL_SOCKET, _SO_PASSCRED, 1)
        self.line.setblocking(False)
        self.pid: int | None = None
        self.gone = False

    def sent(self) -> None:
        """The other end was handed over."""
        self.theirs.close()

    def listen(self) -> None:
        """Take its first word, which carries its process id."""
        try:
            data, ancillary, _, _ = self.line.recvmsg(16, 64)
        except BlockingIOError:
            return
        except OSError:
            self.gone = True
            return
        if not data:
            self.gone = True
            return
        for level, kind, attached in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, _SCM_CREDENTIALS) and len(attached) >= _CREDENTIALS.size:
                pid = _CREDENTIALS.unpack_from(attached)[0]
                if pid > 1 and self.pid is None:
                    self.pid = pid
                    guest_linux.watch_end(pid)

    def await_word(self, seconds: float) -> bool:
        """Whether it said something in time."""
        poll = select.poll()
        poll.register(self.line, select.POLLIN)
        if not poll.poll(int(seconds * 1000)):
            return False
        self.listen()
        return not self.gone

    def exists(self) -> bool:
        """Whether it was made and still is. Waits for one that is just being made."""
        if self.pid is None and not self.gone:
            self.await_word(WAKE_SECONDS)
        return self.pid is not None and not self.gone and self.pid not in guest_linux.reap()

    def wake(self) -> Worker | None:
        """Make it the worker; None where it does not answer."""
        try:
            self.line.send(b"g")
        except OSError:
            return None
        if self.pid is None or not self.await_word(WAKE_SECONDS):
            return None
        return Worker(self.pid, self.line)

    def drop(self) -> None:
        """End it."""
        self.line.close()
        if self.pid is not None:
            if self.pid not in guest_linux.reap():
                os.kill(self.pid, signal.SIGKILL)
            guest_linux.unwatch_end(self.pid)


class Request:
    """One request to a worker; `outcome` says how it went.

    `ok`: `reply` and `blob` hold a checked answer. Else `busy` (it was never taken up), `timeout`,
    `out_of_memory`, `crashed` or `protocol_violation`: the worker is of no more use. `interrupted` is set where
    the time was over but the worker answered to SIGINT. `on_twin` gets the twin as soon as it lives.
    """

    def __init__(
        self, loop: Any, worker: Worker, over_memory: Callable[[], bool | None], on_twin: Callable[[Twin], None]
    ) -> None:
        self._loop, self._worker, self._over_memory, self._on_twin = loop, worker, over_memory, on_twin
        self._begun = False
        self.outcome = ""
        self.reply: Message = {}
        self.blob = b""
        self.interrupted = False
        self.twin: Twin | None = None
        self._frames = Frames()
        self._answer = Pipe(0)

    def go(self, message: Message, pipes: list[Pipe], twin: Twin | None, seconds: float) -> None:
        """Send it and wait for its end: at most `seconds` and the grace."""
        self.twin = twin
        descriptors = [self._answer.writer, *(pipe.writer for pipe in pipes)]
        if twin:
            descriptors.append(twin.theirs.fileno())
        self._worker.send(message, descriptors)
        for pipe in (self._answer, *pipes):
            pipe.close_writer()
        self._loop.watch(self._answer.reader, self._read)
        if twin:
            twin.sent()
            self._loop.watch(twin.line.fileno(), self._hear_twin)
        try:
            now = time.monotonic()
            self._wait(now + seconds, now + (min(BEGIN_SECONDS, seconds / 2) if self._worker.served else seconds))
        finally:
            self._loop.unwatch(self._answer.reader)
            self._answer.close()
        if self.twin is not None:
            self._loop.unwatch(self.twin.line.fileno())
            if self.outcome != "busy" and self.twin.exists():
                self._on_twin(self.twin)
            else:
                self.twin.drop()

    def _wait(self, deadline: float, begin: float) -> None:
        check = time.monotonic() + CHECK_SECONDS
        while not self.outcome:
            now = time.monotonic()
            if now >= deadline:
                if self.interrupted:
                    self.outcome = "timeout"
                    return
                self.interrupted = True
                self._interrupt()
                deadline = now + GRACE_SECONDS
            if not self._begun and now >= begin:
                self.outcome = "busy"
                return
            if now >= check:
                over = self._over_memory()
                if over:
                    self.outcome = "out_of_memory"
                    return
                check = now + (CHECK_SECONDS if over is None else SLOW_CHECK_SECONDS)
            if self._worker.unsent:
                self._worker.push()
            pause = 0.005 if self._worker.unsent else min(deadline, check, deadline if self._begun else begin) - now
            self._loop.pump(max(0.0, pause))
            if self._loop.take_interrupt():
                self._interrupt()
            if not self.outcome and not self._worker.alive():
                self._read()
                self.outcome = self.outcome or "crashed"

    def _interrupt(self) -> None:
        if self._worker.alive():
            os.kill(self._worker.pid, signal.SIGINT)

    def _hear_twin(self) -> None:
        if self.twin is not None:
            self.twin.listen()
            if self.twin.gone or self.twin.pid is not None:
                self._loop.unwatch(self.twin.line.fileno())
            if self.twin.pid is not None:
                self._on_twin(self.twin)
                self.twin = None

    def _read(self) -> None:
        try:
            data = os.read(self._answer.reader, 1 << 20)
        except BlockingIOError:
            return
        if not data:
            self._loop.unwatch(self._answer.reader)
            return
        try:
            complete = self._frames.feed(data)
        except Violation:
            self.outcome = "protocol_violation"
            return
        if complete and not self._begun:
            self._begun = self._worker.served = complete[0][0].get("op") == "begun"
            del complete[0]
        if complete:
            self.reply, self.blob = complete[0]
            self.outcome = "ok" if well_formed(self.reply, self.blob) else "protocol_violation"
