"""The answers to the actions of an agent: environments give them, and reviewers may send a final answer back."""

from __future__ import annotations

from collections.abc import Sequence

from codenav.core.actions import DoneObservation, InvalidAction, Observation, Step, Turn
from codenav.core.errors import UsageError
from codenav.core.protocols import Environment, Reviewer


class Responder:
    """The environments of an episode, by the actions that they answer, and the reviewers of its final answer."""

    def __init__(self, environments: Sequence[Environment], reviewers: Sequence[Reviewer]) -> None:
        """Join them.

        Raises:
            UsageError: two environments answer the same action.
        """
        self._environments = {environment.action.type: environment for environment in environments}
        if len(self._environments) != len(environments):
            raise UsageError("two environments answer the same action")
        self._reviewers = reviewers

    def respond(self, turn: Turn, steps: Sequence[Step], *, timeout: float | None) -> Observation:
        """Return the observation of an action that follows `steps`, in at most `timeout` seconds.

        The first reviewer that finds fault with an answer decides, so the costly ones stand last.
        """
        environment = self._environments.get(turn.action.type)
        if turn.invalid or environment is None:
            return turn.invalid or InvalidAction(f"no environment answers {turn.action.type!r}", "unknown_type")
        observation = environment.respond(turn.action, timeout=timeout)
        if isinstance(observation, DoneObservation) and not observation.gave_up:
            for reviewer in self._reviewers:
                if fault := reviewer.review(observation.text, steps, timeout=timeout):
                    return InvalidAction(fault, "not_accepted")
        return observation
