"""The conversation with a model in one episode, which is handed over when it no longer fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from codenav.agents.handover import FINDINGS, REQUEST, ledger
from codenav.agents.history import WHOLE, History
from codenav.core.actions import Step
from codenav.core.errors import CodeNavError, ContextOverflow, ModelFailed, ModelRefused, ModelUnreachable
from codenav.core.messages import Completion, Message, Sampling
from codenav.core.protocols import Model
from codenav.core.system.bounded import Deadline
from codenav.core.usage import Usage

LEDGER, MOST_LEDGER = 0.125, 4000
"""Share of the context that a ledger may take, and its most tokens."""
FINDINGS_SECONDS = 60.0
"""Longest wait for the findings of a model: the work goes on without them."""


class Conversation:
    """A history and the model that it is sent to.

    `tools` are the actions as tools of the protocol, if the model is offered these. `variables` gives those of the
    sandbox, a line each. `notice` is called once, with a sentence, when the conversation no longer fits.
    """

    def __init__(
        self,
        model: Model,
        history: History,
        *,
        tools: Sequence[Mapping[str, Any]],
        variables: Callable[[], str],
        notice: Callable[[str], None],
    ) -> None:
        self.history = history
        self._options: dict[str, Any] = {"tools": tools} if tools else {}
        self._model, self._variables, self._notice = model, variables, notice
        self._spent, self._handover, self._told = Usage(), "", False

    def complete(self, steps: Sequence[Step], deadline: Deadline, sampling: Sampling | None = None) -> Completion:
        """The next answer. An overflow is answered by a hand-over, and the request is sent again.

        Raises:
            ModelUnreachable, ModelRefused, ModelFailed, ContextOverflow. The cost of all requests is in `partial`.
        """
        history = self.history
        while history.is_too_long(steps) and self.shorten(steps, deadline):
            pass
        while True:
            try:
                chosen = {**self._options, **({"sampling": sampling} if sampling else {})}
                return self._model.complete(history.messages(steps), timeout=_timeout(deadline), **chosen)
            except CodeNavError as error:
                self._spent += error.partial.usage if error.partial else Usage()
                if not (isinstance(error, ContextOverflow) and self._fits_after(error, steps, deadline)):
                    error.partial = replace(error.partial or Completion(""), usage=self._spent)
                    raise

    def _fits_after(self, error: ContextOverflow, steps: Sequence[Step], deadline: Deadline) -> bool:
        """True if there was time, and something to be cut, so that another request may fit."""
        self.history.learn(steps, limit=error.limit, prompt_tokens=error.prompt_tokens)
        return bool(deadline.left) and self.shorten(steps, deadline)

    def shorten(self, steps: Sequence[Step], deadline: Deadline) -> bool:
        """Hand older steps over, else bound the results of the newest; False if there is nothing left to be cut."""
        history = self.history
        if not history.can_hand_over(steps):
            return history.shorten(steps)
        findings = self._findings(steps[:-1], deadline)
        room = int(min(LEDGER * history.room, MOST_LEDGER))
        text = ledger(steps[:-WHOLE], self._variables(), tokens=room)
        self._handover = history.hand_over(steps, text, findings)
        if not self._told:
            self._told = True
            self._notice(
                f"the conversation is too long for {self._model.name}: "
                "of older steps it is shown a list of what they have come to"
            )
        return True

    def was_cut(self, steps: Sequence[Step], deadline: Deadline) -> bool:
        """Shorten a conversation that the server has probably cut without a word; as `shorten`."""
        self.history.learn(steps, limit=None, prompt_tokens=None)
        return self.shorten(steps, deadline)

    def taken(self) -> tuple[str, Usage]:
        """The newest hand-over and the cost of what was no answer, since this was called last."""
        found = self._handover, self._spent
        self._handover, self._spent = "", Usage()
        return found

    def _findings(self, steps: Sequence[Step], deadline: Deadline) -> str:
        """What the model adds to a ledger, asked below the conversation that it has read; empty where it fails."""
        messages = self.history.messages(steps)
        messages[-1] = Message(messages[-1].role, f"{messages[-1].content}\n\n{REQUEST}")
        try:
            answer = self._model.complete(
                messages,
                timeout=min(FINDINGS_SECONDS, deadline.left),
                sampling=Sampling(stop=(), max_tokens=FINDINGS),
            )
        except (ModelUnreachable, ModelRefused, ModelFailed) as error:
            self._spent += error.partial.usage if error.partial else Usage()
            return ""
        self._spent += answer.usage
        return self.history.written(answer.text, steps)[: 4 * FINDINGS]


def _timeout(deadline: Deadline) -> float | None:
    return None if math.isinf(deadline.left) else deadline.left
