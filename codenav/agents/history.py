"""The conversation as a model is shown it, and what is left out once it no longer fits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from codenav.actions import Step, Unreadable
from codenav.messages import Message
from codenav.usage import estimate_tokens

UNREADABLE_CHARACTERS = 1000
"""Kept of an answer that held no valid action: enough to see what was wrong with its form."""
WHOLE = 2
"""Newest observations that are bounded last: the step that the model is about to take rests on them."""
BOUNDS = (4000, 1000)
"""Characters kept of each of those, head and tail, where nothing older is left to give up."""
ROOM = 0.75
"""Share of a known context length that the conversation is cut to: the rest is for the answer and for the
error of `estimate_tokens`."""
FULL = 0.9
"""Share of it from which the conversation is cut before it is sent."""


class History:
    """The messages of one episode. They only ever grow at the end, so a server's prompt cache hits.

    The exception are `cuts`, and what they left out stays out.
    """

    def __init__(self, system: str, request: str) -> None:
        self._head = (Message("system", system), Message("user", request))
        self._bounds: dict[int, int] = {}
        """Step number to the characters that are kept of its observation."""
        self._ceiling: float = math.inf
        """Estimated tokens from which the conversation is too long, as far as overflows told."""
        self._limit: int | None = None
        """The context length in estimated tokens, where one told it."""

    @property
    def left_out(self) -> int:
        """Observations of which not all is shown any more."""
        return len(self._bounds)

    def learn(self, steps: Sequence[Step], *, limit: int | None, prompt_tokens: int | None) -> None:
        """This conversation was too long. The context has `limit` tokens and it has `prompt_tokens`, if told."""
        size = self._size(steps)
        density = prompt_tokens / size if prompt_tokens else 1.0
        self._limit = int(limit / density) if limit else self._limit
        self._ceiling = min(self._ceiling, size, FULL * self._limit if self._limit else math.inf)

    def fit(self, steps: Sequence[Step]) -> None:
        """Cut the conversation where it would overflow again, by what earlier overflows told."""
        if self._size(steps) >= self._ceiling:
            for _ in self.cuts(steps):
                if self._size(steps) < self._ceiling:
                    break

    def messages(self, steps: Sequence[Step]) -> list[Message]:
        """System prompt, request, then per step what the model did and what came back."""
        messages = list(self._head)
        for step in steps:
            messages.append(Message("assistant", _said(step)))
            messages.append(Message("user", self._shown(step)))
        return messages

    def cuts(self, steps: Sequence[Step]) -> Iterator[None]:
        """Leave out more and more; each turn of the iterator is one cut, to be followed by another try.

        First the older half of the older observations, or so many that the rest fits a context length that is
        known; then all older ones; then the newest ones are bounded, more tightly each time.
        """
        older, newest = steps[:-WHOLE], steps[-WHOLE:]
        size = self._size(steps)
        half = size - sum(self._saving(step, 0) for step in older) // 2
        for target in (half if self._limit is None else min(half, int(ROOM * self._limit)), 0):
            before = size
            for step in older:
                if size > target:
                    size -= self._bound(step, 0)
            if size < before:
                yield
        for characters in BOUNDS:
            if sum(self._bound(step, characters) for step in newest):
                yield

    def _size(self, steps: Sequence[Step]) -> int:
        """Of the conversation, in estimated tokens."""
        return sum(estimate_tokens(message.content) for message in self.messages(steps))

    def _bound(self, step: Step, characters: int) -> int:
        """Keep no more than that of an observation; returns the tokens that this saves."""
        saving = self._saving(step, characters)
        if saving:
            self._bounds[step.number] = characters
        return saving

    def _saving(self, step: Step, characters: int) -> int:
        shorter = _bounded(step.observation.text, characters)
        return max(0, estimate_tokens(self._shown(step)) - estimate_tokens(shorter))

    def _shown(self, step: Step) -> str:
        bound = self._bounds.get(step.number)
        text = step.observation.text
        # Some servers refuse an empty message.
        return (text if bound is None else _bounded(text, bound)) or "(nothing)"


def _said(step: Step) -> str:
    """The action in its canonical form, which teaches a model that writes another one."""
    if isinstance(step.action, Unreadable):
        return _bounded(step.action.content, UNREADABLE_CHARACTERS) or "(an empty answer)"
    return step.action.to_xml()


def _bounded(text: str, characters: int) -> str:
    """Head and tail of a text around a line that counts what is left out; the text itself where that is shorter."""
    left_out = len(text) - characters
    note = f"[{left_out} characters left out]"
    half = characters // 2
    short = f"{text[:half]}\n{note}\n{text[-half:]}" if half else note
    return short if len(short) < len(text) else text
