"""What a server taught us about one of its models: which parameters it takes, how much it can answer."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from codenav.messages import Message
from codenav.models.answers import STOP, sound
from codenav.models.faults import SYSTEM, Fault, Kind

SPARE = 64
"""Tokens left free where an answer is fitted into the context: the template's own, which nobody counts for us."""

MARGIN = 1.1
"""On the tokens of a prompt that are reckoned from those of an earlier one."""

LEAST = 256
"""Tokens that an answer needs at least; with less room the prompt is too long."""


@dataclass
class Profile:
    """Learned from refusals, never from a model's name. One per (base URL, model), for the life of the process."""

    max_tokens: int
    """What an answer may have, reasoning included."""
    max_tokens_name: str = "max_tokens"
    """Newer models of OpenAI call it `max_completion_tokens`. Empty: neither is taken."""
    temperature: bool = True
    stop: bool = True
    stream: bool = True
    stream_usage: bool = True
    """Whether a stream is asked for its tokens, with `stream_options`."""
    system: bool = True
    """Whether a message of the role `system` is taken; else it goes into the first message of the user."""
    doubted: bool = False
    """It was told that the server reads too few tokens, or counts in its own way."""
    context: int | None = None
    """Tokens of the context, where an overflow told it."""
    density: float = 1.25
    """Tokens per estimated one, in the last prompt whose tokens the server told."""
    stop_suspected: bool = False
    """An answer without the stop sequence was tried once, to see whether it is what empties the answers."""
    doubled: bool = False
    """`max_tokens` was doubled once, as reasoning used it up."""
    answered: bool = False
    """The server has answered in full at least once: what fails now may pass."""
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def parameters(self, *, stop: bool, most: int) -> dict[str, Any]:
        """The optional parameters of a request; `most` tokens may be answered, 0 for what the profile allows."""
        chosen: dict[str, Any] = {}
        if self.max_tokens_name:
            chosen[self.max_tokens_name] = min(self.max_tokens, most or self.max_tokens)
        if self.temperature:
            chosen["temperature"] = 0
        if stop and self.stop:
            chosen["stop"] = list(STOP)
        if self.stream:
            chosen["stream"] = True
        if self.stream and self.stream_usage:
            chosen["stream_options"] = {"include_usage": True}
        return chosen

    def wire(self, messages: Sequence[Message]) -> list[dict[str, str]]:
        """The messages as this model takes them."""
        if not self.system and len(messages) > 1 and (messages[0].role, messages[1].role) == ("system", "user"):
            messages = [Message("user", f"{messages[0].content}\n\n{messages[1].content}"), *messages[2:]]
        return [{"role": message.role, "content": sound(message.content)} for message in messages]

    def room(self, prompt: int) -> int:
        """Tokens for the answer to a prompt of so many estimated tokens; 0 where it is not known, or too few."""
        if self.context is None:
            return 0
        left = self.context - int(prompt * self.density * MARGIN) - SPARE
        return left if left >= LEAST else 0

    def learn(self, fault: Fault) -> str:
        """Adapt to a refused parameter; returns what changed in one line, empty where nothing can change."""
        with self.lock:
            name = fault.parameter
            if name == self.max_tokens_name and name:
                if fault.limit and LEAST <= fault.limit < self.max_tokens:
                    self.max_tokens = fault.limit
                    return f"takes {name} up to {fault.limit:,}"
                renamed = "max_completion_tokens" if name == "max_tokens" else ""
                self.max_tokens_name = renamed
                return f"refuses {name}: {f'sent as {renamed}' if renamed else 'left out'}"
            if name == "temperature" and self.temperature:
                self.temperature = False
                return "refuses temperature 0: left out"
            if name == "stop" and self.stop:
                self.stop = False
                return "refuses stop: left out, answers are cut here"
            if name == "stream_options" and self.stream_usage:
                self.stream_usage = False
                return "refuses stream_options: left out, its tokens are estimated"
            if name == "stream" and self.stream:
                self.stream = False
                return "does not stream: its answers come whole"
            if name == SYSTEM and self.system:
                self.system = False
                return "takes no system message: it goes into the first message of the user"
            return ""

    def answered_with(self, prompt: int, tokens: int) -> None:
        """A prompt of `prompt` estimated tokens was answered; the server says that it had `tokens`, 0 for nothing."""
        self.answered = True
        if tokens >= LEAST:
            self.density = max(1.0, tokens / max(prompt, 1))

    def overflowed(self, fault: Fault, prompt: int) -> None:
        """A prompt of `prompt` estimated tokens was too long, by itself or with the answer."""
        self.context = fault.limit or self.context
        if fault.prompt_tokens and fault.prompt_tokens >= LEAST:
            self.density = max(1.0, fault.prompt_tokens / max(prompt, 1))

    def doubt(self) -> bool:
        """Whether it is news that the server says it read too few tokens."""
        with self.lock:
            news, self.doubted = not self.doubted, True
            return news

    def double(self) -> bool:
        """Allow twice the tokens, once; whether it was done."""
        with self.lock:
            if self.doubled or not self.max_tokens_name:
                return False
            self.doubled = True
            self.max_tokens *= 2
            return True

    def suspect_stop(self) -> bool:
        """Whether to try once without the stop sequence."""
        with self.lock:
            first = self.stop and not self.stop_suspected
            self.stop_suspected = True
            return first

    def drop_stop(self) -> bool:
        """Send no stop sequence any more; whether this is news."""
        with self.lock:
            news, self.stop = self.stop, False
            return news


_PROFILES: dict[tuple[str, str, int], Profile] = {}
_LOCK = threading.Lock()


def profile_of(base_url: str, model: str, max_tokens: int) -> Profile:
    """The profile of a model on a server, shared by all that ask for it."""
    with _LOCK:
        return _PROFILES.setdefault((base_url, model, max_tokens), Profile(max_tokens))


def room(fault: Fault, prompt_tokens: int) -> int:
    """Tokens that an overflow leaves for the answer; 0 where the prompt itself is too long, or nobody knows.

    `prompt_tokens` is our estimate, for servers that do not say theirs.
    """
    if fault.kind is not Kind.OVERFLOW or not fault.limit:
        return 0
    left = fault.limit - (fault.prompt_tokens or prompt_tokens + prompt_tokens // 4) - SPARE
    return left if left >= LEAST else 0
