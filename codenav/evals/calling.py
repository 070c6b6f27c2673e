"""The agent of tool-use: a JSON call of a registered tool a turn, or the answer; the baseline of the CodeNav paper."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from keyword import iskeyword
from typing import Any

from codenav.agents.small.agent import ANSWER_TOKENS, NEWEST, TURNS, WARMER
from codenav.agents.small.answers import printed_value
from codenav.core.actions import Code, CodeObservation, Done, InvalidAction, Observation, Step, Turn, Unreadable
from codenav.core.errors import ContextOverflow
from codenav.core.messages import Completion, Message, Sampling
from codenav.core.options import near_one
from codenav.core.protocols import Environment, Model
from codenav.core.system.bounded import Deadline
from codenav.core.system.terminal_text import shortened
from codenav.core.usage import Usage
from codenav.evals.task import Tool

RULES = """\
You answer a request with tools. Each of your messages is exactly one JSON object, either
{"tool": "NAME", "arguments": {"NAME": VALUE}}
to call one tool, whose result comes back to you; arguments may also be a list, in the order of the tool's own; or
{"answer": VALUE}
to end with the answer. In arguments "<result-1>" stands for the first result, and "<result-1>.text" for the value of
its key "text"; they are for results that cannot be written down, such as images.
"""
EXAMPLE = (
    Message("user", "Request: Until which day is the library card of Ada valid?"),
    Message("assistant", '{"tool": "card_of", "arguments": {"reader": "Ada"}}'),
    Message("user", "Result 1:\n{'number': 71, 'until': '2031-05-04'}"),
    Message("assistant", '{"answer": "2031-05-04"}'),
)
"""The worked example of the small profile, in the form of this agent."""
RESULT = 4000
"""Characters kept of a result: a page of M3ToolEval has 1,500."""
_REFERENCE = re.compile(r"<result-(\d+)>((?:\.\w+)*)")
_JSON = r"""
object ::= "{" (string ": " value (", " string ": " value)*)? "}"
array ::= "[" (value (", " value)*)? "]"
value ::= object | array | string | number | "true" | "false" | "null"
string ::= "\"" ([^"\\\n] | "\\" ["\\/bfnrtu])* "\""
number ::= "-"? [0-9]+ ("." [0-9]+)?
answer ::= "{\"answer\": " value "}"
call ::= "{\"tool\": \"" tool "\", \"arguments\": " (object | array) "}"
"""
NO_OBJECT = 'That was no JSON object of the two forms: {"tool": "NAME", "arguments": {…}} or {"answer": VALUE}.'


class CallingAgent:
    """The agent of tool-use, in one conversation at a time. What it calls runs in the sandbox as one line of code.

    `small`: as many turns as the agent of the small profile has.
    """

    def __init__(self, model: Model, tools: Sequence[Tool], *, small: bool) -> None:
        self.model = model
        self._tools = {tool.name: tool for tool in tools}
        self._turns = TURNS if small else 0
        self._messages: list[Message] = []
        self._newest = 0
        """The number of the newest steps that fit into the context; 0 while all do."""

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    def brief(self, request: str, *, description: str, environments: Sequence[Environment]) -> str:
        """Begin a request; return the system prompt, which is the same for all requests of a benchmark."""
        prompt = f"{RULES}\n{description}"
        self._messages = [Message("system", prompt), *EXAMPLE, Message("user", f"Request: {request}")]
        self._newest = 0
        return prompt

    def act(self, steps: Sequence[Step], *, timeout: float | None = None) -> Turn:
        """The next call or answer. Raises as the model does."""
        ran = [step.observation for step in steps if isinstance(step.observation, CodeObservation)]
        if self._turns and len(steps) >= self._turns:
            value = printed_value([seen.execution.stdout for seen in ran if seen.ok])
            return Turn(Done(value or "FAILED: the model found no call that works"))
        deadline = Deadline(float("inf") if timeout is None else timeout)
        completion = self._drawn(steps, deadline, answers=any(seen.ok for seen in ran))
        if steps and completion.text == steps[-1].response and not steps[-1].observation.ok:
            # The same again gives the same again.
            again = self._drawn(steps, deadline, answers=any(seen.ok for seen in ran), warm=True)
            completion = Completion(again.text, completion.usage + again.usage, truncated=again.truncated)
        text, usage = completion.text, completion.usage
        found = read(text)
        if found is None:
            return _invalid(NO_OBJECT, text, usage)
        if "answer" in found:
            answer = found["answer"]
            return Turn(Done(answer if isinstance(answer, str) else repr(answer)), usage=usage, response=text)
        tool = self._tools.get(str(found["tool"]))
        if tool is None:
            near = near_one(str(found["tool"]), list(self._tools))
            return _invalid(f"There is no tool {found['tool']!r}: {near}.", text, usage)
        return Turn(Code(self._code(tool, found.get("arguments"), steps)), usage=usage, response=text)

    def _code(self, tool: Tool, arguments: Any, steps: Sequence[Step]) -> str:
        """The call as code, with the lines that it needs before it unless they ran already."""
        number = 1 + sum(isinstance(step.action, Code) for step in steps)
        ran = [step.action.content for step in steps if isinstance(step.action, Code) and step.observation.ok]
        named = arguments if isinstance(arguments, Mapping) else {}
        listed = arguments if isinstance(arguments, list) else []
        parts = [*map(written_value, listed), *(f"{name}={written_value(one)}" for name, one in named.items())]
        written = ", ".join(parts)
        if not all(name.isidentifier() and not iskeyword(name) for name in named):
            written = f"**{written_value(dict(named))}"
        call = f"result_{number} = {tool.call}({written})\nprint(result_{number})"
        needed = tool.imports and not any(code.startswith(f"{tool.imports}\n") for code in ran)
        return f"{tool.imports}\n{call}" if needed else call

    def _drawn(self, steps: Sequence[Step], deadline: Deadline, *, answers: bool, warm: bool = False) -> Completion:
        """The next message; as in the small profile it is no answer before a call has ended well."""
        names = " | ".join(json.dumps(json.dumps(name)[1:-1]) for name in self._tools)
        form = f"root ::= {'call | answer' if answers else 'call'}\ntool ::= {names}{_JSON}"
        temperature, seed = (WARMER, len(steps)) if warm or _unreadable(steps) else (0.0, None)
        left = None if deadline.left == float("inf") else deadline.left
        chosen = Sampling(temperature, seed, form, stop=(), max_tokens=ANSWER_TOKENS)
        try:
            return self.model.complete([*self._messages, *self._said(steps)], timeout=left, sampling=chosen)
        except ContextOverflow:
            if self._newest or len(steps) <= NEWEST:
                raise
            self._newest = NEWEST
            return self._drawn(steps, deadline, answers=answers, warm=warm)

    def _said(self, steps: Sequence[Step]) -> list[Message]:
        found, number = [], 0
        for step in steps:
            number += isinstance(step.action, Code)
            found.append([Message("assistant", step.response or "(nothing)"), Message("user", _told(step, number))])
        return [message for pair in found[-self._newest :] for message in pair]


def _unreadable(steps: Sequence[Step]) -> bool:
    return bool(steps) and isinstance(steps[-1].action, Unreadable)


def _invalid(said: str, text: str, usage: Usage) -> Turn:
    return Turn(Unreadable(text), InvalidAction(said, "no_action"), usage, text or "\n")


def _told(step: Step, number: int) -> str:
    """The result of a call as the model reads it."""
    seen: Observation = step.observation
    if not isinstance(seen, CodeObservation):
        return seen.shown
    ran = seen.execution
    if ran.ok:
        told = f"Result {number}:\n{shortened(ran.stdout.strip(), RESULT)}"
    else:
        said = f"{ran.error.type}: {ran.error.message}" if ran.error else ran.outcome.value
        told = f"The call failed: {shortened(said, RESULT)}"
    return "\n".join(filter(None, (told, seen.note)))


def read(text: str) -> dict[str, Any] | None:
    """The first JSON object in a text that names a tool or an answer; None if there is none."""
    for begin in (match.start() for match in re.finditer(r"\{", text)):
        try:
            found, _ = json.JSONDecoder().raw_decode(text, begin)
        except ValueError:
            continue
        if isinstance(found, dict) and ("tool" in found or "answer" in found):
            return found
    return None


def written_value(value: Any) -> str:
    """A value of JSON as Python writes it, with the earlier results that its texts refer to."""
    if isinstance(value, list):
        return f"[{', '.join(map(written_value, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {written_value(one)}' for key, one in value.items())}}}"
    if not isinstance(value, str) or not _REFERENCE.search(value):
        return repr(value)
    if whole := _REFERENCE.fullmatch(value):
        return _referred(whole)
    parts, last = [], 0
    for found in _REFERENCE.finditer(value):
        parts += [repr(value[last : found.start()]), f"str({_referred(found)})"]
        last = found.end()
    return " + ".join([*parts, repr(value[last:])])


def _referred(found: re.Match[str]) -> str:
    return f"result_{found[1]}" + "".join(f"[{key!r}]" for key in found[2].split(".")[1:])
