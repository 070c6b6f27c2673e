"""Values of plain types as JSON types, without pickle, for both ends; it imports the standard library alone.

An object has one key, the name of a type: `{"tuple": [1, 2]}`, `{"dict": [["a", 1]]}`.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

MOST_BYTES = 8 << 20
"""Maximum bytes of a value as JSON, in both directions."""
MOST_DEPTH = 100
SAFE_INT = 1 << 53


class Unfit(Exception):
    """A value that cannot be sent, and why."""


def encode(value: Any, limit: int = MOST_BYTES) -> Any:
    """The value as JSON types, of at most `limit` bytes. Raises Unfit."""
    return _Encoder(limit).encode(value)


class _Encoder:
    """An encoder of one value into JSON types, within a limit of bytes."""

    def __init__(self, limit: int) -> None:
        self._left = self._limit = limit

    def encode(self, value: Any, depth: int = 0) -> Any:
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
        make = _ENCODED.get(kind)
        if make is not None:
            found = make(value)
            self._spend(len(str(found)))
            return {kind.__name__: found}
        raise Unfit(_no_plain_type(value, kind))

    def _spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise Unfit(f"it takes over {self._limit >> 20} MiB: send a file with box.files")


_ENCODED: dict[type, Callable[[Any], Any]] = {
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
    return f"there is a {name} in it, which does not travel: {does}, or a file, with box.files"


def decode(value: Any, depth: int = 0) -> Any:
    """The value that was encoded as JSON types. Raises whatever its parts raise where it was not: see `FAULTS`."""
    if depth > MOST_DEPTH:
        raise ValueError("a value that is nested too deep")
    if isinstance(value, list):
        return [decode(item, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise ValueError("a value of no type")
    ((kind, data),) = value.items()
    if kind in _CONTAINERS and isinstance(data, list):
        return _CONTAINERS[kind]([decode(item, depth + 1) for item in data])
    make = _DECODED.get(kind)
    if make is None or not isinstance(data, (str, list)):
        raise ValueError("a value of an unknown type")
    return make(data)


FAULTS = (ValueError, TypeError, OverflowError, ArithmeticError)


def _pairs(items: list[Any]) -> dict[Any, Any]:
    if not all(isinstance(item, list) and len(item) == 2 for item in items):
        raise ValueError("a dict that is none")
    return dict(items)


def _complex(data: list[str]) -> complex:
    real, imaginary = data
    return complex(float(real), float(imaginary))


_CONTAINERS: Mapping[str, Callable[[list[Any]], Any]] = {
    "tuple": tuple, "set": set, "frozenset": frozenset, "dict": _pairs,
}  # fmt: skip
_DECODED: Mapping[str, Callable[[Any], Any]] = {
    "int": lambda data: int(data, 16),
    "float": float,
    "bytes": lambda data: base64.b64decode(data, validate=True),
    "complex": _complex,
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "timedelta": lambda data: datetime.timedelta(*data),
    "Decimal": decimal.Decimal,
}


def answer(space: Mapping[str, Any], name: str) -> dict[str, Any]:
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
