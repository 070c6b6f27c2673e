"""Masked environments: no text of an observation shows a secret."""

from __future__ import annotations

from collections.abc import Mapping

from codenav.core.actions import Action, Code, CodeObservation
from codenav.core.execution import Execution, Outcome
from codenav.core.secrets.masking import masker
from codenav.environments.masked import MaskedEnvironment


class Quoting:
    """An environment whose texts quote a key."""

    action: type[Action] = Code

    def facts(self) -> Mapping[str, str]:
        return {"files": "notes.txt: key-12345678"}

    def respond(self, action: Action, *, timeout: float | None = None) -> CodeObservation:
        return CodeObservation("key-12345678", execution=Execution(Outcome.ERROR), hint="Hint: key-12345678")


def test_the_text_and_the_hint_of_a_step_are_masked() -> None:
    masked = MaskedEnvironment(Quoting(), masker({"KEY": "key-12345678"}))
    seen = masked.respond(Code("1 / 0"))
    assert isinstance(seen, CodeObservation) and "12345678" not in f"{seen.text}{seen.hint}{masked.facts()}"
