"""Frames between the host and the supervisor, with deadlines. Each incoming frame is validated here, and only here."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from codenav.core.clocks import Clock
from codenav.sandboxes.decoding import Malformed
from codenav.sandboxes.shared import frames, schema
from codenav.sandboxes.streaming import Streaming

OnCall = Callable[[Mapping[str, Any], bytes, float], None]
"""Callback for a call to the host, with the deadline of its answer. Raises Malformed if the call is invalid."""


class Closed(Exception):
    """The other end is closed."""


class TooLate(Exception):
    """The deadline passed before a whole frame was sent or received."""


class Channel:
    """A pair of descriptors connected to a supervisor. One thread reads, any thread may send.

    `unwrap` removes the framing that an engine adds to the supervisor's bytes.
    """

    def __init__(self, sink: int, source: int, unwrap: Callable[[bytes], bytes] | None = None) -> None:
        self._sink, self._source, self._unwrap = sink, source, unwrap
        os.set_blocking(sink, False)
        os.set_blocking(source, False)
        self._frames = frames.Frames()
        self._lock = threading.Lock()
        self._owed = 0
        self.patience = 0.0
        """Total seconds by which the other end may extend deadlines by reporting that it reruns earlier steps."""

    def send(self, message: Mapping[str, Any], blob: bytes = b"", *, deadline: float) -> None:
        """Send one frame. `deadline` is a time of `time.monotonic`.

        Raises:
            Closed, TooLate: part of the frame may have been sent, and the channel is unusable.
        """
        if message.get("op") not in ("interrupt", "answer", "clock"):
            self._owed += 1
        data = frames.encode(dict(message), blob)
        with self._lock:
            write_all(self._sink, data, deadline)

    def receive(
        self,
        *,
        deadline: float,
        streaming: Streaming | None = None,
        on_call: OnCall | None = None,
        clock: Clock | None = None,
    ) -> tuple[Mapping[str, Any], bytes]:
        """Return the next answer. Output of the step goes to `streaming`, its calls to the host to `on_call`.

        The deadline moves while the supervisor reruns earlier steps, which a frame announces, and while `clock` stands.

        Raises:
            Malformed: the frame exceeds a limit or does not match its schema in `guest/guest_schema.py`.
            Closed, TooLate
        """
        clock = clock or Clock()
        while True:
            frame = self._complete()
            if frame is None:
                try:
                    data = read(self._source, deadline + clock.asked)
                except TooLate:
                    if time.monotonic() < deadline + clock.asked:
                        continue
                    raise
                self._frames.add(self._unwrap(data) if self._unwrap else data)
                continue
            match frame[0]["op"]:
                case "rebuilding":
                    granted = min(float(frame[0]["seconds"]), self.patience)
                    self.patience -= granted
                    deadline += granted
                case "output":
                    if streaming is not None:
                        before = streaming.seconds
                        streaming.hear(*frame)
                        deadline += streaming.seconds - before
                case "call":
                    if on_call is not None:
                        on_call(*frame, deadline)
                case _:
                    self._owed -= 1
                    return frame
            if time.monotonic() > deadline + clock.asked:
                # An endless sequence of frames would otherwise never reach a check of the time.
                raise TooLate

    def settle(self, *, deadline: float) -> None:
        """Read and drop the answers that nobody waited for. Raises the errors of `receive`."""
        while self._owed > 0:
            self.receive(deadline=deadline)

    def _complete(self) -> tuple[Mapping[str, Any], bytes] | None:
        frame = self._frames.take()
        wrong = schema.trouble(frame[0], schema.FROM_SUPERVISOR) if frame is not None else ""
        if wrong:
            raise Malformed(wrong)
        return frame


def write_all(descriptor: int, data: bytes, deadline: float) -> None:
    """Write all data to a non-blocking descriptor. Raises Closed, TooLate."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            _wait(descriptor, select.POLLOUT, deadline)
        except OSError as error:
            raise Closed(str(error)) from None


def read(descriptor: int, deadline: float) -> bytes:
    """Read the available data, at least one byte, from a non-blocking descriptor. Raises Closed, TooLate."""
    while True:
        try:
            data = os.read(descriptor, 1 << 20)
        except BlockingIOError:
            _wait(descriptor, select.POLLIN, deadline)
            continue
        except OSError as error:
            raise Closed(str(error)) from None
        if not data:
            raise Closed("end of file")
        return data


def _wait(descriptor: int, event: int, deadline: float) -> None:
    left = deadline - time.monotonic()
    poll = select.poll()
    poll.register(descriptor, event)
    if left <= 0 or not poll.poll(left * 1000):
        raise TooLate
