"""The agent: shows a model the conversation and reads one action from its answer."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from codenav.actions import Action, InvalidAction, Step, Turn, Unreadable
from codenav.agents.history import History
from codenav.agents.parsing import parse
from codenav.agents.prompts import compose
from codenav.errors import ContextOverflow, UsageError
from codenav.messages import Completion
from codenav.protocols import Environment, Model


class CodeNavAgent:
    """One model, one conversation at a time.

    `prompts` is a folder whose files replace ours of the same name (`codenav prompt copy`).
    """

    def __init__(self, model: Model, *, prompts: Path | None = None) -> None:
        self.model = model
        self._prompts = prompts
        self._history: History | None = None
        self._actions: Mapping[str, type[Action]] = {}

    def __repr__(self) -> str:
        return f"CodeNavAgent({self.name!r})"

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    def brief(self, request: str, *, description: str, environments: Sequence[Environment]) -> str:
        """Take up a request; returns the system prompt.

        Raises:
            UsageError: a prompt file is missing or names something that is not known.
        """
        prompt = compose(description=description, environments=environments, folder=self._prompts)
        self._actions = {environment.action.type: environment.action for environment in environments}
        self._history = History(prompt, request)
        return prompt

    def act(self, steps: Sequence[Step], *, timeout: float | None = None) -> Turn:
        """The next action, given all steps so far. `timeout` in seconds bounds the model call, repeats included.

        Where the conversation no longer fits, old observations are left out and the call is made again.

        Raises:
            ModelUnreachable, ModelRefused, ModelFailed.
            UsageError: `brief` was not called.
        """
        completion = self._complete(steps, timeout)
        read = parse(completion.text, self._actions, truncated=completion.truncated)
        invalid = read if isinstance(read, InvalidAction) else None
        return Turn(
            action=Unreadable(completion.text) if isinstance(read, InvalidAction) else read,
            invalid=invalid,
            usage=completion.usage,
            response=completion.text,
            reasoning=completion.reasoning,
        )

    def _complete(self, steps: Sequence[Step], timeout: float | None) -> Completion:
        history = self._history
        if history is None:
            raise UsageError("the agent has no request yet", hint="call brief() before act()")
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            return self.model.complete(history.messages(steps), timeout=timeout)
        except ContextOverflow as error:
            overflow = error
        for _ in history.cuts(steps, limit=overflow.limit):
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                break
            try:
                return self.model.complete(history.messages(steps), timeout=left)
            except ContextOverflow as error:
                overflow = error
        raise overflow
