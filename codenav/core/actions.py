"""The actions of an agent, the observations that answer them, and the step that holds both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from codenav.core.blocks import SearchResult
from codenav.core.execution import CheckReport, Execution, Judged, ToolCall, Verdict
from codenav.core.system.stored import Stored
from codenav.core.system.terminal_text import shortened
from codenav.core.usage import Usage


@dataclass(frozen=True)
class Action(Stored):
    """An action of the agent. An environment answers the actions of one `type`.

    A new kind of action is a subclass with a default `type` of its own.
    """

    content: str
    thought: str = ""
    type: str = ""

    stored: ClassVar[Sequence[str]] = ("type", "content")
    """The step stores the thought beside it."""

    def to_xml(self) -> str:
        """The action as a model writes it: the form that prompts show and that the history keeps."""
        thought = f"<thought>{self.thought}</thought>\n" if self.thought else ""
        return f"{thought}<type>{self.type}</type>\n<content>\n{self.content}\n</content>"


@dataclass(frozen=True)
class Search(Action):
    """Search for blocks: one query per line."""

    type: str = "search"


@dataclass(frozen=True)
class Code(Action):
    """Run Python in the sandbox, where the state of earlier steps persists."""

    type: str = "code"
    drafts: Sequence[str] = ()
    """Other scripts for the same step. Each is run from the same state, and the result that most give is kept.

    The record keeps them with what they printed, in the observation.
    """


@dataclass(frozen=True)
class CodeSummary(Action):
    """The steps that mattered, as one script that runs by itself."""

    type: str = "code_summary"


@dataclass(frozen=True)
class Ask(Action):
    """A question to the person who made the request."""

    type: str = "ask"


@dataclass(frozen=True)
class Done(Action):
    """The answer to the request; ends the episode."""

    type: str = "done"
    agreement: str = ""
    """How many of the drafts gave what it rests on: `2 of 3`. Empty if there were none."""


@dataclass(frozen=True)
class Unreadable(Action):
    """An answer of the model without a valid action; `content` is its text."""

    type: str = "invalid"


@dataclass(frozen=True)
class Observation:
    """The answer to an action. `text` is shown to the model, and already bounded."""

    text: str
    note: str = field(default="", kw_only=True)
    """A remark of codenav's own, shown below the text."""

    @property
    def shown(self) -> str:
        """The text with the remark."""
        return f"{self.text}\n\n{self.note}" if self.note else self.text

    def to_data(self) -> Any:
        """The stored form, without `text`: JSON types only."""
        return {}

    @property
    def ok(self) -> bool:
        """True if the action succeeded."""
        return True

    @property
    def ends(self) -> bool:
        """True if the episode is over."""
        return False


@dataclass(frozen=True)
class Offer:
    """A callable as a small model is shown it: ready to be imported and called."""

    import_line: str
    call: str
    """The expression that calls it, with its parameters: `countries.get(*, default=None, **kw)`."""
    about: Sequence[str] = ()
    """The first line of its docstring, then lines of it that share words with the request."""
    example: str = ""
    """A real call of it in tests, examples or documents, without its literals; empty if `call` shows as much."""
    block_id: str = ""
    """The block that it was made for."""
    note: str = ""
    """What the imported name is, if it is neither a function nor a class: `a ready Levenshtein`."""

    @property
    def name(self) -> str:
        """The name that the import line binds."""
        return self.import_line.replace(",", " ").split()[-1].split(".")[0]

    def __str__(self) -> str:
        first = f"{self.import_line}  # {self.note}" if self.note else self.import_line
        called = [f"# {self.call}"] if self.call != self.name else []
        lines = [*called, *(f"#   {line}" for line in self.about)]
        return "\n".join([first, *lines, *([f"#   as in: {self.example}"] if self.example else [])])


