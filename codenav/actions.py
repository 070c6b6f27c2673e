"""What an agent can do, what it gets back, and the step that holds both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from codenav.blocks import SearchResult
from codenav.execution import CheckReport, Execution, Verdict
from codenav.text import shortened
from codenav.usage import Usage


@dataclass(frozen=True)
class Action:
    """One thing that the agent does. An environment answers the actions of one `type`.

    A new kind of action is a subclass with a default `type` of its own.
    """

    content: str
    thought: str = ""
    type: str = ""

    def to_dict(self) -> dict[str, str]:
        """The stored form, without the thought: that stands beside it in the step."""
        return {"type": self.type, "content": self.content}

    def to_xml(self) -> str:
        """The action as a model writes it: the form that prompts show and that the history keeps."""
        thought = f"<thought>{self.thought}</thought>\n" if self.thought else ""
        return f"{thought}<type>{self.type}</type>\n<content>\n{self.content}\n</content>"


@dataclass(frozen=True)
class Search(Action):
    """Look for blocks: one query a line."""

    type: str = "search"


@dataclass(frozen=True)
class Code(Action):
    """Run Python in the sandbox; the state of earlier steps is there."""

    type: str = "code"


TRY_CHARACTERS = 500
"""Kept in a record of the code of a try, and of what came of it: a call with its imports has under 200."""


@dataclass(frozen=True)
class Try(Code):
    """Code that an agent runs to find something out, and whose result it may drop.

    It is answered as `Code` is, and is no step: no limit counts it, no script or notebook holds it, and the record
    tells it in short.
    """

    type: str = "try"

    def to_dict(self) -> dict[str, str]:
        """The stored form, bounded."""
        return {"type": self.type, "content": shortened(self.content, TRY_CHARACTERS)}


@dataclass(frozen=True)
class Question(Try):
    """A try that only asks the interpreter what is there; `thought` is the question in words."""

    type: str = "question"

    def to_dict(self) -> dict[str, str]:
        """The stored form: the words, not the code that asks."""
        return {"type": self.type, "content": shortened(self.thought or self.content, TRY_CHARACTERS)}


@dataclass(frozen=True)
class CodeSummary(Action):
    """The steps that mattered as one script that runs by itself."""

    type: str = "code_summary"


@dataclass(frozen=True)
class Ask(Action):
    """A question to the person who made the request."""

    type: str = "ask"


@dataclass(frozen=True)
class Guess:
    """How sure an answer is that was chosen among others, and what was not used for it."""

    chance: float
    """How likely it is right, 0 to 1, as a fitted model says."""
    others: Sequence[tuple[str, float]] = ()
    """The next best answers that differ, each in one line with its chance on the same scale; best first."""
    unused: Sequence[str] = ()
    """Pieces of the request that nothing was done with, as they stand there."""

    @property
    def told(self) -> str:
        """One line: `a guess: 62 % likely; next best: 33 (14 %); unused: "from 0 to 33"`."""
        told = [f"a guess: {100 * self.chance:.0f} % likely"]
        if self.others:
            told.append("next best: " + ", ".join(f"{answer} ({100 * chance:.0f} %)" for answer, chance in self.others))
        if self.unused:
            told.append("unused: " + ", ".join(f'"{piece}"' for piece in self.unused))
        return "; ".join(told)

    def to_dict(self) -> dict[str, Any]:
        """The stored form."""
        return {
            "chance": round(self.chance, 3),
            "others": [{"answer": answer, "chance": round(chance, 3)} for answer, chance in self.others],
            "unused": list(self.unused),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Guess:
        """The inverse of `to_dict`."""
        others = tuple((one["answer"], one["chance"]) for one in data["others"])
        return cls(data["chance"], others, tuple(data["unused"]))


@dataclass(frozen=True)
class Done(Action):
    """The answer to the request; ends the episode."""

    type: str = "done"
    guess: Guess | None = None
    """Set where the answer was chosen by its chance."""
    hint: str = ""
    """What a person may do next, where the agent gives up."""


@dataclass(frozen=True)
class Unreadable(Action):
    """An answer of the model that holds no valid action; `content` is what it wrote."""

    type: str = "invalid"


@dataclass(frozen=True)
class Observation:
    """What comes back for an action. `text` is what the model is shown, already bounded."""

    text: str

    def to_data(self) -> Any:
        """The stored form, without `text`: JSON types only."""
        return {}

    @property
    def ok(self) -> bool:
        """Whether the action did what it was meant to do."""
        return True

    @property
    def ends(self) -> bool:
        """Whether the episode is over."""
        return False


@dataclass(frozen=True)
class SearchObservation(Observation):
    """What a search showed: a result per query, holding just the hits that the model was shown."""

    results: Sequence[SearchResult] = ()

    def to_data(self) -> list[dict[str, Any]]:
        """A list of search documents, without the sources and docstrings of the hits: `text` has what was shown."""
        documents = [result.to_dict() for result in self.results]
        for hit in (hit for document in documents for hit in document["hits"]):
            hit["text"] = hit["docstring"] = ""
        return documents


@dataclass(frozen=True)
class CodeObservation(Observation):
    """What a step of code did, and what the checkers say of it."""

    execution: Execution = field(kw_only=True)
    checks: Sequence[CheckReport] = ()

    @property
    def ok(self) -> bool:
        """Whether the code ran to its end."""
        return self.execution.ok

    def to_data(self) -> dict[str, Any]:
        """The execution's document with `checks`."""
        return {**self.execution.to_dict(), "checks": [report.to_dict() for report in self.checks]}


