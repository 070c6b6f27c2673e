"""The answers to the actions of an agent: environments give them, and reviewers may send a final answer back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from codenav.core.actions import DoneObservation, InvalidAction, Observation, Step, Turn
from codenav.core.errors import UsageError
from codenav.core.protocols import Environment, Reviewer
from codenav.session.budget import Budget
from codenav.session.panel import Panel


class Responder:
    """The environments of an episode, by the actions that they answer, and the reviewers of its final answer."""

    def __init__(self, environments: Sequence[Environment], reviewers: Sequence[Reviewer], budget: Budget) -> None:
        """Join them. What judges cost is counted in the budget.

        Raises:
            UsageError: two environments answer the same action.
        """
        self._environments = {environment.action.type: environment for environment in environments}
        if len(self._environments) != len(environments):
            raise UsageError("two environments answer the same action")
        self._reviewers = reviewers
        self._panel = next((one for one in reviewers if isinstance(one, Panel)), None)
        if self._panel:
            self._panel.spend = budget.spend
        self._answer = ""

    @property
    def told(self) -> dict[str, Any]:
        """The fields of `RunEnded` on the last answer, also one that judges have sent back or were about to read."""
        judged = {"verdict": self._panel.verdict, "votes": self._panel.votes} if self._panel else {}
        return {"answer": self._answer, **judged} if self._answer else {}

    def respond(self, turn: Turn, steps: Sequence[Step], *, timeout: float | None) -> Observation:
        """Return the observation of an action that follows `steps`, in at most `timeout` seconds.

        The first reviewer that finds fault with an answer decides, so the costly ones stand last.
        """
        environment = self._environments.get(turn.action.type)
        if turn.invalid or environment is None:
            return turn.invalid or InvalidAction(f"no environment answers {turn.action.type!r}", "unknown_type")
        observation = environment.respond(turn.action, timeout=timeout)
        if not observation.ends:
            return observation
        self._answer = observation.text
        if isinstance(observation, DoneObservation) and observation.gave_up:
            self._answer = ""
        elif isinstance(observation, DoneObservation):
            for reviewer in self._reviewers:
                if fault := reviewer.review(observation.text, steps, timeout=timeout):
                    if reviewer is not self._panel:
                        self._answer = ""
                    return InvalidAction(fault, "not_accepted")
        return observation