@dataclass(frozen=True)
class SearchObservation(Observation):
    """The answer to a search: one result per query, with only the hits that were shown to the model."""

    results: Sequence[SearchResult] = ()
    offers: Sequence[Offer] = ()
    """The callables in `text`, if that is written for a small model."""

    def to_data(self) -> list[dict[str, Any]]:
        """The list of search documents, without the sources and docstrings of the hits: `text` has what was shown."""
        documents = [result.to_dict() for result in self.results]
        for hit in (hit for document in documents for hit in document["hits"]):
            hit["text"] = hit["docstring"] = ""
        return documents


DRAFT_CHARACTERS = 500
"""Characters kept in a record of what a draft printed, or of its error."""


@dataclass(frozen=True)
class Draft(Stored):
    """A script for a step that was run beside others."""

    code: str
    outcome: str
    shown: str
    """What it printed, or its error; bounded."""

    @classmethod
    def of(cls, code: str, execution: Execution) -> Draft:
        """The draft with what it gave."""
        error = f"{execution.error.type}: {execution.error.message}" if execution.error else ""
        return cls(code, execution.outcome.value, shortened(error or execution.stdout.strip(), DRAFT_CHARACTERS))


@dataclass(frozen=True)
class CodeObservation(Observation):
    """The result of a code step, with the reports of the checkers and the calls to tools that the code made."""

    execution: Execution = field(kw_only=True)
    checks: Sequence[CheckReport] = ()
    calls: Sequence[ToolCall] = ()
    """In the order in which they ended."""
    drafts: Sequence[Draft] = ()
    """What was run for this step from the same state, if that was more than one script."""
    chosen: str = ""
    """The code that the result is of, if it is not that of the action: one of its drafts, or a person's."""
    agreement: str = ""
    """How many of the drafts gave this result: `2 of 3`. Empty if there was one only."""
    hint: str = ""
    """What may mend the error of a step that failed."""

    @property
    def ok(self) -> bool:
        """True if the code ran to its end."""
        return self.execution.ok

    def to_data(self) -> dict[str, Any]:
        """The document of the execution, with `checks` and `calls`."""
        return {
            **self.execution.to_dict(),
            "checks": [report.to_dict() for report in self.checks],
            "calls": [call.to_dict() for call in self.calls],
            **(
                {"drafts": [draft.to_dict() for draft in self.drafts], "agreement": self.agreement}
                if self.drafts
                else {}
            ),
        }


@dataclass(frozen=True)
class SummaryObservation(Observation):
    """The verdict on a code summary, which was replayed in a fresh sandbox."""

    code: str = ""
    verdict: Verdict = Verdict(False, "not replayed")

    @property
    def ok(self) -> bool:
        """True if it was verified."""
        return self.verdict.verified

    def to_data(self) -> dict[str, Any]:
        """The code and the verdict."""
        return {"code": self.code, **self.verdict.to_dict()}


@dataclass(frozen=True)
class AskObservation(Observation):
    """The answer of a person; `answered` is False if nobody was there."""

    answered: bool = False

    def to_data(self) -> dict[str, Any]:
        """The field `answered`; the answer itself is the text."""
        return {"answered": self.answered}


@dataclass(frozen=True)
class DoneObservation(Observation):
    """The end of an episode; `text` is the answer."""

    gave_up: bool = False
    """True if the agent could not do the task; `text` is then the reason."""
    agreement: str = ""
    """As in `Done`."""

    @property
    def ok(self) -> bool:
        """True unless the agent gave up."""
        return not self.gave_up

    @property
    def ends(self) -> bool:
        """Always True."""
        return True

    def to_data(self) -> dict[str, bool]:
        """The field `gave_up`; the answer itself is the text."""
        return {"gave_up": self.gave_up}


@dataclass(frozen=True)
class InvalidAction(Observation):
    """An action that was not carried out: `text` names the rule of the format that it breaks, and the right form.

    It may be right and yet not approved by a person, or not accepted by a reviewer, for the reason in `text`.
    """

    rule: str = ""
    """`no_action`, `unknown_type`, `empty_content`, `truncated`, `not_approved` or `not_accepted`."""

    @property
    def ok(self) -> bool:
        """Always False."""
        return False

    def to_data(self) -> dict[str, str]:
        """The broken rule."""
        return {"rule": self.rule}


