"""The agent for small models: the host searches first and mends by rule, the model writes code."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from codenav.agents.mending import (
    MENDED,
    leaves_something,
    names_left,
    with_content_printed,
    with_imports,
    with_offered_modules,
)  # fmt: skip
from codenav.agents.small.answers import can_answer, printed_value, stands_in, uses_values, values_in
from codenav.agents.small.moves import ANSWER, CODE, SEARCH, Move, grammar, read
from codenav.agents.small.prompt import RULES, asked, example_for, shown
from codenav.core.actions import (
    Action,
    Code,
    CodeObservation,
    Done,
    InvalidAction,
    Observation,
    Offer,
    Search,
    SearchObservation,
    Step,
    Turn,
    Unreadable,
)  # fmt: skip
from codenav.core.errors import ContextOverflow, ModelFailed, ModelRefused, ModelUnreachable, UsageError
from codenav.core.messages import Completion, Message, Sampling
from codenav.core.protocols import Environment, Model
from codenav.core.usage import Usage

TURNS = 6
"""Turns of the model for one request: gains sit in the first rounds of mending (2604.21950)."""
DRAFTS = 3
"""Scripts that are drawn for a step of code, the likeliest one included."""
WARMER = 0.8
"""Temperature of the drafts after the first, and of an answer that is drawn again."""
ANSWER_TOKENS = 512
"""Most tokens of a move; a script for one request has 30 to 150."""
LONGER, SPARE = 2, 32
"""Most tokens of a further draft, by those of the first, and some more: warm, a small model can forget to end."""
OUTPUT = 1200
"""Characters kept of an output or an error, head and tail."""
VARIABLES = 300
"""Characters of the names of variables from before that are shown."""
FAILURES, PAGES, FAILED = 2, 2, 4
"""Failed steps in a row after which the next page of the search is shown, the most pages, and the failed steps in a row
that end it."""

NEWEST = 2
"""Steps that are shown once the conversation no longer fits the context."""

KINDS = {Search.type: SEARCH, Done.type: ANSWER}
"""The moves that actions were; those of code are all others."""

BY_HOST = "The host searches with the words of the request."
MADE_UP = "That block holds none of the values of the request: {}. It was not run. Use them."
CUT_OFF = InvalidAction("The block was cut off before its end. Write a shorter one.", "truncated")
NO_MOVE = InvalidAction("That was no move. Write a block of Python, SEARCH: words, or ANSWER: text.", "no_action")


class SmallAgent:
    """The agent for a model under about 7B, in one conversation at a time.

    `drafts`: scripts that are drawn for each step of code; 1 for servers that cost money.
    """

    def __init__(self, model: Model, *, drafts: int = DRAFTS) -> None:
        self.model = model
        self._drafts = drafts
        self._request = ""
        self._facts: Mapping[str, str] = {}
        self._newest = 0
        """The number of the newest steps that fit into the context; 0 while all do."""

    def __repr__(self) -> str:
        return f"SmallAgent({self.name!r})"

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    def brief(self, request: str, *, description: str, environments: Sequence[Environment]) -> str:
        """Begin a request; return the system prompt. The description is for larger models: offers take its place.

        Raises:
            UsageError: there is no environment for searches, code and answers.
        """
        facts = {environment.action.type: environment.facts() for environment in environments}
        if not {Search.type, Code.type, Done.type} <= set(facts):
            raise UsageError("the small profile needs environments for search, code and done")
        self._request, self._facts, self._newest = request, facts[Code.type], 0
        return RULES

    def act(self, steps: Sequence[Step], *, timeout: float | None = None) -> Turn:
        """The next action: the host's own where a rule gives one, else a move of the model.

        Raises:
            ModelUnreachable, ModelRefused, ModelFailed.
        """
        if not self._request:
            raise UsageError("the agent has no request yet", hint="call brief() before act()")
        action = self._ruled(steps)
        return Turn(action) if action else self._asked(steps, timeout)

    def _ruled(self, steps: Sequence[Step]) -> Action | None:
        """The action that needs no model."""
        if not steps:
            return Search(self._request, BY_HOST)
        last = steps[-1].observation
        if isinstance(last, CodeObservation) and last.execution.error:
            code, offers = steps[-1].action.content, _offers(steps)
            mended = with_offered_modules(code, last.execution.error, offers)
            if mended != code and all(step.action.content != mended for step in steps):
                # Where another draft failed is not kept; imports come first.
                error = replace(last.execution.error, line_number=1)
                others = [draft.code for draft in last.drafts[1:]]
                drafts = tuple(with_offered_modules(other, error, offers) for other in others)
                return Code(mended, MENDED.format("imported as offered"), drafts=drafts)
        elif isinstance(last, CodeObservation) and last.ok:
            mended = with_content_printed(steps[-1].action.content, last.execution.stdout)
            if mended != steps[-1].action.content:
                return Code(mended, MENDED.format("the content is printed"))
        tail = [step for step in steps[-FAILURES:] if isinstance(step.action, Code) and not step.observation.ok]
        if len(tail) == FAILURES and self._pages(steps) < PAGES:
            return Search(self._request, BY_HOST)
        failed = [step for step in steps if isinstance(step.action, Code)][-FAILED:]
        turns = sum(bool(step.response) for step in steps)
        if turns >= TURNS or (len(failed) == FAILED and not any(step.observation.ok for step in failed)):
            return self._given_up(steps)
        return None

    def _given_up(self, steps: Sequence[Step]) -> Done:
        value = printed_value(_outputs(steps))
        if value:
            return Done(
                value, "The turns are used up: the last printed value is the answer.", agreement=self._agreement(steps)
            )
        return Done("FAILED: the model found no code that works")

    def _asked(self, steps: Sequence[Step], timeout: float | None) -> Turn:
        deadline = None if timeout is None else time.monotonic() + timeout
        allowed = self._allowed(steps)

        def draw(temperature: float = 0.0, seed: int | None = None, most: int = ANSWER_TOKENS) -> Completion:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            chosen = Sampling(temperature, seed, grammar(*allowed), stop=(), max_tokens=most)
            try:
                return self.model.complete(self._messages(steps), timeout=left, sampling=chosen)
            except ContextOverflow:
                if self._newest or len(steps) <= NEWEST:
                    raise
            # From now on the first offers and the newest steps are all that is shown.
            self._newest = NEWEST
            return draw(temperature, seed, most)

        # What was no move would be none again.
        completion = draw(WARMER, len(steps)) if isinstance(steps[-1].action, Unreadable) else draw()
        move, usage = read(completion.text, allowed=allowed), completion.usage
        written = (read(step.response) for step in steps if step.response)
        earlier = {step.action.content.strip() for step in steps} | {move.text for move in written if move}
        if move and move.text.strip() in earlier:
            # The same again gives the same again.
            completion = draw(WARMER, len(steps))
            move, usage = read(completion.text, allowed=allowed), usage + completion.usage
        if move is None or (completion.truncated and move.kind == CODE):
            invalid = CUT_OFF if completion.truncated else NO_MOVE
            return Turn(Unreadable(completion.text), invalid, usage, completion.text or "\n")
        if move.kind == CODE and move.text.strip() in earlier and self._pages(steps) < PAGES:
            return Turn(Search(self._request, BY_HOST), usage=usage, response=completion.text)
        if move.kind == CODE and self._is_made_up(move, steps):
            told = InvalidAction(MADE_UP.format(", ".join(values_in(self._request))), "no_action")
            return Turn(Unreadable(completion.text), told, usage, completion.text)
        if move.kind == CODE:
            most = min(ANSWER_TOKENS, LONGER * completion.usage.output_tokens + SPARE)
            action, spent = self._drafted(move, steps, lambda seed: draw(WARMER, seed, most))
            return Turn(action, usage=usage + spent, response=completion.text)
        if move.kind == ANSWER:
            return Turn(self._answered(move, steps), usage=usage, response=completion.text)
        return Turn(Search(move.text), usage=usage, response=completion.text)

    def _drafted(self, move: Move, steps: Sequence[Step], draw: Callable[[int], Completion]) -> tuple[Code, Usage]:
        """The step of code with other drafts of it, all with the import lines that they lack."""
        offers = _offers(steps)
        bound = names_left(steps)
        bound.update(self._held())
        drawn, usage = [move.text], Usage()
        if not self._facts.get("once") and not leaves_something(move.text):
            # Without further ones the first is still there.
            with suppress(ModelUnreachable, ModelRefused, ModelFailed):
                for seed in range(1, self._drafts):
                    completion = draw(seed)
                    usage += completion.usage
                    other = read(completion.text, allowed=(CODE,))
                    if other and not completion.truncated and not leaves_something(other.text):
                        drawn.append(other.text)
        mended = [with_imports(code, offers, bound) for code in drawn]
        thought = MENDED.format("; ".join(mended[0][1])) if mended[0][1] else ""
        return Code(mended[0][0], thought, drafts=tuple(code for code, _ in mended[1:])), usage

    def _held(self) -> list[str]:
        """The names of the variables from before."""
        return [line.partition(":")[0] for line in self._facts.get("variables", "").splitlines()]

    def _answered(self, move: Move, steps: Sequence[Step]) -> Done:
        outputs = _outputs(steps)
        said = move.text if stands_in(move.text, "\n".join(outputs), self._request) else ""
        return Done(said or printed_value(outputs) or move.text, agreement=self._agreement(steps))

    def _agreement(self, steps: Sequence[Step]) -> str:
        """That of the last step that printed something; `1 of 1` where no other script stood beside it."""
        seen = (step.observation for step in reversed(steps) if isinstance(step.observation, CodeObservation))
        told = next((one.agreement for one in seen if one.ok and one.execution.stdout.strip()), "")
        return told or ("1 of 1" if self._drafts > 1 else "")

    def _pages(self, steps: Sequence[Step]) -> int:
        """The pages of the host's own search that were shown."""
        return sum(step.action.content == self._request for step in steps)

    def _is_made_up(self, move: Move, steps: Sequence[Step]) -> bool:
        """True if a first script holds no value of the request, which is told once."""
        first = all(isinstance(step.action, Search) for step in steps)
        return first and not uses_values(move.text, self._request)

    def _allowed(self, steps: Sequence[Step]) -> tuple[str, ...]:
        """The moves that make sense now: no answer before something was printed, no third search in a row."""
        searches = all(isinstance(step.action, Search) for step in steps[-3:]) and len(steps) > 2
        moves = [CODE] if searches else [CODE, SEARCH]
        value = printed_value(_outputs(steps)) if steps[-1].observation.ok else ""
        printed = value and can_answer(value, self._request)
        return (*moves, ANSWER) if printed else tuple(moves)

    def _messages(self, steps: Sequence[Step]) -> list[Message]:
        """The conversation. Code that failed is not shown, since a small model repeats what it sees: its error is."""
        files, variables = self._facts.get("files", ""), _bounded(", ".join(self._held()), VARIABLES)
        request = asked(self._request, steps[0].observation.text, files=files, variables=variables)
        messages = [Message("system", RULES), *example_for(self._request).messages(), Message("user", request)]
        for step in steps[1:][-self._newest :]:
            if (isinstance(step.action, Code) and not step.observation.ok) or step.action.content == self._request:
                last = messages.pop()
                messages.append(Message("user", f"{last.content}\n\n{_told(step)}"))
                continue
            if isinstance(step.action, Unreadable):
                said = _bounded(step.action.content, OUTPUT) or "(nothing)"
            else:
                said = str(Move(KINDS.get(step.action.type, CODE), step.action.content))
            messages += [Message("assistant", said), Message("user", _told(step))]
        return messages


