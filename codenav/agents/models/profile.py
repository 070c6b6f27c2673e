"""Learned properties of a model on a server: the parameters that it accepts, and the room for its answers."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from codenav.agents.models.answers import STOP, sound
from codenav.agents.models.faults import SYSTEM, Fault, Kind
from codenav.agents.models.kept import SWITCHES, findings
from codenav.core.messages import Message, Sampling

SPARE = 64
"""Tokens left free when an answer is fitted into the context, for the tokens of the chat template itself."""

MARGIN = 1.1
"""Safety factor for the tokens of a prompt that are estimated from those of an earlier one."""

LEAST = 256
"""The least room for an answer, in tokens; with less, the prompt is too long."""


ONE_CALL: Mapping[str, Any] = {"tool_choice": "required", "parallel_tool_calls": False}
"""The parameters of a request that is to be answered by one call of a tool."""

MOST_WITHOUT_CALL = 2
"""Answers in a row without a call after which a model is asked for text: one may be a slip."""

_LEFT_OUT = {
    "temperature": ("temperature", "refuses temperature 0: left out"),
    "seed": ("seed", "refuses seed: left out"),
    "top_p": ("top_p", "refuses top_p: left out"),
    "grammar": ("grammar", "refuses the grammar: left out, its answers are read as plain text"),
    "stop": ("stop", "refuses stop: left out, answers are cut off here"),
    "stream_options": ("stream_usage", "refuses stream_options: left out, its tokens are estimated"),
    "stream": ("stream", "does not stream: each answer comes as a whole"),
    "tools": ("tools", "takes no tools: its actions are read as text"),
    "tool_choice": ("tool_choice", "refuses tool_choice: left out, it may answer without a call"),
    "parallel_tool_calls": ("parallel_tool_calls", "refuses parallel_tool_calls: left out, its first call counts"),
    SYSTEM: ("system", "accepts no system message: it is put into the first user message"),
}
"""Of each parameter that may be refused: its attribute of a profile, and a line about what follows."""


@dataclass
class Profile:
    """The profile of a model, learned from refusals and never from its name.

    There is one per (base URL, model, token limit), for the life of the process. It starts from the findings that
    `codenav doctor --probe` kept.
    """

    max_tokens: int
    """The most tokens of an answer, reasoning included."""
    max_tokens_name: str = "max_tokens"
    """Newer models of OpenAI call it `max_completion_tokens`. Empty if the model accepts neither."""
    temperature: bool = True
    seed: bool = True
    top_p: bool = True
    grammar: bool = True
    stop: bool = True
    stream: bool = True
    stream_usage: bool = True
    """True to ask a stream for its token counts, with `stream_options`."""
    system: bool = True
    """True if the model accepts a message with the role `system`; else it is put into the first user message."""
    tools: bool = True
    tool_choice: bool = True
    parallel_tool_calls: bool = True
    without_call: int = 0
    """Answers in a row without a call, although tools were offered."""
    told: set[str] = field(default_factory=set)
    """Events that count once: oddities of the server that the user was told of, and what was tried."""
    context: int | None = None
    """Tokens of the context, if an overflow or `codenav doctor --probe` told it."""
    density: float = 1.25
    """Ratio of tokens to estimated tokens, in the last prompt whose tokens the server told."""
    answered: bool = False
    """True once the server has answered in full: later faults may be temporary."""
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def parameters(
        self, sampling: Sampling, *, stop: bool, most: int, tools: Sequence[Mapping[str, Any]] = ()
    ) -> dict[str, Any]:
        """The optional parameters of a request; `most` is the token limit of the answer, 0 for the profile's own."""
        chosen: dict[str, Any] = {}
        if self.max_tokens_name:
            limits = [self.max_tokens, *filter(None, (most, sampling.max_tokens))]
            chosen[self.max_tokens_name] = min(limits)
        if self.temperature:
            chosen["temperature"] = sampling.temperature
        if self.seed and sampling.seed is not None:
            chosen["seed"] = sampling.seed
        if self.top_p and sampling.top_p is not None:
            chosen["top_p"] = sampling.top_p
        if self.grammar and sampling.grammar:
            chosen["grammar"] = sampling.grammar
        ends = STOP if sampling.stop is None else sampling.stop
        # Also with tools: some models write text all the same. A line end in the arguments of a call is escaped.
        if stop and self.stop and ends:
            chosen["stop"] = list(ends)
        if tools and self.tools:
            chosen["tools"] = list(tools)
            chosen |= {name: value for name, value in ONE_CALL.items() if getattr(self, name)}
        if self.stream:
            chosen["stream"] = True
        if self.stream and self.stream_usage:
            chosen["stream_options"] = {"include_usage": True}
        return chosen

    def wire(self, messages: Sequence[Message]) -> list[dict[str, str]]:
        """The messages in the form that this model accepts."""
        if not self.system and len(messages) > 1 and (messages[0].role, messages[1].role) == ("system", "user"):
            messages = [Message("user", f"{messages[0].content}\n\n{messages[1].content}"), *messages[2:]]
        return [{"role": message.role, "content": sound(message.content)} for message in messages]

    def room(self, prompt: int) -> int:
        """The room for an answer, in tokens, after a prompt of `prompt` estimated tokens; 0 if unknown or too small."""
        if self.context is None:
            return 0
        left = self.context - int(prompt * self.density * MARGIN) - SPARE
        return left if left >= LEAST else 0

    def learn(self, fault: Fault) -> str:
        """Adapt to a refused parameter; return a line about the change, or "" if nothing can be changed."""
        with self.lock:
            name = fault.parameter
            if name == self.max_tokens_name and name:
                if fault.limit and LEAST <= fault.limit < self.max_tokens:
                    self.max_tokens = fault.limit
                    return f"accepts {name} only up to {fault.limit:,}"
                renamed = "max_completion_tokens" if name == "max_tokens" else ""
                self.max_tokens_name = renamed
                return f"refuses {name}: {f'sent as {renamed}' if renamed else 'left out'}"
            if name not in _LEFT_OUT:
                return ""
            attribute, consequence = _LEFT_OUT[name]
            news = getattr(self, attribute)
            setattr(self, attribute, False)
            self.told.add(name)
            return consequence if news else ""

    def called(self, called: bool) -> str:
        """Record if an answer was a call, as asked for; return a line where no more calls are asked for."""
        with self.lock:
            self.without_call = 0 if called else self.without_call + 1
            if self.without_call < MOST_WITHOUT_CALL or not self.tools:
                return ""
            self.tools = False
            self.told.add("tools")
            return "answers without calling a tool: its actions are read as text from now on"

    @property
    def learned(self) -> dict[str, Any]:
        """The attributes that `Findings` keep."""
        return {name: getattr(self, name) for name in (*SWITCHES, "context", "max_tokens_name")}

    def answered_with(self, prompt: int, tokens: int) -> None:
        """Record that a prompt of `prompt` estimated tokens was answered; the server counted `tokens`, 0 if unknown."""
        self.answered = True
        if tokens >= LEAST:
            self.density = max(1.0, tokens / max(prompt, 1))

    def overflowed(self, fault: Fault, prompt: int) -> None:
        """Record that a prompt of `prompt` estimated tokens was too long, by itself or with the answer."""
        self.context = fault.limit or self.context
        if fault.prompt_tokens and fault.prompt_tokens >= LEAST:
            self.density = max(1.0, fault.prompt_tokens / max(prompt, 1))

    def first(self, event: str) -> bool:
        """Record an event; return True the first time."""
        with self.lock:
            news = event not in self.told
            self.told.add(event)
            return news

    def double(self) -> bool:
        """Double the token limit, only once; return True if it was done."""
        if not (self.max_tokens_name and self.first("doubled")):
            return False
        self.max_tokens *= 2
        return True

    def drop_stop(self) -> bool:
        """Stop sending stop sequences; return True if they were sent before."""
        with self.lock:
            news, self.stop = self.stop, False
            return news


_PROFILES: dict[tuple[str, str, int], Profile] = {}
_LOCK = threading.Lock()


def profile_of(base_url: str, model: str, max_tokens: int) -> Profile:
    """The profile of a model on a server, the same object for all callers."""
    key = (base_url, model, max_tokens)
    with _LOCK:
        if key not in _PROFILES:
            found = findings(base_url, model)
            _PROFILES[key] = Profile(max_tokens, **(found.learned if found else {}))
        return _PROFILES[key]


def room(fault: Fault, prompt_tokens: int) -> int:
    """The room for an answer, in tokens, after an overflow; 0 if the prompt itself is too long, or if unknown.

    `prompt_tokens` is our estimate, for servers that do not report a count.
    """
    if fault.kind is not Kind.OVERFLOW or not fault.limit:
        return 0
    left = fault.limit - (fault.prompt_tokens or prompt_tokens + prompt_tokens // 4) - SPARE
    return left if left >= LEAST else 0
