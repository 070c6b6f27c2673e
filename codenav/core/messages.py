"""The messages of a conversation with a model, and its answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from codenav.core.usage import Usage


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a conversation."""

    role: str
    """`system`, `user` or `assistant`."""
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """The way in which a model chooses the tokens of one answer."""

    temperature: float = 0.0
    """0 takes the likeliest token each time."""
    seed: int | None = None
    """Of the random choice; None leaves it to the server."""
    grammar: str = ""
    """The form that the answer has to have, in llama.cpp's GBNF. Left out for a server that refuses it."""
    stop: tuple[str, ...] | None = None
    """Text at which the answer ends; None stands for the ends of the action tags."""
    max_tokens: int = 0
    """Limit of the answer; 0 is the model's own."""
    top_p: float | None = None
    """Share of the likeliest tokens to choose from; None leaves it to the server."""


@dataclass(frozen=True)
class Completion:
    """An answer of a model."""

    text: str
    """The answer without any reasoning."""
    usage: Usage = Usage()
    reasoning: str = ""
    """The reasoning, from a field of its own or from `<think>` tags. Never parsed for actions."""
    truncated: bool = False
    """True if the server stopped before the model did: the token limit, an abort, an unknown finish reason."""
    doubt: str = ""
    """One sentence: the reason why the model may have read only a part of the prompt; usually empty."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A piece of an answer while a model writes it."""

    text: str = ""
    """The next piece of the answer, as the server sends it."""
    reasoning: str = ""
    """The next piece of the reasoning."""
    begins: bool = False
    """True if a new request begins: the pieces before belong to an answer that is complete or lost."""


Hear = Callable[[ModelReply], None]
"""A function that is called with each piece, in the thread that waits for the answer."""
