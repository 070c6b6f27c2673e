"""What goes to a model and what comes back."""

from __future__ import annotations

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
