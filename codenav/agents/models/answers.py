"""Parsing of a chat server's body: the text for the agent, the reasoning, the finish reason, and the token counts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from codenav.core.actions import Action

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

_DECODER = json.JSONDecoder(strict=False)
"""Models write line ends into strings."""

MOST_TOKENS = 10_000_000
"""Tokens of the longest context that a model is sold with: a count above it is no count."""
FEW_WORDS = 20
"""Words of an answer from which their number bounds that of its tokens: no tokenizer makes one token of two words."""


@dataclass(frozen=True)
class Answer:
    """The parsed body of a response."""

    text: str
    """The text for the agent, without reasoning and without anything after the first action."""
    reasoning: str
    finish: str
    """The finish reason; empty if the server gave none."""
    input_tokens: int
    """0 if the server did not report it, or reported what cannot be true."""
    output_tokens: int
    cached_tokens: int
    """The input tokens that the server had cached."""
    cut_by_stop: bool
    """True if the answer is empty, perhaps because a stop sequence was in the reasoning, or confuses the server."""
    called: bool
    """True if it is a call of a tool."""
    untrue: str
    """The part of the reported usage that cannot be true; usually empty."""

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
    call = _first_call(message)
    if "<type>" not in text:
        text = _from_call(call, beside=text) or text or _string(message.get("refusal"))
    untrue = _untrue(body.get("usage"), f"{written} {call.get('arguments') or ''}")
    usage = {} if untrue else _mapping(body.get("usage"))
    return Answer(
        text=sound(text),
        reasoning=sound(reasoning),
        finish=finish,
        input_tokens=_count(usage.get("prompt_tokens")),
        output_tokens=_count(usage.get("completion_tokens")),
        cached_tokens=_cached(usage),
        cut_by_stop=finish == "stop" and not text.strip() and bool(reasoning or message.get("content") is None),
        called=bool(call),
        untrue=untrue,
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


def tool_of(type_: str, about: str) -> dict[str, Any]:
    """The native tool for actions of a type, in the form of the protocol; a call of it is read by `read_answer`."""
    arguments = {
        "thought": {"type": "string", "description": "Why you take this step: one to three sentences."},
        "content": {"type": "string", "description": "What the action needs, as text."},
    }
    form = {"type": "object", "properties": arguments, "required": [*arguments], "additionalProperties": False}
    return {"type": "function", "function": {"name": type_, "description": about, "parameters": form}}


def _first_call(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first native tool call with a name, empty if there is none: a step has only one action."""
    calls = message.get("tool_calls")
    call = _mapping(calls[0]) if isinstance(calls, list) and calls else {}
    function = _mapping(call.get("function") or message.get("function_call"))
    return function if _string(function.get("name")) else {}


def _from_call(call: Mapping[str, Any], *, beside: str) -> str:
    """A native tool call as the text of an action, of any type; as written if it is cut off, empty if there is none."""
    if not call:
        return ""
    given = _arguments(call.get("arguments"))
    if given is None:
        return f"{beside}\n{call['name']}({call.get('arguments')})".strip()
    thought, content = _thought_and_content(given)
    return Action(content, (beside.strip() or thought), call["name"]).to_xml()


def _arguments(arguments: object) -> object:
    """The arguments of a call: the first JSON, the text itself if it is not JSON, None if it is JSON cut off.

    Some servers number all calls 0, so that those of a second call follow.
    """
    if not isinstance(arguments, str):
        return {} if arguments is None else arguments
    text = arguments.strip()
    try:
        return _DECODER.raw_decode(text)[0] if text.startswith("{") else _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None if text.startswith(("{", "[", '"')) else arguments


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


def _untrue(usage: object, wrote: str) -> str:
    """The part of a usage that cannot be true, as `completion_tokens: -3`; empty if it can, or is absent."""
    if not isinstance(usage, dict):
        return "" if usage is None else f"usage: {str(usage)[:40]}"
    told = {name: usage.get(name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
    for name, value in told.items():
        if value is not None and not (type(value) is int and 0 <= value <= MOST_TOKENS):
            return f"{name}: {str(value)[:40]}"
    read, written, total = (value or 0 for value in told.values())
    if total and total < read + written:
        return f"total_tokens: {total}, of {read} and {written}"
    words = len(wrote.split())
    return f"completion_tokens: {written}, for {words} words" if words >= FEW_WORDS and 0 < written < words / 2 else ""


def _count(value: object) -> int:
    return value if type(value) is int and 0 < value <= MOST_TOKENS else 0
