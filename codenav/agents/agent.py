"""The agent: shows a model the conversation and reads one action from each answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from codenav.agents.conversation import Conversation
from codenav.agents.history import History
from codenav.agents.mending import MENDED, names_left, with_imports
from codenav.agents.models.answers import tool_of
from codenav.agents.parsing import parse
from codenav.agents.prompts import NATIVE, compose, section_of
from codenav.core.actions import Action, Code, InvalidAction, Offer, SearchObservation, Step, Turn, Unreadable
from codenav.core.errors import ModelFailed, UsageError
from codenav.core.messages import Completion, Sampling
from codenav.core.protocols import Environment, Model
from codenav.core.system.bounded import Deadline
from codenav.core.usage import Usage

LONGER = "give the model a longer context: with Ollama, OLLAMA_CONTEXT_LENGTH=32768 (docs/models.md)"

WARMER = 0.8
"""Temperature of an answer that is drawn again."""


class CodeNavAgent:
    """The agent with a model, in one conversation at a time.

    `prompts` is a folder of files that replace the built-in prompt files of the same name (`codenav prompt --copy`).
    `notice` is called once when the conversation no longer fits, with a sentence on what is handed over. With `native`
    the model is offered each action as a tool of the protocol.
    """

    def __init__(
        self,
        model: Model,
        *,
        prompts: Path | None = None,
        notice: Callable[[str], None] | None = None,
        native: bool = False,
    ) -> None:
        self.model = model
        self._prompts, self._native = prompts, native
        self._notice = notice or (lambda text: None)
        self._acted = False
        self._conversation: Conversation | None = None
        self._held: Sequence[str] = ()
        """Variables of earlier requests."""
        self._environments: Mapping[str, Environment] = {}
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
        tools: list[Mapping[str, Any]] = []
        if self._native:
            prompt += NATIVE
            # The heading and the examples of a section are in the prompt.
            about = {one.action.type: section_of(one, self._prompts).split("\n\n") for one in environments}
            tools = [tool_of(type_, text[min(1, len(text) - 1)]) for type_, text in about.items()]
        self._environments = {environment.action.type: environment for environment in environments}
        self._actions = {name: environment.action for name, environment in self._environments.items()}
        self._held = [line.partition(":")[0] for line in self._variables().splitlines()]
        self._conversation = Conversation(
            self.model, History(prompt, request), tools=tools, variables=self._variables, notice=self._notice
        )
        self._acted = False
        return prompt

    def act(self, steps: Sequence[Step], *, timeout: float | None = None) -> Turn:
        """The next action after all steps so far. `timeout`: seconds for the model call, repeats included.

        Where the conversation no longer fits, older steps are handed over as a ledger, and the call is repeated; from
        then on that happens before a conversation is sent that would not fit. `Turn.handover` has the ledger.

        Raises:
            ModelUnreachable, ModelRefused, ModelFailed; the last one also where no answer so far held an action and the
                server says that it read only a part of the prompt.
            UsageError: `brief` was not called.
        """
        conversation = self._conversation
        if conversation is None:
            raise UsageError("the agent has no request yet", hint="call brief() before act()")
        deadline = Deadline(math.inf if timeout is None else timeout)
        read, completion = self._answer(conversation, steps, deadline)
        if isinstance(read, InvalidAction) and completion.doubt and conversation.was_cut(steps, deadline):
            read, completion = self._answer(conversation, steps, deadline, before=completion.usage)
        elif isinstance(read, Code) and _failed_before(read, steps):
            # The same again gives the same again.
            warm = Sampling(WARMER, len(steps))
            read, completion = self._answer(conversation, steps, deadline, warm, before=completion.usage)
        handover, spent = conversation.taken()
        completion = replace(completion, usage=spent + completion.usage)
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
            handover=handover,
        )

    def _answer(
        self,
        conversation: Conversation,
        steps: Sequence[Step],
        deadline: Deadline,
        sampling: Sampling | None = None,
        *,
        before: Usage | None = None,
    ) -> tuple[Action | InvalidAction, Completion]:
        """The next answer and the action in it; its cost is added to that of an answer `before`."""
        completion = conversation.complete(steps, deadline, sampling)
        written = conversation.history.written(completion.text, steps)
        read = parse(written, self._actions, truncated=completion.truncated)
        return read, replace(completion, usage=(before or Usage()) + completion.usage)

    def _variables(self) -> str:
        """The variables of the sandbox, a line each."""
        place = self._environments.get(Code.type)
        return place.facts().get("variables", "") if place else ""


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
