"""The ways in which a call ends without an answer. Each message is one line, for the code that made the call."""

from __future__ import annotations


class Refused(Exception):
    """A call of which nothing was sent."""


class Failed(Exception):
    """A call to which no usable answer came.

    `status` is that of HTTP where one came; `tries` counts the requests that were sent.
    """

    def __init__(self, message: str, *, status: int | None = None, tries: int = 1) -> None:
        super().__init__(message)
        self.status, self.tries = status, tries
