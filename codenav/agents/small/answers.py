"""The answer of a small model beside what was printed: it must stand there."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
_QUOTED = re.compile(r"['\"“‘`]([^'\"”’`\n]{1,200})['\"”’`]")
_YES, _NO = frozenset({"yes", "true"}), frozenset({"no", "false"})
_OBJECT = re.compile(r"<[^<>]+ at 0x[0-9a-f]+>$")
_EMPTY = frozenset({"True", "False", "None", "[]", "{}", "()", "set()", "nan", "..."})
_YES_OR_NO = frozenset({
    "is", "are", "am", "was", "were", "do", "does", "did", "can", "could", "has", "have", "had", "will", "would", "may",
    "should", "must", "check", "test", "validate", "verify",
})  # fmt: skip
"""Words that begin a request which `True` or `False` answers."""
SHORT = 300
"""Characters of an output that is the answer as it stands; of a longer one its last line is."""


def stands_in(answer: str, printed: str, request: str) -> bool:
    """True if each number and each quotation of the answer was printed, or stands in the request; but not all there."""
    known = f"{printed}\n{request}".casefold()
    numbers = [value for found in _NUMBER.findall(printed) if math.isfinite(value := _value(found))]
    asked = {_value(found) for found in _NUMBER.findall(request)}
    shown = False
    for found in _NUMBER.findall(_QUOTED.sub(lambda match: " " if match[1].casefold() in known else match[0], answer)):
        decimals = len(found.partition(".")[2].rstrip("%"))
        value = _value(found)
        # One that is too large for a number is compared as text.
        known_too = any(value in (one, round(one, decimals), int(one)) for one in numbers) or (
            math.isinf(value) and found in printed
        )
        if not known_too and value not in asked:
            return False
        shown |= known_too
    if not all(quoted.casefold() in known for quoted in _QUOTED.findall(answer)):
        return False
    words = set(re.findall(r"\w+", answer.casefold()))
    own = words - set(re.findall(r"\w+", request.casefold()))
    there = set(re.findall(r"\w+", printed.casefold()))
    if (own & _YES and "false" in there and "true" not in there) or (
        own & _NO and "true" in there and "false" not in there
    ):
        return False
    return bool(own & there or own & (_YES | _NO) or shown)


def can_answer(value: str, request: str) -> bool:
    """False for an object without content, and for what answers a yes-or-no question alone: `True`, `None`, `[]`."""
    asked = re.findall(r"[a-z']+", request.casefold())
    if _OBJECT.search(value):
        return False
    return value not in _EMPTY or "whether" in asked or any(word in _YES_OR_NO for word in asked[:1])


def values_in(request: str) -> list[str]:
    """The values that a request names: numbers, quotations, and words with digits or in capitals, in lower case."""
    quoted = [found.strip().casefold() for found in _QUOTED.findall(request)]
    rest = _QUOTED.sub(" ", request)
    words = re.findall(r"[^\W_][\w.+-]*\w|\d", rest)
    marked = [word for word in words if re.search(r"\d", word) or (word.isupper() and len(word) > 2)]
    return [one for one in [*quoted, *(word.casefold() for word in marked)] if one]


def uses_values(code: str, request: str) -> bool:
    """True if code holds a value that the request names, or the request names none."""
    values, code = values_in(request), code.casefold()
    return not values or any(value in code for value in values)


def printed_value(outputs: Sequence[str]) -> str:
    """The last thing that was printed: a whole short output, or the last line of a longer one; else empty."""
    last = next((text.strip() for text in reversed(outputs) if text.strip()), "")
    return last if len(last) <= SHORT else last.splitlines()[-1].strip()


def _value(text: str) -> float:
    return float(text.replace(",", "").rstrip(".") or 0)
