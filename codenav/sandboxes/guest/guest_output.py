"""The output of a step: read without limit, kept within one."""

from __future__ import annotations

import os
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
        head = _whole_end(bytes(self._head)).decode("utf-8", "backslashreplace")
        end = _whole_start(tail).decode("utf-8", "backslashreplace")
        return f"{head}\n… {left_out} bytes left out …\n{end}"


def _whole_end(data: bytes) -> bytes:
    """The data without a character that the cut went through."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            return data
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data if back >= length else data[:-back]
    return data


def _whole_start(data: bytes) -> bytes:
    start = 0
    while start < min(3, len(data)) and 0x80 <= data[start] < 0xC0:
        start += 1
    return data[start:]


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
        self.tap: Callable[[bytes], None] | None = None
        """Called with what is read, too."""

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
            self.kept.add(data)
            if self.tap is not None:
                self.tap(data)