@dataclass(frozen=True)
class SummaryObservation(Observation):
    """Whether a code summary replayed in a fresh sandbox."""

    code: str = ""
    verdict: Verdict = Verdict(False, "not replayed")

    @property
    def ok(self) -> bool:
        """Whether it was verified."""
        return self.verdict.verified

    def to_data(self) -> dict[str, Any]:
        """Code and verdict."""
        return {"code": self.code, **self.verdict.to_dict()}


@dataclass(frozen=True)
class AskObservation(Observation):
    """What the person answered; `answered` is False where nobody was there."""

    answered: bool = False

    def to_data(self) -> dict[str, Any]:
        """Whether somebody answered; the answer itself is the text."""
        return {"answered": self.answered}


@dataclass(frozen=True)
class DoneObservation(Observation):
    """The end of an episode; `text` is the answer."""

    gave_up: bool = False
    """The agent says that it could not do it; `text` is then why."""
    guess: Guess | None = None
    """As in `Done`. It stands in the record beside the answer, not in the step."""
    hint: str = ""
    """The same: where it gave up, what a person may do next."""

    @property
    def ok(self) -> bool:
        """Whether the agent says that the request is answered."""
        return not self.gave_up

    @property
    def ends(self) -> bool:
        """Always."""
        return True

    def to_data(self) -> dict[str, bool]:
        """Whether the agent gave up; the answer itself is the text."""
        return {"gave_up": self.gave_up}


@dataclass(frozen=True)
class InvalidAction(Observation):
    """The model broke a rule of the action format: `text` names it and shows the right form."""

    rule: str = ""
    """One of a closed list: `no_action`, `unknown_type`, `empty_content`, `truncated`."""

    @property
    def ok(self) -> bool:
        """Never."""
        return False

    def to_data(self) -> dict[str, str]:
        """The rule that was broken."""
        return {"rule": self.rule}


@dataclass(frozen=True)
class RecordedObservation(Observation):
    """An observation read back from a record."""

    data: Any = None

    def to_data(self) -> Any:
        """As recorded."""
        return self.data


@dataclass(frozen=True)
class Turn:
    """What an agent decided: an action, or why there is none."""

    action: Action
    invalid: InvalidAction | None = None
    """Set where the answer held no valid action; `action` is then `Unreadable`."""
    usage: Usage = Usage()
    response: str = ""
    """What the model wrote, whole."""
    reasoning: str = ""


