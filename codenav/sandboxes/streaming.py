"""Streaming of a step's output while it runs."""

from __future__ import annotations

import codecs
import io
import time
from collections.abc import Callable, Mapping
from typing import Any

from codenav.core.execution import Execution, Output
from codenav.core.system.terminal_text import neutral
from codenav.sandboxes.decoding import Malformed

STREAMS = ("stdout", "stderr")


class Streaming:
    """The output of a step, passed to a callback as it arrives.

    The texts of a stream add up to that of the step's `Execution`.
    """

    def __init__(self, on_output: Callable[[Output], None], limit: int) -> None:
        self._tell, self._limit = on_output, limit
        self._passed = dict.fromkeys(STREAMS, "")
        self._bytes = dict.fromkeys(STREAMS, 0)
        self._decoders = {stream: _decoder() for stream in STREAMS}
        self.seconds = 0.0
        """Seconds spent in the callback, which do not count for the step."""

    def hear(self, frame: Mapping[str, Any], blob: bytes) -> None:
        """Pass on an `output` frame from inside.

        Raises:
            Malformed: the step writes more than its limit.
            BaseException: raised by the callback.
        """
        stream = frame["stream"]
        self._bytes[stream] += len(blob)
        if self._bytes[stream] > self._limit:
            raise Malformed("more output than is handed on")
        self._hand(stream, neutral(self._decoders[stream].decode(blob)))

    def finish(self, done: Execution) -> None:
        """Pass on the rest of both streams."""
        for stream, text in (("stdout", done.stdout), ("stderr", done.stderr)):
            before = self._passed[stream]
            self._hand(stream, text[len(before) :] if text.startswith(before) else text)

    def _hand(self, stream: str, text: str) -> None:
        self._passed[stream] += text
        if text:
            begun = time.monotonic()
            self._tell(Output(stream, text))
            self.seconds += time.monotonic() - begun


def _decoder() -> io.IncrementalNewlineDecoder:
    return io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("backslashreplace"), translate=True)
