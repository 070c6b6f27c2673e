"""What the supervisor believes of a worker's answer: nothing but its shape."""

from __future__ import annotations

from typing import Any

from guest_frames import Message

MOST_ITEMS = 1000
MOST_ATOMS = 8000
TEXT = 1 << 20


def well_formed(reply: Message, blob: bytes) -> bool:
    """Whether an answer has the keys, types and sizes that it should have."""
    if reply.get("op") == "variables":
        return _variables(reply.get("items"))
    if reply.get("op") == "checkpoint":
        return True
    if reply.get("op") == "value":
        return "value" in reply or (isinstance(reply.get("missing"), bool) and _text(reply.get("why")))
    if reply.get("op") == "digests":
        return _digests(reply)
    return (
        reply.get("op") == "result"
        and reply.get("outcome") in ("ok", "error", "out_of_memory")
        and _variables(reply.get("changed"))
        and _displays(reply.get("displays"), len(blob))
        and _number(reply.get("seconds"))
        and all(_number(reply.get(key, 0.0)) for key in ("fork_seconds", "kernel_seconds", "faults"))
        and isinstance(reply.get("deleted"), bool)
        and _value(reply.get("value"))
        and _error(reply.get("error"), reply.get("outcome") == "ok")
    )


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e9


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= TEXT


def _variables(items: Any) -> bool:
    return (
        isinstance(items, list)
        and len(items) <= MOST_ITEMS
        and all(isinstance(item, list) and len(item) == 3 and all(_text(part) for part in item) for item in items)
    )


def _digests(reply: Message) -> bool:
    items, texts = reply.get("items"), reply.get("texts")
    return (
        len(reply) == 5
        and isinstance(items, list)
        and len(items) <= MOST_ITEMS
        and all(isinstance(item, list) and len(item) == 6 and isinstance(item[4], bool) for item in items)
        and all(_text(part) for item in items for part in (*item[:4], item[5]))
        and isinstance(texts, list)
        and len(texts) <= MOST_ATOMS
        and all(_text(text) for text in texts)
        and all(_atoms(reply.get(key)) for key in ("numbers", "many"))
    )


def _atoms(numbers: Any) -> bool:
    return (
        isinstance(numbers, list)
        and len(numbers) <= MOST_ATOMS
        and all(isinstance(one, (int, float)) and not isinstance(one, bool) and -1e309 < one < 1e309 for one in numbers)
    )


def _displays(items: Any, size: int) -> bool:
    if not isinstance(items, list) or len(items) > MOST_ITEMS:
        return False
    for item in items:
        if not (isinstance(item, list) and len(item) == 2 and _text(item[0]) and type(item[1]) is int and item[1] >= 0):
            return False
    return bool(sum(item[1] for item in items) == size)


def _value(value: Any) -> bool:
    return value is None or (
        isinstance(value, dict) and len(value) == 3 and _text(value.get("type")) and _text(value.get("repr"))
    )


def _error(error: Any, ok: bool) -> bool:
    if error is None or ok:
        return ok and error is None
    return (
        isinstance(error, dict)
        and all(_text(error.get(key)) for key in ("type", "message", "line", "traceback"))
        and (error.get("line_number") is None or type(error["line_number"]) is int)
    )
