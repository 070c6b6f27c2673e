"""The output of a step: read without limit, kept within one."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable


class Kept:
    """The head and the tail of a stream of bytes, with the count of what lies between."""

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Add more bytes."""
        self.total += len(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if len(data) >= self._half:
            self._tail = bytearray(data[-self._half :])
        elif data:
            self._tail += data
            if len(self._tail) > 2 * self._half:
                del self._tail[: -self._half]

    def text(self) -> str:
        """The kept part as text; bytes that are not UTF-8 as `\\xff`."""
        tail = bytes(self._tail[-self._half :])
        left_out = self.total - len(self._head) - len(tail)
        if not left_out:
            return (bytes(self._head) + tail).decode("utf-8", "backslashreplace")
        # Without `final`, a character that the cut went through is left out.
        head = codecs.getincrementaldecoder("utf-8")("backslashreplace").decode(bytes(self._head))
        end = _whole_start(tail).decode("utf-8", "backslashreplace")
        return f"{head}\n… {left_out} bytes left out …\n{end}"


def _whole_start(data: bytes) -> bytes:
    start = 0
    while start < min(3, len(data)) and 0x80 <= data[start] < 0xC0:
        start += 1
    return data[start:]


_ESCAPE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-Z])")
"""Colours, movements of the cursor, links and titles (ECMA-48)."""
_ERASED = re.compile(rb"\r\x1b\[[01]?K|\x1b\[2K")
_ASIDE = re.compile(rb"\n[^\n]*?\x1b\[1?A")
"""A line below and back up again, as a second progress bar writes it."""
OPEN_BYTES = 8192
"""Maximum bytes of output that are held back because they may be written over."""
ESCAPE_BYTES = 64


def plain(text: str) -> str:
    """A text without escape sequences."""
    return _ESCAPE.sub(b"", text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def _last_state(line: bytes) -> bytes:
    """A line that was written over without its earlier states; what follows writes over the last one as before."""
    if b"\r" not in line:
        return line
    return b"\r" + line.rstrip(b"\r").rpartition(b"\r")[2] + line[-1:] * line.endswith(b"\r")


class Lines:
    """A filter of output: of a line that is written over its last state stays, and escape sequences go."""

    def __init__(self) -> None:
        self._open = b""
        self._begun = False
        """True if the beginning of the open line was passed on."""

    def add(self, data: bytes, *, eager: bool) -> bytes:
        """Take more, and return what stays as it is. An `eager` one holds no line back that nothing has overwritten."""
        data, self._open = self._open + data, b""
        if b"\x1b" in data:
            data = _ERASED.sub(b"\r \r", data)
            found = 1
            while found:
                data, found = _ASIDE.subn(b"\r", data)
            data = _ESCAPE.sub(b"", data)
        if b"\r" in data and len(data) > OPEN_BYTES:
            data = b"\n".join(map(_last_state, data.split(b"\n")))
        end = data.rfind(b"\n", 0, None if eager else max(0, len(data) - OPEN_BYTES)) + 1
        rest = data[end:]
        if eager and b"\r" not in rest:
            at = rest.rfind(b"\x1b", -ESCAPE_BYTES)
            end += at if at >= 0 else len(rest)
        if len(data) - end > 2 * OPEN_BYTES:
            end = len(data)
        self._open = data[end:]
        return self._settled(data[:end])

    def rest(self) -> bytes:
        """The text that was held back, as it is now."""
        data, self._open = self._open, b""
        return self._settled(data)

    def _settled(self, data: bytes) -> bytes:
        begun = self._begun
        if data:
            self._begun = not data.endswith(b"\n")
        if b"\r" not in data:
            return data
        lines = [line.rstrip(b"\r") for line in data.split(b"\n")]
        # What was passed on cannot be taken back.
        before = b"\n" if begun and b"\r" in lines[0] else b""
        return before + b"\n".join(line.rpartition(b"\r")[2].rstrip(b" ") if b"\r" in line else line for line in lines)


class Ends:
    """The descriptors of two connected ends, of which another process gets the writing one."""

    reader = writer = -1

    def close_writer(self) -> None:
        """Close the writing end: another process has it now."""
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def close(self) -> None:
        """Close both ends."""
        self.close_writer()
        if self.reader >= 0:
            os.close(self.reader)
            self.reader = -1


class Pipe(Ends):
    """The reading end of a pipe whose writers cannot be trusted to close it."""

    def __init__(self, limit: int) -> None:
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)
        self.kept = Kept(limit)
        self.ended = False
        self._lines = Lines()
        self.tap: Callable[[bytes], None] | None = None
        """Called with what is kept, too."""

    def drain(self, rounds: int = 256) -> None:
        """Read what is there; `rounds` of 64 KiB at most, so that an endless writer cannot hold the reader."""
        for _ in range(rounds):
            try:
                data = os.read(self.reader, 1 << 16)
            except BlockingIOError:
                return
            if not data:
                self.ended = True
                return
            self._keep(self._lines.add(data, eager=self.tap is not None))

    def settle(self) -> None:
        """Read what is there, and keep also what may still be written over."""
        self.drain()
        self._keep(self._lines.rest())

    def _keep(self, data: bytes) -> None:
        if data:
            self.kept.add(data)
            if self.tap is not None:
                self.tap(data)
