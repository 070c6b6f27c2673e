"""The supervisor, which nobody inside can touch: it starts the worker, keeps the frozen twin, talks to the host.

As PID 1 of a namespace it is shielded from signals, and it is not dumpable; it never runs user code.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

import guest_filter
import guest_linux
from guest_folder import Refused, WorkFolder
from guest_frames import Frame, Frames, Message, Violation, encode, write_all
from guest_steps import Steps

IDLE_CHECK_SECONDS = 0.5
"""Interval at which memory is summed between steps, where threads of the user may go on."""
REMOVAL_SECONDS = 2.0
"""Time for the folder of a session to be gone."""


class Supervisor:
    """The event loop that serves the host until its descriptors close."""

    def __init__(self, source: int, sink: int) -> None:
        self._source, self._sink = source, sink
        self._frames = Frames()
        self._inbox: list[Frame] = []
        self._poll = select.poll()
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._config: Message = {}
        self._next_check = 0.0
        self._folder = WorkFolder("")
        self._steps: Steps | None = None
        self._waker: list[int] = []
        self.on_answer: Callable[[Message, bytes], None] | None = None
        """Called with the host's answers to calls of the step that runs, and with what it says of the step's clock."""
        self._outgoing = bytearray()
        self._on_sendable: Callable[[], None] | None = None

    @classmethod
    def of_standard_streams(cls) -> Supervisor:
        """Make a supervisor on descriptors 0 and 1, and take these away from everything else."""
        source, sink = os.dup(0), os.dup(1)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        os.close(null)
        return cls(source, sink)

    def serve(self) -> None:
        """Serve the host; never returns. The host's end of file ends it, and everything inside with it."""
        guest_linux.set_dumpable(False)
        # More than user code may have: descriptors under way to other processes count for the user against this.
        guest_linux.all_descriptors()
        guest_linux.adopt_orphans()
        guest_linux.default_signals()
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        if os.getpid() != 1:
            signal.signal(signal.SIGTERM, self._on_terminate)
            guest_linux.die_with_parent(signal.SIGTERM)
        guest_linux.limit(resource.RLIMIT_CORE, 0)
        wake, waker = os.pipe()
        for end in (wake, waker):
            os.set_blocking(end, False)
        self._waker = [waker]
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _on_child)
        self.watch(wake, lambda: _empty(wake))
        self.watch(self._source, self._read_host)
        while True:
            message, blob = self._next()
            try:
                self._answer(message, blob)
            except (KeyError, TypeError, ValueError) as error:
                self.send({"op": "failed", "why": f"{type(error).__name__}: {error}"})

    # The event loop

    def watch(self, descriptor: int, callback: Callable[[], None], *, out: bool = False) -> None:
        """Call back whenever a descriptor can be read or is closed; with `out`, can be written to or is closed."""
        self._callbacks[descriptor] = callback
        self._poll.register(descriptor, select.POLLOUT if out else select.POLLIN)

    def unwatch(self, descriptor: int) -> None:
        """Undo `watch`; safe to call twice."""
        if self._callbacks.pop(descriptor, None):
            self._poll.unregister(descriptor)

    def pump(self, seconds: float) -> None:
        """Wait up to `seconds` for events and serve them; collect ended children."""
        for descriptor, _ in self._poll.poll(max(0, int(seconds * 1000 + 0.999))):
            callback = self._callbacks.get(descriptor)
            if callback:
                callback()
        guest_linux.reap()

    def sendable(self) -> bool:
        """True if a frame of less than 4,096 bytes can go to the host without waiting."""
        return not self._outgoing and self._has_room()

    def when_sendable(self, callback: Callable[[], None] | None) -> None:
        """Call back whenever something can be sent; None: no more."""
        self._on_sendable = callback
        self._watch_room()

    def post(self, message: Message, blob: bytes = b"") -> None:
        """Send a frame to the host without waiting: it goes piece by piece while there is room."""
        self._outgoing += encode(message, blob)
        self._push()

    def _push(self) -> None:
        while self._outgoing and self._has_room():
            try:
                # A bytearray gives up its beginning without moving the rest.
                del self._outgoing[: os.write(self._sink, self._outgoing[: select.PIPE_BUF])]
            except OSError:
                self.end()
        if not self._outgoing and self._on_sendable is not None and self._has_room():
            self._on_sendable()
        self._watch_room()

    def _has_room(self) -> bool:
        poll = select.poll()
        poll.register(self._sink, select.POLLOUT)
        return any(event & select.POLLOUT for _, event in poll.poll(0))

    def _watch_room(self) -> None:
        if self._outgoing or self._on_sendable is not None:
            self.watch(self._sink, self._push, out=True)
        else:
            self.unwatch(self._sink)

    def take_interrupts(self) -> int:
        """Take the interrupts that the host has asked for since the last call, and return their number."""
        if not self._inbox:
            return 0
        before = len(self._inbox)
        self._inbox = [frame for frame in self._inbox if frame[0].get("op") != "interrupt"]
        return before - len(self._inbox)

    def send(self, message: Message, blob: bytes = b"") -> None:
        """Send a frame to the host, after those that were posted."""
        outgoing, self._outgoing = bytes(self._outgoing), bytearray()
        try:
            write_all(self._sink, outgoing + encode(message, blob))
        except OSError:
            self.end()

    def private_descriptors(self) -> list[int]:
        """The descriptors that a worker must not inherit."""
        return list({self._sink, *self._waker, *self._callbacks})

    def _next(self) -> Frame:
        while not self._inbox:
            self.pump(IDLE_CHECK_SECONDS)
            now = time.monotonic()
            if self._steps and not self._inbox and now >= self._next_check:
                self._next_check = now + IDLE_CHECK_SECONDS
                self._steps.check_idle()
        return self._inbox.pop(0)

    def _read_host(self) -> None:
        data = os.read(self._source, 1 << 16)
        if not data:
            self.end()
        try:
            frames = self._frames.feed(data)
        except Violation:
            self.end()
        for message, blob in frames:
            if message.get("op") not in ("answer", "clock"):
                self._inbox.append((message, blob))
            elif self.on_answer is not None:
                # An answer that comes when its step is over is too late for anybody.
                self.on_answer(message, blob)

    def _on_terminate(self, signum: int, frame: FrameType | None) -> None:
        self.end()

    def end(self) -> NoReturn:
        """Kill everything inside and end."""
        try:
            guest_linux.kill_all(set())
            if self._config.get("remove"):
                import shutil

                for path in self._config["remove"]:
                    until = time.monotonic() + REMOVAL_SECONDS
                    shutil.rmtree(path, ignore_errors=True)
                    while os.path.exists(path) and time.monotonic() < until:
                        # A killed process may have written on until it was gone.
                        time.sleep(0.02)
                        shutil.rmtree(path, ignore_errors=True)
        finally:
            os._exit(0)

    # Requests of the host

    def _answer(self, message: Message, blob: bytes) -> None:
        op = message["op"]
        if op == "start":
            self._start(message)
        elif op == "run":
            self._started().run(message)
        elif op in ("variables", "value", "digests"):
            asked = {key: value for key, value in message.items() if key != "timeout"}
            self._started().tell(asked, message["timeout"])
        elif op == "checkpoint":
            self._started().checkpoint(message["number"], message["timeout"])
        elif op == "restore":
            self._started().restore(message["number"])
        elif op != "interrupt":
            self._answer_folder(message, blob)

    def _start(self, config: Message) -> None:
        self._config = config
        why = guest_filter.trouble(config["filter"]) if "filter" in config else ""
        if why and config["filtered"]:
            self.send({"op": "failed", "why": f"no filter of system calls: {why}"})
            return
        if why:
            del config["filter"]
        self._folder = WorkFolder(config["work"])
        self._steps = Steps(self, config)
        trouble = self._steps.trouble()
        if trouble:
            self.send({"op": "failed", "why": trouble})
            return
        version = ".".join(str(part) for part in sys.version_info[:3])
        self.send({"op": "ready", "version": version, "unfiltered": why})

    def _started(self) -> Steps:
        if self._steps is None:
            raise ValueError("not started")
        return self._steps

    def _answer_folder(self, message: Message, blob: bytes) -> None:
        try:
            answer, data = self._folder.answer(message, blob)
        except (OSError, Refused) as error:
            why = getattr(error, "strerror", None) or str(error)
            answer, data = {"op": "failed", "why": why[:500]}, b""
        self.send(answer, data)


def _on_child(signum: int, frame: FrameType | None) -> None:
    """Do nothing: the wake-up descriptor does the work, and a signal without a handler would not write to it."""


def _empty(descriptor: int) -> None:
    try:
        while os.read(descriptor, 4096):
            pass
    except BlockingIOError:
        return
