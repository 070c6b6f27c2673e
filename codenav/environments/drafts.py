"""The choice among several scripts for one step, by what they print when they are run."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from codenav.core.execution import Execution

_VALUE = re.compile(
    r"(?<![\w.])(?:(?P<number>[-+]?(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)(?!\.?\w)|[\w.]*\d[\w.]*)"
    r"|(?<!\w)'[^'\n]*'(?!\w)|\"[^\"\n]*\""
)
"""A number, a word with a digit in it such as `1.2.3` or `00ff00`, a text as `repr` shows it."""
_MUTE = re.compile(r"<(?:[\w.]+ object|function|generator|bound method|built-in|class|module|map|filter|zip)\b[^>]*>")
DIGITS = 6
"""Significant digits in which two numbers are the same; `repr` shows 17, people ask for fewer."""


@dataclass(frozen=True)
class Choice:
    """The draft that is kept."""

    place: int
    agreeing: int
    """The number of drafts with the same result, itself included; 0 if it gave none."""


def choose(results: Sequence[Execution | None]) -> Choice:
    """The draft whose result most give, the earliest among equals. None stands for a draft that was not run.

    Drafts that fail, or print nothing that a person can read, drop out while another one does not.
    """
    keys = [result_of(result) if result is not None else "" for result in results]
    counts = Counter(key for key in keys if key)
    if counts:
        best = max(counts, key=lambda key: (counts[key], -keys.index(key)))
        return Choice(keys.index(best), counts[best])
    fine = (place for place, result in enumerate(results) if result is not None and result.ok)
    return Choice(next(fine, 0), 0)


def result_of(execution: Execution) -> str:
    """The last line of output, in a form in which equal results are equal texts; empty if there is nothing to read."""
    lines = [line for line in execution.stdout.splitlines() if line.strip()]
    if not execution.ok or not lines or _MUTE.search(lines[-1]):
        return ""
    values = [_same(found["number"], found[0]) for found in _VALUE.finditer(lines[-1])]
    return " ".join(values) or _words(lines[-1])


def _same(number: str | None, text: str) -> str:
    """The form of a value in which equal ones are equal texts."""
    value = float(number.replace(",", "")) if number else math.inf
    return f"{value:.{DIGITS}g}" if math.isfinite(value) else _words(text)


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
