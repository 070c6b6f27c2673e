"""An environment whose observations show no secrets: a specification may quote the key that a run was given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from codenav.core.actions import Action, Code, CodeObservation, Observation
from codenav.core.approval import Approver
from codenav.core.protocols import Environment
from codenav.core.secrets.masking import masker
from codenav.environments.approved import ApprovedEnvironment


class MaskedEnvironment:
    """An environment with `mask` applied to the texts of what it answers. The record masks all of it by itself."""

    def __init__(self, environment: Environment, mask: Callable[[Any], Any]) -> None:
        self.action = environment.action
        self._environment, self._mask = environment, mask

    def facts(self) -> Mapping[str, str]:
        """The facts of the environment."""
        return {name: str(self._mask(value)) for name, value in self._environment.facts().items()}

    def respond(self, action: Action, *, timeout: float | None = None) -> Observation:
        """Answer an action."""
        observation = self._environment.respond(action, timeout=timeout)
        masked = {"text": str(self._mask(observation.text))}
        if isinstance(observation, CodeObservation):
            masked["hint"] = str(self._mask(observation.hint))
        return replace(observation, **masked)


def guarded(
    environments: Sequence[Environment], approver: Approver | None, secrets: Mapping[str, str]
) -> Sequence[Environment]:
    """Environments whose code is approved, where there is an approver, and whose answers show no secrets."""
    if approver is not None:
        environments = [ApprovedEnvironment(one, approver) if one.action is Code else one for one in environments]
    return [MaskedEnvironment(one, masker(secrets)) for one in environments] if secrets else environments
