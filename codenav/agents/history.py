"""The conversation as a model sees it, cut once it no longer fits the context."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from codenav.core.actions import Step, Unreadable
from codenav.core.messages import Message
from codenav.core.usage import estimate_tokens

UNREADABLE_CHARACTERS = 1000
"""Characters kept of an answer without a valid action: enough to see what was wrong with its form."""
WHOLE = 2
"""Newest observations, which are cut last: the next step of the model rests on them."""
BOUNDS = (4000, 1000)
"""Characters kept of each of the newest, head and tail, once all older observations are left out."""
ROOM = 0.75
"""Share of a known context length that the conversation is cut to: the rest is for the answer and for the error of
`estimate_tokens`."""
FULL = 0.9
"""Share of a known context length from which the conversation is cut before it is sent."""


class History:
    """The messages of one episode. They only grow at the end, so that a server's prompt cache hits.

    The exceptions are `cuts`; what they leave out stays left out.
    """

    def __init__(self, system: str, request: str) -> None:
        self._head = (Message("system", system), Message("user", request))
        self._bounds: dict[int, int] = {}
        """Characters kept of the observation of each cut step, by its number."""
        self._ceiling: float = math.inf
        """Estimated tokens from which the conversation is too long, according to earlier overflows."""
        self._limit: int | None = None
        """The context length in estimated tokens, if an overflow named it."""

    @property
    def left_out(self) -> int:
        """The number of observations that are cut."""
        return len(self._bounds)

    def learn(self, steps: Sequence[Step], *, limit: int | None, prompt_tokens: int | None) -> None:
        """Note an overflow of this conversation; `limit` and `prompt_tokens`, if known, are in the server's tokens."""
        size = self._size(steps)
        density = prompt_tokens / size if prompt_tokens else 1.0
        self._limit = int(limit / density) if limit else self._limit
        self._ceiling = min(self._ceiling, size, FULL * self._limit if self._limit else math.inf)

    def fit(self, steps: Sequence[Step]) -> None:
        """Cut the conversation where it would overflow again, according to earlier overflows."""
        if self._size(steps) >= self._ceiling:
            for _ in self.cuts(steps):
                if self._size(steps) < self._ceiling:
                    break

    def messages(self, steps: Sequence[Step]) -> list[Message]:
        """System prompt and request, then the action and the observation of each step."""
        messages = list(self._head)
        for step in steps:
            messages.append(Message("assistant", _said(step)))
            messages.append(Message("user", self._shown(step)))
        return messages

    def cuts(self, steps: Sequence[Step]) -> Iterator[None]:
        """Leave out more and more: each turn of the iterator is one cut, to be followed by another attempt.

        First the older half of the older observations, or as many as it takes to fit a known context length; then all
        older ones; then the newest ones are shortened, more each time.
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
        """The estimated tokens of the conversation."""
        return sum(estimate_tokens(message.content) for message in self.messages(steps))

    def _bound(self, step: Step, characters: int) -> int:
        """Keep at most `characters` of an observation; return the estimated tokens that this saves."""
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
    """The action in its canonical form, which teaches it to a model that writes another form."""
    if isinstance(step.action, Unreadable):
        return _bounded(step.action.content, UNREADABLE_CHARACTERS) or "(an empty answer)"
    return step.action.to_xml()


def _bounded(text: str, characters: int) -> str:
    """Head and tail of a text around a line that counts what is left out; the text itself where it is shorter."""
    left_out = len(text) - characters
    note = f"[{left_out} characters left out]"
    half = characters // 2
    short = f"{text[:half]}\n{note}\n{text[-half:]}" if half else note
    return short if len(short) < len(text) else text
