"""A dozen small requests that tell what an endpoint can do: `codenav doctor --probe`."""

from __future__ import annotations

import ast
import itertools
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from codenav.agents.models.answers import Answer, read_answer, tool_of
from codenav.agents.models.faults import Fault, Kind
from codenav.agents.models.profile import ONE_CALL, Profile
from codenav.agents.models.streams import Stream
from codenav.agents.models.traits import Traits
from codenav.agents.models.transport import Transport
from codenav.core.errors import CodeNavError
from codenav.core.messages import ModelReply

SECONDS = 90.0
"""For one request: a model on processors alone reads some dozen tokens a second."""
SHORT = 96
"""Tokens of an answer, at most."""
LONGEST_TRIED = 131_072
"""Tokens of a context that is filled on purpose; a longer prompt is megabytes for nothing."""
BESIDE = ("temperature", *ONE_CALL)
"""Parameters that no check is about."""
_GRAMMAR = 'root ::= "heads" | "tails"'
_SCHEMA = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
_TEXT = " ".join(
    f"Line {n}: the harbour of {n * 7} boats lies {n * 13} miles north of the old bridge." for n in range(12)
)


@dataclass(frozen=True)
class Ability:
    """One row: what was tried, and how it went."""

    name: str
    ok: bool
    detail: str
    hint: str = ""


@dataclass
class _Asked:
    """An answer, and when it came."""

    answer: Answer
    first: float
    """Seconds to its first piece."""
    seconds: float
    pieces: int