def _told(step: Step) -> str:
    """The result of a step with codenav's remark on it, as a small model reads it."""
    return "\n".join(filter(None, [_result(step.observation), step.observation.note]))


def _result(seen: Observation) -> str:
    if isinstance(seen, SearchObservation):
        return f"Offered:\n{seen.text}"
    if not isinstance(seen, CodeObservation):
        return seen.text
    ran = seen.execution
    if ran.ok:
        return "\n".join(filter(None, (shown(_bounded(ran.stdout.strip(), OUTPUT)), seen.hint)))
    error = f"{ran.error.line}\n{ran.error.type}: {ran.error.message}" if ran.error else f"{ran.outcome.value}"
    hint = f"\n{seen.hint}" if seen.hint else ""
    return f"This fails, so write it in another way: {_bounded(error, OUTPUT)}{hint}"


def _offers(steps: Sequence[Step]) -> list[Offer]:
    return [
        offer for step in steps if isinstance(step.observation, SearchObservation) for offer in step.observation.offers
    ]


def _outputs(steps: Sequence[Step]) -> list[str]:
    """The output of the steps that ended well."""
    ran = (step.observation.execution for step in steps if isinstance(step.observation, CodeObservation))
    return [one.stdout for one in ran if one.ok]


def _bounded(text: str, most: int) -> str:
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}\n… {len(text) - most} characters left out …\n{text[-half:]}"
