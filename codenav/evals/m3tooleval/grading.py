"""The two graders: upstream's with its faults, and one that compares values."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

ABSOLUTE = 0.005
"""Half of the last digit of the form `xx.xx`, in which some tasks ask for their answers."""
RELATIVE = 1e-6

_ROUNDING = 1e-9
"""Allowance for a difference that is `ABSOLUTE` but for the binary fractions on both sides."""
_LONGEST = 10_000
"""Characters of a text that is read as a value; the longest expected one has 40."""
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_QUOTES = ("'", '"', "`", "**")


def upstream_accepts(answer: str, expected: Any) -> bool:
    """The verdict of upstream's `Task.check_answer` on a text, bug for bug.

    Equal, or equal once both sides are converted to int, else float, else left alone; a fraction is cut off on the way,
    so 68 passes for 68.71. After that upstream means to compare lists element by element, but an operator is missing:
    the expected value is called, which always raises, and everything raised is ignored. What is left is the comparison
    of the texts of the two values, the answer having been read as a Python literal if it is one.
    """
    read: Any = answer
    try:
        if answer == expected or _converted(answer) == _converted(expected):
            return True
        read = ast.literal_eval(answer)
    except Exception:
        # Upstream's `except:`. A list as expected value ends here too: int() refuses it.
        pass
    return str(read) == str(expected)


def _converted(value: Any) -> Any:
    try:
        return int(value)
    except ValueError:
        try:
            return float(value)
        except ValueError:
            return value


def accepts(answer: Any, expected: Any) -> bool:
    """True if an answer, given as a value or as a text, has the expected value.

    Numbers may differ by 0.005, or by a millionth of the expected one; a truth value is no number. Lists and tuples are
    the same in this, and are compared element by element, dicts key by key. Texts are compared with their case; spaces,
    quotes and a full stop around them do not count. Where no text is expected, a text is read as a Python literal; a
    currency sign before it, and commas between thousands, do not count. No value is searched for in a sentence.
    """
    if isinstance(expected, str):
        return _bare(answer if isinstance(answer, str) else str(answer), expected) == _bare(expected, expected)
    return _same(_value(answer) if isinstance(answer, str) else answer, expected)


def _bare(text: str, expected: str) -> str:
    """A text without what may stand around it; a full stop is part of an expected text that ends with one."""
    text = _unquoted(text)
    if text.endswith(".") and not expected.strip().endswith("."):
        text = _unquoted(text[:-1])
    return text


def _unquoted(text: str) -> str:
    text = text.strip()
    for quote in _QUOTES:
        if len(text) > 2 * len(quote) and text.startswith(quote) and text.endswith(quote):
            return _unquoted(text[len(quote) : -len(quote)])
    return text


def _value(text: str) -> Any:
    """The value of a text, or the text itself."""
    text = _bare(text[:_LONGEST], "")
    text = re.sub(r"^([+-]?)[$€£]\s*", r"\1", text)
    if _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def _same(answer: Any, expected: Any) -> bool:
    if isinstance(expected, bool) or isinstance(answer, bool):
        return answer is expected
    if isinstance(expected, int | float):
        return _close(answer, expected)
    if isinstance(expected, str):
        return isinstance(answer, str) and accepts(answer, expected)
    if isinstance(expected, Mapping):
        return (
            isinstance(answer, Mapping)
            and answer.keys() == expected.keys()
            and all(_same(answer[key], value) for key, value in expected.items())
        )
    if isinstance(expected, list | tuple):
        return (
            isinstance(answer, Sequence)
            and not isinstance(answer, str | bytes)
            and len(answer) == len(expected)
            and all(map(_same, answer, expected))
        )
    return bool(answer == expected)


def _close(answer: Any, expected: float) -> bool:
    if isinstance(answer, str | bytes):
        return False
    try:
        number = float(answer)
    except (TypeError, ValueError, OverflowError):
        return False
    return math.isfinite(number) and abs(number - expected) <= max(ABSOLUTE + _ROUNDING, RELATIVE * abs(expected))
