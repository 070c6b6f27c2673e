"""JSON to bytes and back, by orjson where it is installed: it takes a third of the time."""

from __future__ import annotations

import json
from typing import Any

try:
    import orjson
except ImportError:
    orjson = None  # type: ignore[assignment, unused-ignore]


def dumps(value: Any) -> bytes:
    """One line of JSON. A lone surrogate, which orjson refuses, is written as an escape."""
    if orjson is not None:
        try:
            return orjson.dumps(value)
        except TypeError:
            pass
    return json.dumps(value, separators=(",", ":")).encode()


def loads(text: bytes | str) -> Any:
    """The inverse of `dumps`.

    Raises:
        ValueError: it is no JSON.
    """
    if orjson is not None:
        try:
            return orjson.loads(text)
        except ValueError:
            pass
    return json.loads(text)
