"""The choice among several sources: the one that a request is about is searched first."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from codenav.agents import CodeNavAgent
from codenav.agents.models.scripted import ScriptedModel
from codenav.agents.small import SmallAgent
from codenav.core.actions import Ask, Step, Turn
from codenav.core.blocks import Hit
from codenav.core.messages import Message
from codenav.core.protocols import Agent, Environment
from codenav.core.usage import Usage
from codenav.retrieval import meaning
from codenav.retrieval.analysis import parts
from codenav.retrieval.stems import STOP
from codenav.session.questions import Questions, answered

MARGIN = 0.1
"""The cosine by which a text is nearer to the description of the source that it fits than to any other. Of requests for
one of two tool sets or packages 1 % at most are taken for the other's, and 3 to 36 % for neither's."""
SHOWN = 160
"""Characters of a description that a question shows."""
QUESTION = "Which source is this request about?\n{}\nA number, a name, or all"
FOR_MODEL = "{}\n\nThe request: {}\n\nAnswer with one number only; with 0 if none fits, or several do."
FIRST = "{} is searched first: {}"
NONE = "{!r} names none of the sources: all are searched alike"


class Sources:
    """Several sources by their descriptions. It is a `Ranker`, which puts the hits of one of them first."""

    def __init__(self, descriptions: Mapping[str, str]) -> None:
        self._words = {name: _words(text) for name, text in descriptions.items()}
        lines = [f"{name}: {text.splitlines()[0][:SHOWN] if text else ''}" for name, text in descriptions.items()]
        self.question = QUESTION.format("\n".join(f"{number} {line}" for number, line in enumerate(lines, 1)))
        self.first = ""
        """The source that the request is about; empty: it may be any."""

    def fitting(self, text: str) -> str:
        """Return the one source that a text fits by its words; empty if none or several do."""
        near = meaning.closeness(_words(text), list(self._words.values()))
        (most, name), (next_most, _), *_ = sorted(zip(near, self._words, strict=True), reverse=True)
        return name if most - next_most >= MARGIN else ""

    def named(self, answer: str) -> str:
        """Return the source of an answer: a number, or a part of one name only; else empty."""
        said, names = answer.strip().casefold(), list(self._words)
        if said.isdecimal():
            return names[int(said) - 1] if 0 < int(said) <= len(names) else ""
        found = [name for name in names if said and said in name.casefold()]
        return found[0] if len(found) == 1 else ""

    def rank(self, request: str, query: str, calls: Sequence[str], hits: Sequence[Hit]) -> Sequence[Hit]:
        """Put the hits of the source that is searched first in front, or of another that the query by itself fits."""
        first = self.first and (self.fitting(query) or self.first)
        return sorted(hits, key=lambda hit: hit.source != first) if first else hits


class ChoosingAgent:
    """An agent that first finds out which source a request is about, and leaves all other actions to another agent."""

    def __init__(self, agent: Agent, sources: Sources, questions: Questions, *, tell: Callable[[str], None]) -> None:
        """`tell` gets what was chosen."""
        self.name, self._agent, self._sources, self._questions, self._tell = agent.name, agent, sources, questions, tell
        self._ask = Ask(sources.question, "The request fits none of the sources, or several.")
        self._request, self._settled, self._usage, sources.first = "", False, Usage(), ""

    def brief(self, request: str, *, description: str, environments: Sequence[Environment]) -> str:
        """Begin a request. See `Agent`."""
        self._request = request
        return self._agent.brief(request, description=description, environments=environments)

    def act(self, steps: Sequence[Step], *, timeout: float | None = None) -> Turn:
        """Return the question for the source where that has to be asked, else the agent's next action."""
        asked = [step for step in steps if step.action == self._ask]
        if not self._settled and not self._settle(asked, timeout):
            return Turn(self._ask, usage=self._spent())
        # A small model has no questions, and its host searches before anything else.
        shown = [step for step in steps if step not in asked] if isinstance(self._agent, SmallAgent) else steps
        turn = self._agent.act(shown, timeout=timeout)
        return replace(turn, usage=self._spent() + turn.usage)

    def _settle(self, asked: Sequence[Step], timeout: float | None) -> bool:
        """Find out what is searched first; False if a person has to be asked, once more where no source was named."""
        sources, before = self._sources, answered(self._questions.earlier).get(self._ask.content)
        if asked:
            answer = answered(asked).get(self._ask.content, "all")
            name, why = sources.named(answer), "that was the answer"
            again = len(asked) == 1 and answer.strip().casefold() != "all"
        else:
            name, why = sources.fitting(self._request), "the request fits its description best"
            if not name:
                name = sources.named(before or "") or sources.fitting("\n".join(self._questions.requests))
                why = "the requests before are about it"
            again = before is None
        again = again and not name and self._questions.open
        if again and not asked and (name := self._by_model(timeout)):
            why, again = "the model says that the request is about it", False
        if name:
            sources.first = name
            self._tell(FIRST.format(name, why))
        elif asked and not again and answer.strip().casefold() != "all":
            self._tell(NONE.format(answer))
        self._settled = not again
        return self._settled

    def _by_model(self, timeout: float | None) -> str:
        """Return the source that a larger model names, if it names one. A script holds actions only."""
        model = self._agent.model if isinstance(self._agent, CodeNavAgent) else None
        if model is None or isinstance(model, ScriptedModel):
            return ""
        text = FOR_MODEL.format(self._ask.content.rpartition("\n")[0], self._request)
        completion = model.complete([Message("user", text)], timeout=timeout)
        self._usage += completion.usage
        numbers = set(re.findall(r"\d+", completion.text))
        return self._sources.named(numbers.pop()) if len(numbers) == 1 else ""

    def _spent(self) -> Usage:
        usage, self._usage = self._usage, Usage()
        return usage


def _words(text: str) -> list[str]:
    return [word for word in parts(text).split() if word not in STOP]