class Endpoint:
    """A model on a server, asked with the parameters of each check."""

    def __init__(self, transport: Transport, name: str, traits: Traits) -> None:
        self._transport, self._name, self._traits = transport, name, traits
        self.profile = Profile(SHORT, context=traits.context)
        """What is learned by the checks."""
        self._reading = 0.0
        """Tokens a second of a prompt that is not in the cache."""

    def abilities(self) -> Iterator[Ability]:
        """Try one thing after another; without any answer the first row is the only one. Never raises."""
        first = self._ask("Answer with one word: ready")
        if isinstance(first, Fault):
            yield Ability("answer", False, first.message, "codenav doctor, without --probe")
            return
        yield Ability("answer", True, f"{first.seconds:.1f} s: {_shown(first)}")
        checks: dict[str, Callable[[], Ability | str]] = {
            "streaming": self._streaming, "token counts": self._counts, "system message": self._system,
            "stop": self._stop, "temperature 0": self._steady, "seed": self._seed, "grammar": self._grammar,
            "JSON schema": self._schema, "tools": self._tools, "python block": self._block,
            "prompt cache": self._cache, "speed": self._speed, "context": self._context,
        }  # fmt: skip
        for name, check in checks.items():
            try:
                found = check()
            except _Refused as refused:
                found = Ability(name, False, refused.fault.message, _HINTS.get(name, ""))
            except CodeNavError as error:
                found = Ability(name, False, str(error), error.hint)
            yield Ability(name, True, found) if isinstance(found, str) else found

    def _streaming(self) -> Ability | str:
        asked = self._asked("Count from 1 to 9.", stream=True)
        if asked.pieces > 1:
            return f"{asked.pieces} pieces"
        return Ability("streaming", False, "the answer comes as a whole", _HINTS["streaming"])

    def _counts(self) -> Ability | str:
        asked = self._asked("Count from 1 to 3.", stream=True, stream_options={"include_usage": True})
        if asked.answer.input_tokens and asked.answer.output_tokens:
            return f"{asked.answer.input_tokens} read, {asked.answer.output_tokens} written"
        return Ability("token counts", False, "not told in a stream", _HINTS["token counts"])

    def _system(self) -> str:
        asked = self._asked("Which colour?", system="Answer every question with the one word BLUE.")
        obeyed = "and obeyed" if "blue" in asked.answer.text.lower() else "though not obeyed"
        return f"accepted, {obeyed}: {_shown(asked)}"

    def _stop(self) -> Ability | str:
        asked = self._asked("Write the numbers from 1 to 9, with commas between.", stop=["5"])
        if "5" in asked.answer.text:
            return Ability("stop", False, f"goes on after it: {_shown(asked)}", _HINTS["stop"])
        return _shown(asked)

    def _steady(self) -> Ability | str:
        if not self.profile.temperature:
            return Ability("temperature 0", False, "refused", "runs leave it out")
        one, two = (self._asked("Name three animals.").answer.text for _ in range(2))
        return "the same answer twice" if one == two else Ability("temperature 0", False, "two answers differ")

    def _seed(self) -> Ability | str:
        asked = "Invent a name for a ship, and say why in one sentence."
        one, two, other = (self._asked(asked, temperature=1.0, seed=seed).answer.text for seed in (7, 7, 8))
        if one != two:
            return Ability("seed", False, "two answers with one seed differ", _HINTS["seed"])
        return "the same seed, the same answer" + ("; another, too" if other == one else "; another, another")

    def _grammar(self) -> Ability | str:
        asked = self._asked("Toss a coin and tell a story about it.", grammar=_GRAMMAR)
        held = asked.answer.text.strip() in ("heads", "tails")
        self.profile.grammar = held
        return "holds (GBNF)" if held else Ability("grammar", False, f"ignored: {_shown(asked)}", _HINTS["grammar"])

    def _schema(self) -> Ability | str:
        form = {"type": "json_schema", "json_schema": {"name": "person", "schema": _SCHEMA, "strict": True}}
        asked = self._asked("Ann is forty years old.", response_format=form)
        try:
            return f"holds: age {json.loads(asked.answer.text)['age']}"
        except (ValueError, KeyError, TypeError):
            return Ability("JSON schema", False, f"ignored: {_shown(asked)}")

    def _tools(self) -> Ability | str:
        asked = self._asked(
            "Print the sum of 2 and 3 with Python.", tools=[tool_of("code", "Runs Python.")], **ONE_CALL
        )
        self.profile.tools = asked.answer.called
        if asked.answer.called:
            return f"called as asked: {_shown(asked)}"
        return Ability("tools", False, f"no call: {_shown(asked)}", _HINTS["tools"])

    def _block(self) -> Ability | str:
        asked = self._asked("Write Python code that prints the sum of 2 and 3, in one ```python block, nothing else.")
        found = re.findall(r"```python\n(.*?)```", asked.answer.text, re.DOTALL)
        try:
            ast.parse(found[0])
            return f"one, as asked: {found[0].strip()[:60]!r}"
        except (IndexError, SyntaxError, ValueError):
            return Ability("python block", False, f"not as asked: {_shown(asked)}", _HINTS["python block"])

    def _cache(self) -> str:
        asked = f"{time.time_ns()}\n{_TEXT}\nHow many boats are in line 2? Answer with a number."
        one, two = (self._asked(asked, stream=True) for _ in range(2))
        self._reading = _tokens(one) / max(one.first, 1e-3)
        reused = f"; {two.answer.cached_tokens} tokens of it from the cache" if two.answer.cached_tokens else ""
        return (
            f"a prompt of {_tokens(one)} tokens: {one.first:.1f} s to the first word, again {two.first:.1f} s{reused}"
        )

    def _speed(self) -> str:
        wrote = self._asked("Write a story about a farm.", stream=True, stream_options={"include_usage": True})
        tokens, seconds = wrote.answer.output_tokens or wrote.pieces, max(wrote.seconds - wrote.first, 1e-3)
        return f"reads {self._reading:,.0f}, writes {tokens / seconds:,.0f} tokens a second"

    def _context(self) -> Ability | str:
        told = self._traits.context
        if told is None:
            return Ability("context", False, "the server does not tell it", "docs/models.md has what each server does")
        if told > LONGEST_TRIED:
            return f"{told:,} tokens; a longer prompt was not tried"
        answer = self._ask(" ".join(itertools.repeat("word", told + told // 8)))
        if isinstance(answer, Fault) and answer.kind is Kind.OVERFLOW:
            self.profile.context = answer.limit or told
            return f"{told:,} tokens; a longer prompt is refused" + (", with the limit" if answer.limit else "")
        said = answer.message if isinstance(answer, Fault) else "a longer prompt is cut without an error"
        return Ability(
            "context", False, f"{told:,} tokens; {said}", "keep prompts short, or raise the server's context"
        )

    def _asked(self, text: str, **parameters: Any) -> _Asked:
        found = self._ask(text, **parameters)
        if isinstance(found, Fault):
            raise _Refused(found)
        return found

    def _ask(self, text: str, *, system: str = "", **parameters: Any) -> _Asked | Fault:
        """The answer to one request; what is beside the point of its check is left out where it is refused."""
        messages = [{"role": "system", "content": system}] if system else []
        limit = self.profile.max_tokens_name
        chosen = {"temperature": 0.0, **({limit: SHORT} if limit else {}), **parameters}
        chosen = {name: value for name, value in chosen.items() if name not in BESIDE or getattr(self.profile, name)}
        began, arrived = time.monotonic(), []

        def hear(heard: ModelReply) -> None:
            arrived.append(time.monotonic() - began)

        body = self._transport.chat(
            {"model": self._name, "messages": [*messages, {"role": "user", "content": text}], **chosen},
            sent=list(chosen),
            seconds=SECONDS,
            into=Stream(),
            hear=hear,
        )
        if isinstance(body, Fault):
            again = self.profile.learn(body) and body.parameter in (*BESIDE, limit)
            return self._ask(text, system=system, **parameters) if again else body
        took = time.monotonic() - began
        return _Asked(read_answer(body), arrived[0] if arrived else took, took, len(arrived))


class _Refused(Exception):
    """A request of a check that was not answered."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


_HINTS = {
    "streaming": "runs wait for whole answers",
    "token counts": "runs estimate them",
    "system message": "runs put it into the first user message",
    "stop": "runs cut answers off by themselves",
    "seed": "runs cannot be repeated to the word",
    "tools": "runs read actions as text",
    "grammar": "llama.cpp's server has it; runs do without",
    "python block": "a coder model, or one with more weights, may",
}
"""What a run does without an ability."""


def _shown(asked: _Asked) -> str:
    text = " ".join((asked.answer.text or asked.answer.reasoning).split())
    return repr(text[:60] + ("…" if len(text) > 60 else ""))


def _tokens(asked: _Asked) -> int:
    """Tokens of the long prompt; an estimate by its words where the server does not count."""
    return asked.answer.input_tokens or len(_TEXT.split()) * 4 // 3
