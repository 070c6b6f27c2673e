"""Output that comes after its step is over, from threads and children that the step left behind."""

from __future__ import annotations

import time
from typing import Any

from guest_output import Kept, Pipe

MOST_PIPES = 64
"""Maximum number of pipes of earlier steps that are still read because a process holds their other end."""
LINGER_SECONDS = 0.1
"""Time that a step waits for the output of children that outlive it."""


class Late:
    """A reader of late output, of which it keeps a bounded part."""

    def __init__(self, loop: Any, limit: int) -> None:
        self._loop, self._limit = loop, limit
        self._kept = Kept(limit)
        self._own = Pipe(0)
        self._own.kept = self._kept
        self._pipes: list[Pipe] = []
        loop.watch(self._own.reader, self._own.drain)

    @property
    def writer(self) -> int:
        """The descriptor that the worker has for its output between two steps."""
        return self._own.writer

    def text(self) -> str:
        """The late output since the last `take`."""
        for pipe in (self._own, *self._pipes):
            pipe.settle()
        return self._kept.text()

    def take(self) -> str:
        """Return the late output since the last call, and begin anew."""
        text = self.text()
        self._kept = Kept(self._limit)
        for pipe in (self._own, *self._pipes):
            pipe.kept = self._kept
        return text

    def new_pipes(self) -> list[Pipe]:
        """Make and watch two pipes for the output of a step."""
        made = [Pipe(self._limit), Pipe(self._limit)]
        for pipe in made:
            self._watch(pipe)
        return made

    def linger(self, pipes: list[Pipe]) -> None:
        """Give children that a step has left a moment to say what they have to say: it belongs to the step."""
        until = time.monotonic() + LINGER_SECONDS
        while not all(pipe.ended for pipe in pipes) and time.monotonic() < until:
            self._loop.pump(until - time.monotonic())

    def follow(self, pipe: Pipe) -> None:
        """Go on reading the pipe of a step that is over while a process holds its other end."""
        if pipe.ended:
            self.forget(pipe)
            return
        pipe.kept = self._kept
        self._pipes.append(pipe)
        self._loop.unwatch(pipe.reader)
        self._loop.watch(pipe.reader, lambda: self._drain(pipe))
        if len(self._pipes) > MOST_PIPES:
            self._pipes[0].settle()
            self.forget(self._pipes.pop(0))

    def forget(self, pipe: Pipe) -> None:
        """Stop reading a pipe, and close it."""
        self._loop.unwatch(pipe.reader)
        pipe.close()

    def _drain(self, pipe: Pipe) -> None:
        pipe.drain()
        if pipe.ended:
            pipe.settle()
            self._pipes.remove(pipe)
            self.forget(pipe)

    def _watch(self, pipe: Pipe) -> None:
        def read() -> None:
            pipe.drain()
            if pipe.ended:
                self._loop.unwatch(pipe.reader)

        self._loop.watch(pipe.reader, read)
