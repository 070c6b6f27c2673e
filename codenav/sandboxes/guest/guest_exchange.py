"""Values of the state for the host, as plain JSON types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from guest_describe import REPR_CHARACTERS, cut, guarded
from guest_frames import Message
from guest_plain import SAFE_INT, Unfit, decode, encode

SMALL_BYTES = 10_000
"""Maximum bytes of the value of a step's last expression for it to be sent itself, beside its repr."""


def answer(space: Mapping[str, Any], name: str) -> Message:
    """The answer to a request for the value of a name."""
    if name not in space:
        return {"op": "value", "missing": True, "why": ""}
    try:
        return {"op": "value", "value": encode(space[name])}
    except Unfit as error:
        return {"op": "value", "missing": False, "why": str(error)[:1000]}
    except BaseException as error:
        return {"op": "value", "missing": False, "why": f"it raises {type(error).__name__}"}


def loaded(text: str) -> Any:
    """The value that the host has written as JSON: see `codenav.sandboxes.commands`."""
    return decode(json.loads(text))


def described(value: Any, text: str) -> Message:
    """The value of a step's last expression: type, repr, and the value itself where it is small and plain JSON data."""
    found: Message = {"type": type(value).__name__[:200], "repr": cut(text, REPR_CHARACTERS), "data": None}
    found["data"] = guarded(lambda: _small(value))
    return found


def _small(value: Any) -> Any:
    encode(value, SMALL_BYTES)
    return json.loads(json.dumps(value, allow_nan=False)) if _is_json(value) else None


def _is_json(value: Any) -> bool:
    if type(value) is list:
        return all(_is_json(item) for item in value)
    if type(value) is dict:
        return all(type(key) is str and _is_json(item) for key, item in value.items())
    return value is None or type(value) in (bool, str, float) or (type(value) is int and abs(value) < SAFE_INT)
