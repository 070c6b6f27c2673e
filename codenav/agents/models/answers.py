"""Parsing of a chat server's body: the text for the agent, the reasoning, the finish reason, and the token counts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from codenav.core.actions import Action, Ask, Code, CodeSummary, Done, Search

STOP = ("\n</content>", "</content>\n", "</action>")
"""The stop sequences, at the end of an action: what a model wrote after it would be an observation of its own making.

They only match at the beginning or end of a line, so that code that contains `</content>` is not cut in the middle.
"""

_OPENING = "<content>"
_CLOSING = "</content>"
_END = re.compile(r"\n[ \t]*</content>|</content>(?=\s*(?:\n|</action>|\Z))")

_COMPLETE = {"stop", "tool_calls", "function_call", "eos_token", "stop_sequence"}
"""Finish reasons of answers that the model ended itself: OpenAI's, and two of text-generation-inference."""

_LEADING = re.compile(r"\s*<(think|thinking|reasoning)>(.*?)(?:</\1>|\Z)", re.DOTALL)
_THOUGHT_END = re.compile(r"</(?:think|thinking|reasoning)>")

_TYPES = {
    **{action.type: action.type for action in (Search, Code, CodeSummary, Ask, Done)},
    "execute": Code.type,
    "python": Code.type,
    "final_answer": Done.type,
}
"""The actions meant by names of tools, for models that call a tool although they were asked for text."""


@dataclass(frozen=True)
class Answer:
    """The parsed body of a response."""

    text: str
    """The text for the agent, without reasoning and without anything after the first action."""
    reasoning: str
    finish: str
    """The finish reason; empty if the server gave none."""
    input_tokens: int
    """0 if the server did not report it."""
    output_tokens: int
    cached_tokens: int
    """The input tokens that the server had cached."""
    cut_by_stop: bool
    """True if the answer is empty, perhaps because a stop sequence was in the reasoning, or confuses the server."""

    @property
    def truncated(self) -> bool:
        """True if the model was stopped before it was done."""
        return self.finish not in _COMPLETE

    @property
    def spent_on_reasoning(self) -> bool:
        """True if the token limit was reached before the answer began."""
        return self.finish == "length" and not self.text.strip()


def read_answer(body: Mapping[str, Any]) -> Answer:
    """Read a body that has at least one choice; any other field that is missing or of a wrong type counts as absent."""
    choice = _mapping(body["choices"][0])
    message = _mapping(choice.get("message"))
    finish = _string(choice.get("finish_reason"))
    written, aside = parts(message.get("content"))
    field = _string(message.get("reasoning_content")) or _string(message.get("reasoning"))
    text, thought = split_reasoning(written)
    reasoning = "\n".join(part.strip() for part in (field, aside, thought) if part.strip())
    text = _first_action(text, mend=finish in _COMPLETE)
    if "<type>" not in text:
        text = _from_calls(message, beside=text) or text or _string(message.get("refusal"))
    usage = _mapping(body.get("usage"))
    return Answer(
        text=sound(text),
        reasoning=sound(reasoning),
        finish=finish,
        input_tokens=_count(usage.get("prompt_tokens")),
        output_tokens=_count(usage.get("completion_tokens")),
        cached_tokens=_cached(usage),
        cut_by_stop=finish == "stop" and not text.strip() and bool(reasoning or message.get("content") is None),
    )


def split_reasoning(text: str) -> tuple[str, str]:
    """Split a text into the answer and the reasoning in tags before it.

    If the opening tag is part of the prompt, only the closing one is in the text: it counts if an action follows, so
    that code that mentions the tag stays whole.
    """
    thoughts: list[str] = []
    while match := _LEADING.match(text):
        thoughts.append(match.group(2))
        text = text[match.end() :]
    for closing in reversed(list(_THOUGHT_END.finditer(text))):
        before, after = text[: closing.start()], text[closing.end() :]
        if "<type>" in after or _OPENING not in text:
            thoughts.append(before)
            text = after
            break
    return text.lstrip() if thoughts else text, "\n".join(thoughts)


def _first_action(text: str, *, mend: bool) -> str:
    """The text up to the end of its first action; `mend` restores a closing tag removed by a stop sequence."""
    start = text.find(_OPENING)
    if start < 0:
        return text
    start += len(_OPENING)
    end = _END.search(text, start)
    if end:
        return text[: end.end()]
    if not mend:
        return text
    for length in range(len(_CLOSING) - 1, 0, -1):
        if text.endswith(_CLOSING[:length], start):
            text = text[:-length]
            break
    line = "\n" if text.startswith("\n", start) and not text.endswith("\n") else ""
    return text + line + _CLOSING


def _from_calls(message: Mapping[str, Any], *, beside: str) -> str:
    """The first native tool call as the text of an action; as written if it is cut off or of an unknown tool."""
    calls = message.get("tool_calls")
    call = _mapping(calls[0]) if isinstance(calls, list) and calls else {}
    function = _mapping(call.get("function") or message.get("function_call"))
    name, arguments = _string(function.get("name")), function.get("arguments")
    if not name:
        return ""
    given = _arguments(arguments)
    if name not in _TYPES or given is None:
        return f"{beside}\n{name}({arguments})".strip()
    thought, content = _thought_and_content(given)
    return Action(content, (beside.strip() or thought), _TYPES[name]).to_xml()


def _arguments(arguments: object) -> object:
    """The arguments of a call: the parsed JSON, the text itself if it is not JSON, None if it is JSON cut off."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return None if arguments.lstrip().startswith(("{", "[", '"')) else arguments


def _thought_and_content(given: object) -> tuple[str, str]:
    if not isinstance(given, dict):
        return "", _joined(given)
    thought = _string(given.get("thought"))
    values = [given["content"]] if "content" in given else [value for key, value in given.items() if key != "thought"]
    return thought, "\n".join(filter(None, map(_joined, values)))


def _joined(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(item if isinstance(item, str) else json.dumps(item) for item in value)
    return "" if value is None else json.dumps(value)


def parts(content: object) -> tuple[str, str]:
    """The text and the reasoning of a message's content, which some servers send as a list of parts."""
    if not isinstance(content, list):
        return _string(content), ""
    parts = [_mapping(part) for part in content]
    asides: list[str] = []
    for part in parts:
        thinking = part.get("thinking")
        inner = thinking if isinstance(thinking, list) else [{"text": thinking}]
        asides += [_string(_mapping(item).get("text")) for item in inner]
    return "".join(_string(part.get("text")) for part in parts), "\n".join(filter(None, asides))


def sound(text: str) -> str:
    """The text without lone surrogates, which are possible in JSON but not in a file."""
    return text.encode("utf-8", "replace").decode()


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _cached(usage: Mapping[str, Any]) -> int:
    """The number of cached input tokens, from OpenAI's field or from those of Anthropic, which proxies pass on."""
    told = _count(_mapping(usage.get("prompt_tokens_details")).get("cached_tokens"))
    return told or sum(_count(usage.get(f"cache_{what}_input_tokens")) for what in ("read", "creation"))


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0
