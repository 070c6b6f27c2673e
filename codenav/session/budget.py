"""The limits of an episode, compared with what it has spent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from codenav.core.actions import Step, Unreadable
from codenav.core.clocks import Clock
from codenav.core.errors import LimitReached
from codenav.core.limits import Limits
from codenav.core.usage import Usage


class Budget:
    """The limits of an episode, with the clock that it is measured by."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._usages: dict[str, Usage] = {}
        self.begin()

    def spend(self, model: str, usage: Usage) -> None:
        """Count the cost of a model."""
        self._usages[model] = self._usages.get(model, Usage()) + usage

    @property
    def spent(self) -> dict[str, Any]:
        """The fields of `RunEnded` that tell what the models cost."""
        return {"usage": sum(self._usages.values(), Usage()), "usage_by_model": dict(self._usages)}

    def begin(self) -> None:
        """Start the clock anew."""
        self.clock = Clock()

    @property
    def seconds(self) -> float:
        """The seconds since the beginning, without those in which a person was asked."""
        return self.clock.seconds

    @property
    def left(self) -> float | None:
        """The seconds that are left, never under 0.1; None without a limit."""
        return max(self._limits.seconds - self.seconds, 0.1) if self._limits.seconds else None

    def check(self, *, steps: int) -> None:
        """Compare what was spent with the limits.

        Raises:
            LimitReached: one has been reached.
        """
        limits, seconds, tokens = self._limits, self.seconds, self.spent["usage"].tokens
        if limits.steps and steps >= limits.steps:
            raise LimitReached("steps", steps, limits.steps)
        if limits.seconds and seconds >= limits.seconds:
            raise LimitReached("seconds", round(seconds, 1), limits.seconds)
        if limits.tokens and tokens >= limits.tokens:
            raise LimitReached("tokens", tokens, limits.tokens)

    def wasted(self, steps: Sequence[Step]) -> str:
        """Return the reason to give up if the last steps are all answers without an action, else an empty text."""
        bound = self._limits.invalid_actions
        last = steps[-bound:] if bound else []
        if not bound or len(last) < bound or not all(isinstance(step.action, Unreadable) for step in last):
            return ""
        return f"the model gave {bound} answers in a row without a valid action"
