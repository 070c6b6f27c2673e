"""The reader of actions in other plain forms, which models know from elsewhere."""

from __future__ import annotations

import json
import re
from typing import Any

from codenav.agents.tags import Found, prose, visible

_KEYS = {"thought", "type", "content"}
_TRIES = 32
"""JSON objects that are tried in one answer: more than that are data, not actions."""

_ATTRIBUTE = re.compile(
    r"<action\s+type\s*=\s*[\"']?(?P<type>[\w -]{1,40}?)[\"']?\s*>(?P<inner>.*?)(?P<end></action>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_INNER = re.compile(r"<(thought|content)>(.*?)(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_CALL = re.compile(r"<tool_call>\s*(?=\{)", re.IGNORECASE)
_OBJECT = re.compile(r"^[ \t]*(?=\{)", re.MULTILINE)
_FENCE = re.compile(r"^```\w*[ \t]*$", re.MULTILINE)
_PYTHON = re.compile(r"```[ \t]*(?:python3?|py)[ \t]*\n(?P<code>.*?)\n?```", re.DOTALL | re.IGNORECASE)
_SENTENCE = 200
"""Characters that may follow a block of code: its purpose, but no second step."""


def find_plain(text: str) -> list[Found]:
    """The actions in an answer that has none in the tags, in order.

    `<action type="code">…</action>`; `<tool_call>{"name": …, "arguments": {…}}</tool_call>`; JSON objects with the keys
    of an action or of a call; and without any of these, the only block of Python, followed by at most a sentence.
    """
    shown = visible(text)
    if "<type>" in shown:
        return []
    bare = _FENCE.sub("", shown)
    return (
        _with_attribute(shown)
        or _calls(shown, _CALL)
        or _objects(bare)
        or [call for call in _calls(bare, _OBJECT) if call.content]
        or _block(shown)
    )


def _with_attribute(text: str) -> list[Found]:
    found: list[Found] = []
    for match in _ATTRIBUTE.finditer(text):
        inner: dict[str, str] = {name.lower(): held for name, held in _INNER.findall(match["inner"])}
        closed = bool(match["end"]) or "</content>" in match["inner"].lower()
        thought = inner.get("thought", "" if found else prose(text[: match.start()])).strip()
        found.append(Found(match["type"], inner.get("content") or match["inner"], thought, closed))
    return found


def _calls(text: str, opening: re.Pattern[str]) -> list[Found]:
    found: list[Found] = []
    for data, start in _decoded(text, opening):
        given = data.get("arguments", data.get("parameters", {}))
        if isinstance(given, str):
            given = _loaded(given)
        if not isinstance(data.get("name"), str):
            continue
        given = given if isinstance(given, dict) else {"content": given}
        content = given.get("content", [value for key, value in given.items() if key != "thought"])
        thought = str(given.get("thought") or ("" if found else prose(text[:start])))
        found.append(Found(data["name"], _joined(content), thought, True))
    return found


def _objects(bare: str) -> list[Found]:
    found: list[Found] = []
    for data, start in _decoded(bare, _OBJECT):
        if {"type", "content"} <= set(data) <= _KEYS and isinstance(data["type"], str):
            thought = str(data.get("thought") or ("" if found else prose(bare[:start])))
            found.append(Found(data["type"], _joined(data["content"]), thought, True))
    return found


def _block(text: str) -> list[Found]:
    block = _PYTHON.search(text)
    if not block or text.count("```") != 2 or not block["code"].strip():
        return []
    behind = text[block.end() :].strip()
    if len(behind) > _SENTENCE or "\n" in behind:
        return []
    # Not closed: where the answer was cut off, the block may be incomplete.
    return [Found("code", block["code"], prose(text[: block.start()]), False)]


def _decoded(text: str, opening: re.Pattern[str]) -> list[tuple[dict[str, Any], int]]:
    """The JSON objects after matches of `opening`, each with the position of its match; none is inside another."""
    decoder, position = json.JSONDecoder(strict=False), 0
    found: list[tuple[dict[str, Any], int]] = []
    for _ in range(_TRIES):
        match = opening.search(text, position)
        if not match:
            break
        try:
            data, position = decoder.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            position = match.end() + 1
            continue
        if isinstance(data, dict):
            found.append((data, match.start()))
    return found


def _loaded(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return text


def _joined(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(map(_joined, value))
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
