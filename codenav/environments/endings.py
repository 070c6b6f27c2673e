"""Answers the actions that close an episode or speak to a person: `code_summary`, `ask`, `done`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from codenav.actions import (
    Action,
    Ask,
    AskObservation,
    CodeSummary,
    Done,
    DoneObservation,
    SummaryObservation,
)
from codenav.environments.formatting import summarised
from codenav.execution import Verdict
from codenav.protocols import Verifier

GAVE_UP = "FAILED:"
"""An answer that begins with it says that the agent could not do what was asked, and why."""

NOBODY = "Nobody is there to answer. Decide for yourself, and say in your answer what you assumed."


class CodeSummaryEnvironment:
    """Replays each summary at once, so that the agent can mend one that does not hold."""

    action: type[Action] = CodeSummary

    def __init__(self, verify: Verifier | None = None) -> None:
        self._verify = verify

    def facts(self) -> Mapping[str, str]:
        """None."""
        return {}

    def respond(self, action: Action, *, timeout: float | None = None) -> SummaryObservation:
        """Replay the script in a fresh sandbox."""
        verdict = Verdict(False, "no sandbox to replay it in")
        if self._verify:
            verdict = self._verify(action.content, timeout=timeout)
        return SummaryObservation(summarised(verdict), code=action.content, verdict=verdict)


class AskEnvironment:
    """Puts a question to a person; without one it says so and the agent decides for itself."""

    action: type[Action] = Ask

    def __init__(self, ask: Callable[[str], str | None] | None = None) -> None:
        self._ask = ask

    def facts(self) -> Mapping[str, str]:
        """None."""
        return {}

    def respond(self, action: Action, *, timeout: float | None = None) -> AskObservation:
        """The person's answer."""
        answer = self._ask(action.content) if self._ask else None
        if answer is None:
            return AskObservation(NOBODY)
        return AskObservation(f"Answer: {answer}", answered=True)


class DoneEnvironment:
    """Takes the answer."""

    action: type[Action] = Done

    def facts(self) -> Mapping[str, str]:
        """None."""
        return {}

    def respond(self, action: Action, *, timeout: float | None = None) -> DoneObservation:
        """End the episode."""
        answer, done = action.content.strip(), action if isinstance(action, Done) else Done("")
        if answer.upper().startswith(GAVE_UP):
            return DoneObservation(answer[len(GAVE_UP) :].strip(), gave_up=True, hint=done.hint)
        return DoneObservation(answer, guess=done.guess)