@dataclass(frozen=True)
class RecordedObservation(Observation):
    """An observation read back from a record."""

    data: Any = None

    @property
    def ok(self) -> bool:
        """False for an `InvalidAction`."""
        return not (isinstance(self.data, Mapping) and "rule" in self.data)

    def to_data(self) -> Any:
        """The observation as recorded."""
        return self.data


@dataclass(frozen=True)
class Turn:
    """The decision of an agent: an action, or the reason why there is none."""

    action: Action
    invalid: InvalidAction | None = None
    """Set if the answer held no valid action; `action` is then `Unreadable`."""
    usage: Usage = Usage()
    response: str = ""
    """The whole text of the model."""
    reasoning: str = ""
    handover: str = ""
    """What the model is shown of older steps from now on, if they no longer fit."""


@dataclass(frozen=True)
class Step(Stored):
    """An action with its observation."""

    number: int
    """The number of the step, 1-based."""
    action: Action
    observation: Observation
    seconds: float = 0.0
    """Seconds of the model call and the action together."""
    usage: Usage = Usage()
    response: str = ""
    reasoning: str = ""
    handover: str = ""
    """As in `Turn`."""

    def to_dict(self) -> dict[str, Any]:
        """The stored form."""
        return {
            "number": self.number,
            "thought": self.action.thought,
            "action": self.action.to_dict(),
            "observation": self.observation.to_data(),
            "shown": self.observation.shown,
            "seconds": round(self.seconds, 3),
            "usage": self.usage.to_dict(),
            "response": self.response,
            "reasoning": self.reasoning,
            **({"handover": self.handover} if self.handover else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Step:
        """The inverse of `to_dict`: code steps get their `Execution` back, others a `RecordedObservation`."""
        kind = data["action"]["type"]
        stored, shown = data["observation"], data["shown"]
        observation: Observation = RecordedObservation(shown, stored)
        if kind == "code" and "outcome" in stored:
            observation = CodeObservation(
                shown,
                execution=Execution.from_dict(stored),
                checks=tuple(CheckReport.from_dict(item) for item in stored["checks"]),
                calls=tuple(ToolCall.from_dict(item) for item in stored.get("calls", ())),
                drafts=tuple(Draft.from_dict(item) for item in stored.get("drafts", ())),
                agreement=stored.get("agreement", ""),
            )
        return cls(
            number=data["number"],
            action=action_from(data["action"], thought=data["thought"]),
            observation=observation,
            seconds=data["seconds"],
            usage=Usage.from_dict(data["usage"]),
            response=data["response"],
            reasoning=data["reasoning"],
            handover=data.get("handover", ""),
        )


_BY_TYPE: dict[str, type[Action]] = {item.type: item for item in (Search, Code, CodeSummary, Ask, Done, Unreadable)}


def action_from(data: Mapping[str, Any], *, thought: str = "") -> Action:
    """The inverse of `Action.to_dict`; an unknown type gives a plain `Action`."""
    kind = data["type"]
    return _BY_TYPE.get(kind, Action)(data["content"], thought, kind)


@dataclass(frozen=True)
class Summary(Judged):
    """The code summary of an episode: kept as reusable only if `verified`."""

    code: str = ""
    unsupported: tuple[str, ...] = ()
    """The numbers and names of the answer that nothing supports."""

    stored: ClassVar[Sequence[str]] = (
        "code", "verified", "reason", "verdict", "outcome", "compared", "missing", "incidental", "answer_supported",
        "unsupported",
    )  # fmt: skip

    @classmethod
    def of(cls, code: str, judged: Judged) -> Summary:
        """A summary with the verdict on it."""
        return cls(**{item.name: getattr(judged, item.name) for item in fields(Judged)}, code=code)
