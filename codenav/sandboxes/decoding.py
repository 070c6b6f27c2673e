"""Decoding of frames from inside into results. The channel has validated their shape: see `guest/guest_schema.py`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from codenav.core.execution import Digest, Display, Execution, ExecutionError, Held, Outcome, Value, Variable
from codenav.core.system.terminal_text import neutral
from codenav.sandboxes.shared import frames

VALUE_CHARACTERS = 100_000
"""Most characters of the JSON of a last expression's value: 10,000 bytes, each escaped."""

_MAGIC = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}
"""The first bytes of the supported picture formats."""
_TEXTS = frozenset({"image/svg+xml", "text/html", "text/markdown", "text/latex", "application/json"})

Malformed = frames.Violation
"""The error for a frame that breaks the protocol."""


def variables_of(rows: Sequence[Sequence[str]]) -> list[Variable]:
    """Build variables from rows of name, type and repr."""
    return [Variable(*map(neutral, row)) for row in rows]


def held_of(frame: Mapping[str, Any]) -> Held:
    """Decode the answer to `digests`."""
    items = [replace(Digest(*_neutral(row[:-1])), parts=tuple(row[-1])) for row in frame["items"]]
    numbers, many = (tuple(map(float, frame[key])) for key in ("numbers", "many"))
    return Held({item.name: item for item in items}, numbers, many, tuple(map(neutral, frame["texts"])))


def execution_of(frame: Mapping[str, Any], blob: bytes, *, number: int, display_bytes: int) -> Execution:
    """Decode the result of a step.

    Raises:
        Malformed: the frame is not the result of step `number`, its value is too large, or its displays do not match
            the blob.
    """
    if frame["op"] != "result" or frame["number"] != number:
        raise Malformed("not the result of this step")
    value = frame.get("value")
    if value is not None and len(json.dumps(value["data"])) > VALUE_CHARACTERS:
        raise Malformed("the value is too large")
    error = frame["error"]
    fields = ("stdout", "stderr", "stdout_bytes", "late_output", "seconds", "notice")
    return Execution(
        outcome=Outcome(frame["outcome"]),
        changed=variables_of(frame["changed"]),
        error=ExecutionError(**_neutral(error)) if error is not None else None,
        displays=_displays_of(frame, blob, display_bytes),
        value=Value(**_neutral(value)) if value is not None else None,
        **{key: _neutral(frame[key]) for key in fields},
    )


def _neutral(data: Any) -> Any:
    """Return JSON data with all its texts made harmless."""
    if isinstance(data, str):
        return neutral(data)
    if isinstance(data, list):
        return [_neutral(item) for item in data]
    if isinstance(data, dict):
        return {neutral(str(key)): _neutral(item) for key, item in data.items()}
    return data


def _displays_of(frame: Mapping[str, Any], blob: bytes, limit: int) -> list[Display]:
    """Return the displays whose data matches their type. Raises Malformed if the sizes do not add up."""
    found, start = [], 0
    for mime, size in frame["displays"]:
        data = blob[start : start + size]
        start += size
        if len(data) != size or start > limit:
            raise Malformed("the sizes of the displays do not add up")
        if _is_what_it_says(mime, data):
            found.append(Display(mime, data))
    return found


def _is_what_it_says(mime: str, data: bytes) -> bool:
    if mime in _MAGIC:
        return data.startswith(_MAGIC[mime])
    if mime not in _TEXTS or not data:
        return False
    if mime == "image/svg+xml":
        return b"<svg" in data[:4096].lower()
    try:
        text = data.decode("utf-8")
        if mime == "application/json":
            frames.from_json(text)
    except (ValueError, RecursionError):
        return mime == "text/html"
    return True