@dataclass(frozen=True)
class Step:
    """One action with its observation."""

    number: int
    """1-based."""
    action: Action
    observation: Observation
    seconds: float = 0.0
    """Model call and action together."""
    usage: Usage = Usage()
    response: str = ""
    reasoning: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The stored form."""
        return {
            "number": self.number,
            "thought": self.action.thought,
            "action": self.action.to_dict(),
            "observation": self.observation.to_data(),
            "shown": self.observation.text,
            "seconds": round(self.seconds, 3),
            "usage": self.usage.to_dict(),
            "response": self.response,
            "reasoning": self.reasoning,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Step:
        """The inverse of `to_dict`: code steps get their `Execution` back, the rest a `RecordedObservation`."""
        kind = data["action"]["type"]
        stored, shown = data["observation"], data["shown"]
        observation: Observation
        if kind == "code" and "outcome" in stored:
            checks = tuple(CheckReport.from_dict(item) for item in stored["checks"])
            observation = CodeObservation(shown, execution=Execution.from_dict(stored), checks=checks)
        else:
            observation = RecordedObservation(shown, stored)
        return cls(
            number=data["number"],
            action=action_from(data["action"], thought=data["thought"]),
            observation=observation,
            seconds=data["seconds"],
            usage=Usage.from_dict(data["usage"]),
            response=data["response"],
            reasoning=data["reasoning"],
        )


_BY_TYPE: dict[str, type[Action]] = {
    item.type: item for item in (Search, Code, Try, Question, CodeSummary, Ask, Done, Unreadable)
}


def action_from(data: Mapping[str, Any], *, thought: str = "") -> Action:
    """The inverse of `Action.to_dict`; of an unknown type a plain `Action`."""
    kind = data["type"]
    return _BY_TYPE.get(kind, Action)(data["content"], thought, kind)


@dataclass(frozen=True)
class Summary:
    """The code summary of an episode: kept as reusable only when `verified`."""

    code: str = ""
    verified: bool = False
    reason: str = ""
    """Why it is not verified; empty when it is."""
    compared: tuple[str, ...] = ()
    """What was compared with the replay and agrees: names of variables and files, `the last output`."""
    missing: tuple[str, ...] = ()
    """What the session made and the replay did not; not empty where the verdict is `partly`."""
    answer_supported: bool | None = None
    """Whether the replay holds the numbers and names of the answer; None: no answer, or nothing was verified."""
    unsupported: tuple[str, ...] = ()
    """The numbers and names of the answer that nothing holds."""

    @property
    def verdict(self) -> str:
        """`verified`, `partly` or `not verified`: see `Verdict.verdict`."""
        return Verdict(self.verified, missing=self.missing).verdict

    @property
    def told(self) -> str:
        """The verdict in words, as behind `summary: ` on stdout."""
        if not self.verified:
            return f"{self.verdict}: {self.reason}" if self.reason else self.verdict
        return "verified, but the answer is not in its output" if self.answer_supported is False else "verified"

    @property
    def evidence(self) -> str:
        """What was compared, in one line; empty where nothing was."""
        shown = [*self.compared[:6], *([f"{len(self.compared) - 6} more"] if len(self.compared) > 6 else [])]
        return f"compared with a replay: {', '.join(shown)}" if shown else ""

    def to_dict(self) -> dict[str, Any]:
        """The stored form."""
        return {
            "code": self.code,
            "verified": self.verified,
            "reason": self.reason,
            "verdict": self.verdict,
            "compared": list(self.compared),
            "missing": list(self.missing),
            "answer_supported": self.answer_supported,
            "unsupported": list(self.unsupported),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Summary:
        """The inverse of `to_dict`; older records have the first three keys only."""
        return cls(
            code=data["code"],
            verified=data["verified"],
            reason=data["reason"],
            compared=tuple(data.get("compared", ())),
            missing=tuple(data.get("missing", ())),
            answer_supported=data.get("answer_supported"),
            unsupported=tuple(data.get("unsupported", ())),
        )
