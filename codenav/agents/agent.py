"""The agent: shows a model the conversation and reads one action from each answer."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from codenav.agents.history import History
from codenav.agents.mending import MENDED, names_left, with_imports
from codenav.agents.parsing import parse
from codenav.agents.prompts import compose
from codenav.core.actions import Action, Code, InvalidAction, Offer, SearchObservation, Step, Turn, Unreadable
from codenav.core.errors import ContextOverflow, ModelFailed, UsageError
from codenav.core.messages import Completion, Sampling
from codenav.core.protocols import Environment, Model
from codenav.core.system.bounded import Deadline
from codenav.core.usage import Usage

LONGER = "give the model a longer context: with Ollama, OLLAMA_CONTEXT_LENGTH=32768 (docs/models.md)"

WARMER = 0.8
"""Temperature of an answer that is drawn again."""

CUT_ALL = object()
"""The default of `next` on the iterator of cuts: nothing is left to be cut."""


class CodeNavAgent:
    """The agent with a model, in one conversation at a time.

    `prompts` is a folder of files that replace the built-in prompt files of the same name (`codenav prompt --copy`).
    `notice` is called once when the conversation no longer fits, with a sentence on what is left out.
    """

    def __init__(
        self, model: Model, *, prompts: Path | None = None, notice: Callable[[str], None] | None = None
    ) -> None:
        self.model = model
        self._prompts = prompts
        self._notice = notice or (lambda text: None)
        self._acted = self._told_cut = False
        self._history: History | None = None
        self._held: Sequence[str] = ()
        """Variables of earlier requests."""
        self._actions: Mapping[str, type[Action]] = {}

    def __repr__(self) -> str:
        return f"CodeNavAgent({self.name!r})"

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    def brief(self, request: str, *, description: str, environments: Sequence[Environment]) -> str:
        """Begin a request; return the system prompt.

        Raises:
            UsageError: a prompt file is missing or uses an unknown variable.
        """
        prompt = compose(description=description, environments=environments, folder=self._prompts)
        self._actions = {environment.action.type: environment.action for environment in environments}
        facts = next((one.facts() for one in environments if one.action.type == Code.type), {})
        self._held = facts.get("variables", "").split(", ")
        self._history = History(prompt, request)
        self._acted = self._told_cut = False
        return prompt

    def act(self, steps: Sequence[Step], *, timeout: float | None = None) -> Turn:
        """The next action after all steps so far. `timeout`: seconds for the model call, repeats included.

        Where the conversation no longer fits, old observations are left out and the call is repeated; from then on they
        are left out before the conversation is sent.

        Raises:
            ModelUnreachable, ModelRefused, ModelFailed; the last one also where no answer so far held an action and the
                server says that it read only a part of the prompt.
            UsageError: `brief` was not called.
        """
        deadline = Deadline(math.inf if timeout is None else timeout)
        completion = self._complete(steps, timeout)
        read = parse(completion.text, self._actions, truncated=completion.truncated)
        if isinstance(read, Code) and _failed_before(read, steps):
            # The same again gives the same again.
            again = self._complete(steps, None if timeout is None else deadline.left, Sampling(WARMER, len(steps)))
            completion = replace(again, usage=completion.usage + again.usage)
            read = parse(completion.text, self._actions, truncated=completion.truncated)
        invalid = read if isinstance(read, InvalidAction) else None
        if invalid and completion.doubt and not self._acted:
            error = ModelFailed(f"{completion.doubt}, and its answer is no action", hint=LONGER)
            error.partial = completion
            raise error
        self._acted |= invalid is None
        if isinstance(read, Code):
            read = _mended(read, steps, self._held)
        return Turn(
            action=Unreadable(completion.text) if isinstance(read, InvalidAction) else read,
            invalid=invalid,
            usage=completion.usage,
            response=completion.text,
            reasoning=completion.reasoning,
        )

    def _complete(self, steps: Sequence[Step], timeout: float | None, sampling: Sampling | None = None) -> Completion:
        history = self._history
        if history is None:
            raise UsageError("the agent has no request yet", hint="call brief() before act()")
        deadline = None if timeout is None else time.monotonic() + timeout
        history.fit(steps)
        spent, left = Usage(), timeout
        cuts = history.cuts(steps)
        while True:
            try:
                chosen = {"sampling": sampling} if sampling else {}
                completion = self.model.complete(history.messages(steps), timeout=left, **chosen)
                break
            except ContextOverflow as error:
                history.learn(steps, limit=error.limit, prompt_tokens=error.prompt_tokens)
                spent += error.partial.usage if error.partial else Usage()
                left = None if deadline is None else deadline - time.monotonic()
                if (left is not None and left <= 0) or next(cuts, CUT_ALL) is CUT_ALL:
                    error.partial = replace(error.partial, usage=spent) if error.partial else None
                    raise
        self._tell_cut(history.left_out)
        return replace(completion, usage=spent + completion.usage)

    def _tell_cut(self, left_out: int) -> None:
        if left_out and not self._told_cut:
            self._told_cut = True
            results = "the result of 1 step" if left_out == 1 else f"the results of {left_out} steps"
            self._notice(
                f"the conversation is too long for {self.name}: it is no longer shown {results}, "
                "nor further old ones where room is needed"
            )


def _failed_before(code: Code, steps: Sequence[Step]) -> bool:
    """True if the last step was the same code, and failed."""
    return bool(steps) and steps[-1].action.content.strip() == code.content.strip() and not steps[-1].observation.ok


def _mended(code: Code, steps: Sequence[Step], held: Sequence[str]) -> Code:
    """The code with the import lines of names that searches have shown, where it uses them and nothing binds them."""
    found = (step.observation for step in steps if isinstance(step.observation, SearchObservation))
    hits = [hit.block for seen in found for result in seen.results for hit in result]
    offers = [
        Offer(block.import_line, block.expression) for block in hits if block.language == "python" and block.import_line
    ]
    content, lines = with_imports(code.content, offers, names_left(steps) | set(held)) if offers else (code.content, [])
    if not lines:
        return code
    return replace(code, content=content, thought=f"{code.thought} {MENDED.format('; '.join(lines))}".strip())
