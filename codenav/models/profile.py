"""What a server taught us about one of its models: which parameters it takes, how much it can answer."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from codenav.models.answers import STOP
from codenav.models.faults import Fault, Kind

SPARE = 64
"""Tokens left free where an answer is fitted into the context: the template's own, which nobody counts for us."""

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
        return chosen

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
            return ""

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
