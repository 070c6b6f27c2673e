"""One request to the worker, from the supervisor's side: descriptors out, output and reply in, limits kept."""

from __future__ import annotations

import _socket
import math
import os
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from guest_frames import Frames, Message, Violation
from guest_linux import GONE_SECONDS
from guest_output import Ends, Pipe
from guest_processes import Twin
from guest_relay import Relay
from guest_schema import FROM_WORKER, agrees, trouble
from guest_seal import TOKEN_BYTES

if TYPE_CHECKING:
    from guest_state import State

GRACE_SECONDS = 0.3
"""Time between SIGINT and SIGKILL: at the timeout, and where the host has asked for an interrupt twice."""
BEGIN_SECONDS = 2.0
"""Time to take up a request, or half of the request's if less. A slower worker is busy with an earlier step."""
NUDGE_SECONDS = 0.04
"""Time from SIGINT to the first nudge, a SIGURG; twice as long to the next one. A SIGINT that comes between the
interpreter's last look for signals and a system call that waits, or to another thread, does not end that call."""
LAST_NUDGE_SECONDS = 1.0
"""Longest pause between two nudges: code that caught the interrupt goes on undisturbed after that."""
CHECK_SECONDS = 0.05
"""Interval at which memory is summed during a step."""
SLOW_CHECK_SECONDS = 0.25
"""Interval where the exact sum is needed, which walks page tables."""


class Answers(Ends):
    """The line on which a worker answers a request. The `token` of a step waits there for the worker to take it."""

    def __init__(self, token: bytes) -> None:
        ours, theirs = _socket.socketpair()
        ours.setblocking(False)
        if token:
            ours.send(token)
        self.reader, self.writer = ours.detach(), theirs.detach()


_OUTCOMES = {"ended": "ok", "raised": "error", "memory": "out_of_memory"}
"""The outcome of the result that may follow, by what the worker says as soon as a step is over."""


class Request:
    """A request to a worker; `outcome` says how it went.

    `ok`: `reply` and `blob` hold a checked answer. Else `busy` (it was never taken up), `timeout`, `interrupted`,
    `out_of_memory`, `crashed` or `protocol_violation`: the worker is of no more use. `interrupted` is set where
    the time was over but the worker answered to SIGINT. `on_twin` gets the twin as soon as it lives.

    The host's first `interrupt` is a SIGINT to the worker; with a second one it is over, `GRACE_SECONDS` after the
    first at the earliest. A step that has `crowded` the sandbox is over at its timeout, without a SIGINT: its processes
    would go on, and leave nobody a processor.
    """

    def __init__(self, loop: Any, state: State, on_twin: Callable[[Twin], None]) -> None:
        self._loop, self._state, self._worker, self._on_twin = loop, state, state.worker, on_twin
        self._begun = self._granted = False
        self.outcome = ""
        self.reply: Message = {}
        self.blob = b""
        self.interrupted = False
        self._asked = 0
        self._patience = 0.0
        self._signalled = self._deaf = False
        self._nudge_at = math.inf
        self._nudge_pause = NUDGE_SECONDS
        self.twin: Twin | None = None
        self._frames = Frames()
        self._token = b""
        self._end = ""
        self._answer: Answers

    @property
    def unheard(self) -> bool:
        """True if the worker ended without having taken it up."""
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
            descriptors.append(twin.far_end.fileno())
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
            begin = now + (min(BEGIN_SECONDS, seconds / 2) if self._worker.served else seconds)
            self._wait(now + seconds, begin, relay)
        finally:
            self._loop.unwatch(self._answer.reader)
            self._answer.close()
            if relay:
                relay.close()
        if twin is not None and self.twin is not None:
            # The twin's last preparations need not be waited for: it was forked.
            forked = self.outcome == "ok" and "fork_seconds" in self.reply
            if forked or (self.outcome != "busy" and twin.exists()):
                self._adopt(twin)
            else:
                twin.drop()

    def _adopt(self, twin: Twin) -> None:
        if self.twin is twin:
            self.twin = None
            self._on_twin(twin)

    def _wait(self, deadline: float, begin: float, relay: Relay | None) -> None:
        check = time.monotonic() + CHECK_SECONDS
        while not self.outcome:
            now = time.monotonic()
            if now >= deadline:
                if self.interrupted or self._state.crowded():
                    self.outcome = "timeout"
                    return
                self.interrupted = True
                self._interrupt()
                deadline = now + GRACE_SECONDS
            if not self._begun and now >= begin:
                self.outcome = "busy"
                return
            if now >= check:
                over = self._state.memory.over()
                if over:
                    self.outcome = "out_of_memory"
                    return
                self._ask_for_time()
                check = now + (CHECK_SECONDS if over is None else SLOW_CHECK_SECONDS)
            if self._worker.unsent:
                self._worker.push()
            due = min(deadline, check, self._nudge_at, deadline if self._begun else begin)
            pause = 0.005 if self._worker.unsent else due - now
            stands = relay is not None and relay.stands
            self._loop.pump(max(0.0, pause))
            if stands:
                deadline += time.monotonic() - now
            if not self._deaf:
                self._heed()
            self._nudge()
            if not self.outcome and not self._worker.alive():
                self._read()
                self.outcome = self.outcome or "crashed"

    def _ask_for_time(self) -> None:
        """Ask the host, once, for the time that the end of a crowd takes."""
        if not self._granted and self._state.crowded():
            self._granted = True
            self._loop.post({"op": "rebuilding", "seconds": GONE_SECONDS})

    def _heed(self) -> None:
        """Act on interrupts of the host. A SIGINT that comes before the worker has taken the request up is lost."""
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
            self._nudge_pause = NUDGE_SECONDS
            self._nudge_at = time.monotonic() + NUDGE_SECONDS

    def _nudge(self) -> None:
        """End a system call that the last SIGINT has not ended; what that one raises is raised once."""
        now = time.monotonic()
        if now < self._nudge_at:
            return
        if self._worker.alive():
            os.kill(self._worker.pid, signal.SIGURG)
        self._nudge_pause *= 2
        self._nudge_at = now + self._nudge_pause if self._nudge_pause < LAST_NUDGE_SECONDS else math.inf

    def _read(self) -> None:
        try:
            data = os.read(self._answer.reader, 1 << 16)
        except BlockingIOError:
            return
        except OSError:
            # The connection is reset where the worker has not read its token.
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
        """Take in `begun`; the end of a step, said once, with its token where it came to its end; the answer."""
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
            agreed = not self._token or message.get("outcome") == _OUTCOMES.get(self._end, "")
            fits = agreed and not trouble(message, FROM_WORKER)
            self.outcome = "ok" if fits and (op != "result" or agrees(message, blob)) else "protocol_violation"
