"""What the host believes of a frame from inside: its shape, checked key by key, and no more."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from codenav.execution import Digest, Display, Execution, ExecutionError, Held, Outcome, Value, Variable
from codenav.text import neutral

MOST_ITEMS = 1000
"""Variables, displays or files of one frame."""
MOST_ATOMS = 8000
"""Numbers, or texts, of an answer to `digests`."""
VALUE_CHARACTERS = 100_000
"""Of the value of a last expression as JSON: 10,000 bytes, each escaped."""
TEXT_CHARACTERS = 4 << 20
"""Of one string in a frame."""
DIGEST = re.compile(r"[0-9a-f]{32}|")

_MAGIC = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}
"""What the data of a picture begins with."""
_TEXTS = frozenset({"image/svg+xml", "text/html", "text/markdown", "text/latex", "application/json"})


class Malformed(Exception):
    """A frame that does not have the promised shape."""


def text_of(frame: Mapping[str, Any], key: str, limit: int = TEXT_CHARACTERS) -> str:
    """A string of the frame, neutralised."""
    value = frame.get(key)
    if not isinstance(value, str) or len(value) > limit:
        raise Malformed(f"{key} is not a string of at most {limit} characters")
    return neutral(value)


def number_of(frame: Mapping[str, Any], key: str) -> float:
    """A number that is not negative and not endless."""
    value = frame.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e18:
        raise Malformed(f"{key} is not a number")
    return value


def items_of(frame: Mapping[str, Any], key: str) -> Sequence[Any]:
    """A list of bounded length."""
    value = frame.get(key)
    if not isinstance(value, list) or len(value) > MOST_ITEMS:
        raise Malformed(f"{key} is not a list of at most {MOST_ITEMS}")
    return value


def variables_of(frame: Mapping[str, Any], key: str) -> list[Variable]:
    """A list of name, type, repr."""
    found = []
    for item in items_of(frame, key):
        if not isinstance(item, list) or len(item) != 3:
            raise Malformed(f"{key} holds something else than name, type, repr")
        named = dict(zip(("name", "type", "repr"), item, strict=True))
        found.append(Variable(*(text_of(named, part) for part in named)))
    return found


def held_of(frame: Mapping[str, Any]) -> Held:
    """The answer to `digests`."""
    found = {}
    for item in items_of(frame, "items"):
        if not isinstance(item, list) or len(item) != 6 or not isinstance(item[4], bool):
            raise Malformed("items holds something else than name, type, digest, kind, telling, repr")
        named = dict(zip(("name", "type", "digest", "kind", "telling", "repr"), item, strict=True))
        name, type_name, digest, kind = (text_of(named, part, 1000) for part in ("name", "type", "digest", "kind"))
        if not DIGEST.fullmatch(digest) or kind not in ("firm", "part", "soft", "none"):
            raise Malformed("a digest is none")
        found[name] = Digest(name, type_name, digest, kind, item[4], text_of(named, "repr", 20_000))
    texts = frame.get("texts")
    if not isinstance(texts, list) or len(texts) > MOST_ATOMS:
        raise Malformed("texts is not a list of bounded length")
    named_texts = [text_of({"text": text}, "text", 1000) for text in texts]
    return Held(found, _numbers_of(frame, "numbers"), _numbers_of(frame, "many"), tuple(named_texts))


def _numbers_of(frame: Mapping[str, Any], key: str) -> tuple[float, ...]:
    numbers = frame.get(key)
    if not isinstance(numbers, list) or len(numbers) > MOST_ATOMS:
        raise Malformed(f"{key} is not a list of bounded length")
    for one in numbers:
        if isinstance(one, bool) or not isinstance(one, int | float) or not -1e308 < one < 1e308:
            raise Malformed(f"{key} holds something else than numbers")
    return tuple(float(one) for one in numbers)


def execution_of(frame: Mapping[str, Any], blob: bytes, *, number: int, display_bytes: int) -> Execution:
    """The result of a step.

    Raises:
        Malformed: the frame is not the result of step `number`.
    """
    if frame.get("op") != "result" or frame.get("number") != number:
        raise Malformed("not the result of this step")
    outcome = frame.get("outcome")
    if not isinstance(outcome, str) or outcome not in set(Outcome):
        raise Malformed("unknown outcome")
    return Execution(
        outcome=Outcome(outcome),
        stdout=text_of(frame, "stdout"),
        stderr=text_of(frame, "stderr"),
        stdout_bytes=int(number_of(frame, "stdout_bytes")),
        late_output=text_of(frame, "late"),
        changed=variables_of(frame, "changed"),
        error=_error_of(frame.get("error")),
        displays=_displays_of(frame, blob, display_bytes),
        seconds=float(number_of(frame, "seconds")),
        notice=text_of(frame, "notice"),
        value=_value_of(frame.get("value")),
    )


def _value_of(value: Any) -> Value | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Malformed("the value is not an object")
    data = value.get("data")
    if len(json.dumps(data)) > VALUE_CHARACTERS:
        raise Malformed("the value is too large")
    return Value(text_of(value, "type", 1000), text_of(value, "repr", 20_000), _neutral(data))


def _neutral(data: Any) -> Any:
    """JSON data with all its texts made harmless."""
    if isinstance(data, str):
        return neutral(data)
    if isinstance(data, list):
        return [_neutral(item) for item in data]
    if isinstance(data, dict):
        return {neutral(str(key)): _neutral(item) for key, item in data.items()}
    return data


def _error_of(value: Any) -> ExecutionError | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Malformed("the error is not an object")
    line = value.get("line_number")
    if line is not None and (type(line) is not int or not 0 < line < 1 << 31):
        raise Malformed("the error's line is not a number")
    return ExecutionError(
        type=text_of(value, "type"),
        message=text_of(value, "message"),
        line=text_of(value, "line"),
        line_number=line,
        traceback=text_of(value, "traceback"),
    )


def _displays_of(frame: Mapping[str, Any], blob: bytes, limit: int) -> list[Display]:
    """Those whose data is what the type says; sizes that do not add up are malformed."""
    found, start = [], 0
    for item in items_of(frame, "displays"):
        if not (isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) and type(item[1]) is int):
            raise Malformed("a display is not type and size")
        mime, size = item
        data = blob[start : start + size]
        start += size
        if size < 0 or len(data) != size or start > limit:
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
            json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return mime == "text/html"
    return True


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
