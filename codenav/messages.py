"""What goes to a model and what comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from codenav.usage import Usage


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: str
    """`system`, `user` or `assistant`."""
    content: str


@dataclass(frozen=True)
class Completion:
    """One answer of a model."""

    text: str
    """Without any reasoning."""
    usage: Usage = Usage()
    reasoning: str = ""
    """What the server gave as reasoning, in a field of its own or in `<think>` tags. Never parsed for actions."""
    truncated: bool = False
    """The server stopped before the model did: the token limit, an abort, an unknown finish reason."""
    doubt: str = ""
    """Why the model may have read only a part of the prompt, in one sentence; empty as a rule."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What comes from a model while it writes."""

    text: str = ""
    """The next piece of the answer, as the server sends it."""
    reasoning: str = ""
    """The next piece of what the server gives as reasoning."""
    begins: bool = False
    """A request goes out: what was heard before belongs to an answer that is complete, or lost."""


Hear = Callable[[Heard], None]
"""Told of what arrives, in the thread that waits for the answer."""
