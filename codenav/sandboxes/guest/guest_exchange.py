"""Values of plain types as JSON for the host, without pickle. `codenav.sandboxes.values` reads them."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from guest_describe import REPR_CHARACTERS, cut, guarded
from guest_frames import Message

MOST_BYTES = 8 << 20
"""Maximum bytes of a value as JSON."""
MOST_DEPTH = 100
SMALL_BYTES = 10_000
"""Maximum bytes of the value of a step's last expression for it to be sent itself, beside its repr."""
SAFE_INT = 1 << 53


class Unfit(Exception):
    """A value that cannot be sent, and why."""


class _Encoder:
    """An encoder of one value into JSON types, within a limit of bytes; an object has one key, the name of a type."""

    def __init__(self, limit: int) -> None:
        self._left = self._limit = limit

    def encode(self, value: Any, depth: int = 0) -> Any:
        """The value as JSON types. Raises Unfit."""
        if depth > MOST_DEPTH:
            raise Unfit(f"it is nested over {MOST_DEPTH} deep")
        self._spend(8)
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            self._spend(len(value))
            self._spend(len(json.dumps(value)) - len(value))
            return value
        if kind is int:
            self._spend(value.bit_length() // 4)
            return value if -SAFE_INT < value < SAFE_INT else {"int": hex(value)}
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is list:
            return [self.encode(item, depth + 1) for item in value]
        if kind is dict:
            return {"dict": [[self.encode(part, depth + 1) for part in pair] for pair in list(value.items())]}
        if kind in (tuple, set, frozenset):
            return {kind.__name__: [self.encode(item, depth + 1) for item in value]}
        make = _SIMPLE.get(kind)
        if make is not None:
            found = make(value)
            self._spend(len(str(found)))
            return {kind.__name__: found}
        raise Unfit(_no_plain_type(value, kind))

    def _spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise Unfit(f"it takes over {self._limit >> 20} MiB; write it to a file and read that with box.files")


_SIMPLE: dict[type, Callable[[Any], Any]] = {
    bytes: lambda value: base64.b64encode(value).decode("ascii") if len(value) <= MOST_BYTES else " " * len(value),
    complex: lambda value: [repr(value.real), repr(value.imag)],
    datetime.datetime: lambda value: value.isoformat(),
    datetime.date: lambda value: value.isoformat(),
    datetime.time: lambda value: value.isoformat(),
    datetime.timedelta: lambda value: [value.days, value.seconds, value.microseconds],
    decimal.Decimal: str,
}


def _no_plain_type(value: Any, kind: type) -> str:
    name = f"{kind.__module__}.{kind.__qualname__}" if kind.__module__ != "builtins" else kind.__qualname__
    does = "a list of it travels" if hasattr(kind, "tolist") else "its data travels as a list or a dict"
    if hasattr(kind, "to_dict"):
        does = "what its to_dict() gives travels"
    return f"there is a {name} in it, which does not travel: {does}, or a file, read with box.files"


def answer(space: Mapping[str, Any], name: str) -> Message:
    """The answer to a request for the value of a name."""
    if name not in space:
        return {"op": "value", "missing": True, "why": ""}
    try:
        return {"op": "value", "value": _Encoder(MOST_BYTES).encode(space[name])}
    except Unfit as error:
        return {"op": "value", "missing": False, "why": str(error)[:1000]}
    except BaseException as error:
        return {"op": "value", "missing": False, "why": f"it raises {type(error).__name__}"}


def described(value: Any, text: str) -> Message:
    """The value of a step's last expression: type, repr, and the value itself where it is small and plain JSON data."""
    found: Message = {"type": type(value).__name__[:200], "repr": cut(text, REPR_CHARACTERS), "data": None}
    found["data"] = guarded(lambda: _small(value))
    return found


def _small(value: Any) -> Any:
    _Encoder(SMALL_BYTES).encode(value)
    return json.loads(json.dumps(value, allow_nan=False)) if _is_json(value) else None


def _is_json(value: Any) -> bool:
    if type(value) is list:
        return all(_is_json(item) for item in value)
    if type(value) is dict:
        return all(type(key) is str and _is_json(item) for key, item in value.items())
    return value is None or type(value) in (bool, str, float) or (type(value) is int and abs(value) < SAFE_INT)
