"""The beginning of a step's output, sent to the host as it comes. The host is never waited for."""

from __future__ import annotations

from typing import Any

from guest_output import Pipe

PIECE_BYTES = 3000
"""Bytes of a piece: its frame fits into a pipe that has room at all (4,096 bytes)."""


class Tap:
    """A tap on the pipes of one step, stdout and stderr."""

    def __init__(self, loop: Any, pipes: list[Pipe], limit: int) -> None:
        self._loop, self._pipes = loop, pipes
        # Less by a character, which the head that is kept may lack: see `guest_output.Kept`.
        self._room = [max(limit // 2 - 4, 0)] * len(pipes)
        self._unsent: list[tuple[int, bytearray]] = []
        for number, pipe in enumerate(pipes):
            pipe.tap = lambda data, number=number: self._take(number, data)

    def close(self) -> None:
        """Stop sending; what was not sent comes with the result."""
        for pipe in self._pipes:
            pipe.tap = None
        self._unsent = []
        self._loop.when_sendable(None)

    def _take(self, number: int, data: bytes) -> None:
        sent = data[: self._room[number]]
        self._room[number] -= len(sent)
        if sent:
            if not self._unsent or self._unsent[-1][0] != number:
                self._unsent.append((number, bytearray()))
            self._unsent[-1][1].extend(sent)
        self._push()

    def _push(self) -> None:
        while self._unsent and self._loop.sendable():
            number, data = self._unsent[0]
            self._loop.send({"op": "output", "stream": ("stdout", "stderr")[number]}, bytes(data[:PIECE_BYTES]))
            del data[:PIECE_BYTES]
            if not data:
                del self._unsent[0]
        self._loop.when_sendable(self._push if self._unsent else None)
