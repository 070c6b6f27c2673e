"""The environments of the actions that end an episode or address a person: `code_summary`, `ask`, `done`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from codenav.core.actions import Action, Ask, AskObservation, CodeSummary, Done, DoneObservation, SummaryObservation
from codenav.core.clocks import asking
from codenav.core.execution import Verdict
from codenav.core.protocols import Verifier
from codenav.environments.formatting import summarised

GAVE_UP = re.compile(
    r"[\s*_#>`]*(?:failed|fehlgeschlagen|gescheitert|[ée]chec|[ée]chou[ée]|fallido|fracaso|fallito|falhou|mislukt|"
    r"неудача|не удалось|失败|失敗|실패)[\s*_`]*[:\uff1a][\s*_`]*",
    re.IGNORECASE,
)
"""Beginning of an answer with which the agent gives up. Models translate the mark, or set it bold."""

NOBODY = "Nobody is there to answer. Decide for yourself, and say in your answer what you assumed."


class CodeSummaryEnvironment:
    """The environment of `code_summary` actions: replays each at once, so that the agent can correct one that fails."""

    action: type[Action] = CodeSummary

    def __init__(self, verify: Verifier | None = None) -> None:
        self._verify = verify

    def facts(self) -> Mapping[str, str]:
        """No facts: the prompt file has no variables."""
        return {}

    def respond(self, action: Action, *, timeout: float | None = None) -> SummaryObservation:
        """Replay the script in a fresh sandbox."""
        verdict = Verdict(False, "no sandbox to replay it in")
        if self._verify:
            verdict = self._verify(action.content, timeout=timeout)
        return SummaryObservation(summarised(verdict), code=action.content, verdict=verdict)


class AskEnvironment:
    """The environment of `ask` actions: passes the question to a person, or says that nobody is there."""

    action: type[Action] = Ask

    def __init__(self, ask: Callable[[str], str | None] | None = None) -> None:
        self._ask = ask

    def facts(self) -> Mapping[str, str]:
        """No facts: the prompt file has no variables."""
        return {}

    def respond(self, action: Action, *, timeout: float | None = None) -> AskObservation:
        """Ask the person and return the answer."""
        with asking():
            answer = self._ask(action.content) if self._ask else None
        if answer is None:
            return AskObservation(NOBODY)
        return AskObservation(f"Answer: {answer}", answered=True)


class DoneEnvironment:
    """The environment of `done` actions, which hold the answer."""

    action: type[Action] = Done

    def facts(self) -> Mapping[str, str]:
        """No facts: the prompt file has no variables."""
        return {}

    def respond(self, action: Action, *, timeout: float | None = None) -> DoneObservation:
        """End the episode."""
        answer = action.content.strip()
        if mark := GAVE_UP.match(answer):
            return DoneObservation(answer[mark.end() :], gave_up=True)
        return DoneObservation(answer, agreement=action.agreement if isinstance(action, Done) else "")
