"""JSON to bytes and back, by orjson where it can, which takes a third of the time."""

from __future__ import annotations

import json
from typing import Any

import orjson


def dumps(value: Any) -> bytes:
    """A value as one line of JSON. A lone surrogate, which orjson refuses, is written as an escape."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode()


def loads(text: bytes | str) -> Any:
    """The value of a text in JSON; the inverse of `dumps`.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return orjson.loads(text)
    except ValueError:
        return json.loads(text)
