"""One request to the worker, from the supervisor's side: descriptors out, output and reply in, limits kept."""

from __future__ import annotations

import _socket
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
from guest_frames import Frames, Message, Violation, encode
from guest_output import Pipe
from guest_relay import Relay
from guest_schema import FROM_WORKER, agrees, trouble
from guest_seal import TOKEN_BYTES

GRACE_SECONDS = 0.3
"""Between SIGINT and SIGKILL: at the timeout, and where the host has asked for an interrupt twice."""
WAKE_SECONDS = 0.4
"""A woken twin that does not answer by then hangs, in a lock of a thread that a fork does not copy."""
COMING_SECONDS = 1.0
"""A twin speaks by then, also on a machine under load."""
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
        self._time = (0, 0)
        self.served = False
        """Whether it has taken up a request: a fresh one may need long to import what it must."""

    def close(self) -> None:
        """Forget it; it was killed."""
        self.control.close()
        guest_linux.unwatch_end(self.pid)

    def alive(self) -> bool:
        """Whether it has not ended."""
        return self.pid not in guest_linux.reap()

    def was_killed(self) -> bool:
        """Whether it ended by SIGKILL."""
        status = guest_linux.reap().get(self.pid)
        return status is not None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL

    def slowdown(self) -> float:
        """How many times as long as it ran it was running or waiting for a processor, since the last call."""
        ran, waited = guest_linux.processor_time(self.pid)
        before, self._time = self._time, (ran, waited)
        ran, waited = ran - before[0], waited - before[1]
        return 1.0 + waited / ran if ran > 0 else 1.0

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
            return "lost its connection to the sandbox: too many files are open, or one was closed that was its"
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
    """The frozen copy of a worker. Its process id comes from the kernel, not from itself.

    The line on which it speaks passes through the worker, whose threads can write there too: what comes from a process
    that was there before the request is not from the twin, and after the first word only that one is heard.
    """

    def __init__(self, loop: Any, present: Collection[int]) -> None:
        self._loop, self._present = loop, frozenset(present)
        self._on_life: Callable[[Twin], None] | None = None
        self.line, self.theirs = socket.socketpair()
        self.line.setsockopt(socket.SOL_SOCKET, _SO_PASSCRED, 1)
        self.line.setblocking(False)
        self.pid: int | None = None
        self.gone = False
        self.losses = ""
        """What it said when it woke of things that a fork cannot keep: letters, of which it may have made up any."""
        self._made = time.monotonic()

    def coming(self) -> bool:
        """Whether it may be just being made."""
        return self.pid is None and not self.gone and time.monotonic() - self._made < COMING_SECONDS

    def sent(self, on_life: Callable[[Twin], None]) -> None:
        """The other end was handed over; `on_life` is called when it speaks."""
        self.theirs.close()
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
        """What it says; nothing where another one spoke."""
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
        """Whether it is there and was heard in time."""
        poll = select.poll()
        poll.register(self.line, select.POLLIN)
        until = time.monotonic() + seconds
        while not heard() and not self.gone:
            left = until - time.monotonic()
            if left <= 0 or not poll.poll(int(left * 1000) + 1):
                return False
        return not self.gone

    def exists(self) -> bool:
        """Whether it was made and still is. Waits for one that is just being made."""
        if self.pid is None and not self.gone:
            self._await(self._lives, WAKE_SECONDS)
        return self.pid is not None and not self.gone and self.pid not in guest_linux.reap()

    def _lives(self) -> bool:
        self.listen()
        return self.pid is not None

    def wake(self) -> Worker | None:
        """Make it the worker; None where it does not answer."""
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
        """End it. One that has not spoken yet ends at the end of its line."""
        if self.pid is None:
            self._hear()
        self._loop.unwatch(self.line.fileno())
        self.line.close()
        if self.pid is not None:
            if self.pid not in guest_linux.reap():
                os.kill(self.pid, signal.SIGKILL)
            guest_linux.unwatch_end(self.pid)


class Answers:
    """The line on which a worker answers a request; of a step its `token` waits there for the worker to take it."""

    def __init__(self, token: bytes) -> None:
        ours, theirs = _socket.socketpair()
        ours.setblocking(False)
        if token:
            ours.send(token)
        self.reader, self.writer = ours.detach(), theirs.detach()

    def close_writer(self) -> None:
        """The worker has its end now."""
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def close(self) -> None:
        """Both ends."""
        self.close_writer()
        os.close(self.reader)


_OUTCOMES = {"ended": "ok", "raised": "error", "memory": "out_of_memory"}
"""What the worker says as soon as a step is over, and the outcome of the result that may follow."""


