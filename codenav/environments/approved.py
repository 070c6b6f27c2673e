"""The environment of code whose every step a person sees before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from codenav.core.actions import Action, CodeObservation, InvalidAction, Observation
from codenav.core.approval import Approver, Question, answer_of
from codenav.core.protocols import Environment

NOT_APPROVED = "not_approved"
"""The rule of an action that a person did not let run."""
REFUSED = "The person did not let this step run{}. Nothing of it ran. Do it in another way, or ask."


class ApprovedEnvironment:
    """An environment whose actions are asked about: run, run other code in their place, or do not run."""

    def __init__(self, environment: Environment, approver: Approver) -> None:
        self.action = environment.action
        self._environment, self._approver = environment, approver

    def facts(self) -> Mapping[str, str]:
        """The facts of the environment."""
        return self._environment.facts()

    def respond(self, action: Action, *, timeout: float | None = None) -> Observation:
        """Answer an action that was approved, or the one that stands in its place."""
        answer = answer_of(self._approver, Question("Run this step?", "step", code=action.content))
        if not answer.allowed:
            return InvalidAction(REFUSED.format(f": {answer.reason}" if answer.reason else ""), NOT_APPROVED)
        code = answer.code or action.content
        seen = self._environment.respond(replace(action, content=code), timeout=timeout)
        if code != action.content and isinstance(seen, CodeObservation):
            return replace(seen, chosen=code)
        return seen
