"""Python values as JSON, to exchange them with a sandbox without pickle.

A JSON object has one key, the name of a type: `{"tuple": [1, 2]}`, `{"dict": [["a", 1]]}`.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import keyword
import math
from collections.abc import Callable, Mapping
from typing import Any

from codenav.core.errors import UsageError
from codenav.sandboxes.decoding import Malformed

MOST_BYTES = 8 << 20
"""Largest size of a value as JSON, in both directions."""
MOST_DEPTH = 100
SAFE_INT = 1 << 53


def checked_name(name: str) -> str:
    """Return a name after checking that code can use it for a variable.

    Raises:
        UsageError: it cannot be used.
    """
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise UsageError(f"{name!r} is not the name of a variable", hint='such as box.set("x", 1)')
    return name


def checked_code(code: str) -> str:
    """Return the code of a step after checking that it is a string.

    Raises:
        UsageError: it is of another type.
    """
    if not isinstance(code, str):
        raise UsageError(f"the code of a step is a {type(code).__name__}", hint='such as box.run("x = 1")')
    return code


def encoded(value: Any) -> str:
    """Encode a value as JSON.

    Raises:
        UsageError: a type in it cannot be sent, or it is too large or nested too deeply.
    """
    text = json.dumps(as_json(value), separators=(",", ":"), allow_nan=False)
    if len(text) > MOST_BYTES:
        raise UsageError(f"the value takes over {MOST_BYTES >> 20} MiB", hint="write a file with box.files")
    return text


def as_json(value: Any) -> Any:
    """Convert a value to JSON types. Raises UsageError."""
    return _encode(value, 0)


def _encode(value: Any, depth: int) -> Any:
    kind = type(value)
    if depth > MOST_DEPTH:
        raise UsageError(f"the value is nested over {MOST_DEPTH} deep", hint="write a file with box.files")
    if value is None or kind in (bool, str):
        return value
    if kind is int:
        return value if -SAFE_INT < value < SAFE_INT else {"int": hex(value)}
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind is list:
        return [_encode(item, depth + 1) for item in value]
    if kind is dict:
        return {"dict": [[_encode(part, depth + 1) for part in pair] for pair in value.items()]}
    if kind in (tuple, set, frozenset):
        return {kind.__name__: [_encode(item, depth + 1) for item in value]}
    if kind is bytes:
        return {"bytes": base64.b64encode(value).decode("ascii")}
    if kind is complex:
        return {"complex": [repr(value.real), repr(value.imag)]}
    if kind in (datetime.datetime, datetime.date, datetime.time):
        return {kind.__name__: value.isoformat()}
    if kind is datetime.timedelta:
        return {"timedelta": [value.days, value.seconds, value.microseconds]}
    if kind is decimal.Decimal:
        return {"Decimal": str(value)}
    raise UsageError(
        f"there is a {kind.__module__}.{kind.__qualname__} in the value, which does not travel",
        hint="send its data as a list or a dict, or write a file with box.files",
    )


def decoded(value: Any) -> Any:
    """Decode a value that came from inside as JSON types, the inverse of `encoded`.

    Raises:
        Malformed: it was not encoded this way.
    """
    try:
        return _decode(value, 0)
    except (ValueError, TypeError, OverflowError, ArithmeticError) as error:
        raise Malformed(f"a value that is none: {type(error).__name__}") from None


def _decode(value: Any, depth: int) -> Any:
    if depth > MOST_DEPTH:
        raise Malformed("a value that is nested too deep")
    if isinstance(value, list):
        return [_decode(item, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise Malformed("a value of no type")
    ((kind, data),) = value.items()
    if kind in _CONTAINERS and isinstance(data, list):
        items = [_decode(item, depth + 1) for item in data]
        return _CONTAINERS[kind](items)
    make = _SIMPLE.get(kind)
    if make is None or not isinstance(data, str | list):
        raise Malformed("a value of an unknown type")
    return make(data)


def _pairs(items: list[Any]) -> dict[Any, Any]:
    if not all(isinstance(item, list) and len(item) == 2 for item in items):
        raise Malformed("a dict that is none")
    return dict(items)


def _complex(data: list[str]) -> complex:
    real, imaginary = data
    return complex(float(real), float(imaginary))


_CONTAINERS: Mapping[str, Callable[[list[Any]], Any]] = {
    "tuple": tuple, "set": set, "frozenset": frozenset, "dict": _pairs,
}  # fmt: skip
_SIMPLE: Mapping[str, Callable[[Any], Any]] = {
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