class Request:
    """One request to a worker; `outcome` says how it went.

    `ok`: `reply` and `blob` hold a checked answer. Else `busy` (it was never taken up), `timeout`, `interrupted`,
    `out_of_memory`, `crashed` or `protocol_violation`: the worker is of no more use. `interrupted` is set where
    the time was over but the worker answered to SIGINT. `on_twin` gets the twin as soon as it lives.

    The host's first `interrupt` is a SIGINT to the worker; with a second one it is over, `GRACE_SECONDS` after the
    first at the earliest.
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
        self._asked = 0
        self._patience = 0.0
        self._signalled = self._deaf = False
        self.twin: Twin | None = None
        self._frames = Frames()
        self._token = b""
        self._end = ""
        self._answer: Answers

    @property
    def unheard(self) -> bool:
        """Whether the worker ended without having taken it up."""
        return self.outcome == "crashed" and not self._begun

    def go(
        self,
        message: Message,
        pipes: list[Pipe],
        twin: Twin | None,
        seconds: float,
        *,
        deaf: bool = False,
        relay: Relay | None = None,
    ) -> None:
        """Send it and wait for its end: at most `seconds` and the grace. A `deaf` one leaves interrupts to the next.

        `relay` takes the calls of a step to the host.
        """
        self.twin, self._deaf = twin, deaf
        self._token = os.urandom(TOKEN_BYTES) if message["op"] == "run" else b""
        self._answer = Answers(self._token)
        descriptors = [self._answer.writer, *(pipe.writer for pipe in pipes)]
        if relay:
            descriptors.append(relay.writer)
        if twin:
            descriptors.append(twin.theirs.fileno())
        self._worker.send(message, descriptors)
        self._answer.close_writer()
        for pipe in pipes:
            pipe.close_writer()
        self._loop.watch(self._answer.reader, self._read)
        if relay:
            relay.begin(self._violate)
        if twin:
            twin.sent(self._adopt)
        try:
            now = time.monotonic()
            self._wait(now + seconds, now + (min(BEGIN_SECONDS, seconds / 2) if self._worker.served else seconds))
        finally:
            self._loop.unwatch(self._answer.reader)
            self._answer.close()
            if relay:
                relay.close()
        if twin is not None and self.twin is not None:
            # Its last preparations need not be waited for: it was forked.
            forked = self.outcome == "ok" and "fork_seconds" in self.reply
            if forked or (self.outcome != "busy" and twin.exists()):
                self._adopt(twin)
            else:
                twin.drop()

    def _adopt(self, twin: Twin) -> None:
        if self.twin is twin:
            self.twin = None
            self._on_twin(twin)

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
            if not self._deaf:
                self._heed()
            if not self.outcome and not self._worker.alive():
                self._read()
                self.outcome = self.outcome or "crashed"

    def _heed(self) -> None:
        """What the host has asked for. A SIGINT that comes before the worker has taken the request up is lost."""
        asked = self._loop.take_interrupts()
        if not self._asked and not asked:
            return
        now = time.monotonic()
        if not self._asked or (self._begun and not self._signalled):
            self._patience = now + GRACE_SECONDS
        self._asked += asked
        if self._begun and not self._signalled:
            self._signalled = True
            self._interrupt()
        if self._asked > 1 and now >= self._patience and not self.outcome:
            self.outcome = "interrupted"

    def _interrupt(self) -> None:
        if self._worker.alive():
            os.kill(self._worker.pid, signal.SIGINT)

    def _read(self) -> None:
        try:
            data = os.read(self._answer.reader, 1 << 16)
        except BlockingIOError:
            return
        except OSError:
            # What the worker has not read of its token goes with it.
            data = b""
        if not data:
            self._loop.unwatch(self._answer.reader)
            return
        try:
            complete = self._frames.feed(data)
        except Violation:
            self._violate()
            return
        for message, blob in complete:
            self._hear(message, blob)

    def _violate(self) -> None:
        self.outcome = self.outcome or "protocol_violation"

    def _hear(self, message: Message, blob: bytes) -> None:
        """`begun`; of a step how it ended, said once and with its token where it came to its end; the answer."""
        op = message.get("op")
        if self.outcome:
            return
        if not self._begun:
            self._begun = self._worker.served = op == "begun"
        elif self._token and op in _OUTCOMES:
            if self._end or blob != (self._token if op == "ended" else b""):
                self.outcome = "protocol_violation"
            self._end = str(op)
        else:
            self.reply, self.blob = message, blob
            told = not self._token or message.get("outcome") == _OUTCOMES.get(self._end, "")
            fits = told and not trouble(message, FROM_WORKER)
            self.outcome = "ok" if fits and (op != "result" or agrees(message, blob)) else "protocol_violation"
