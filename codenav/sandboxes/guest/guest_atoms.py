"""A bounded set of numbers and short texts from the variables, for the host to look up what an answer mentions."""

from __future__ import annotations

import functools
import math
import sys
import time
from collections import deque
from typing import Any, Callable, Iterable, Mapping

import guest_describe

FEW = 10
"""Maximum numbers in a container for each to count by itself; a larger one holds nearly any number by chance."""
EACH, MANY, TEXTS = 2000, 8000, 4000
"""Maximum numbers of one variable, numbers of all variables, and texts of all variables."""
TEXT = 300
"""Maximum characters of a text."""
DEPTH = 5
SECONDS, EACH_SECONDS = 2.0, 0.5

_clock = time.monotonic


class Atoms:
    """A collector of numbers and short texts, within a budget of time."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._until = _clock() + seconds
        self.numbers: dict[float, None] = {}
        self.many: dict[float, None] = {}
        self.texts: dict[str, None] = {}
        self._found: list[float] = []

    def add(self, space: Mapping[str, Any], names: Iterable[str]) -> None:
        """Collect from the named variables."""
        for name in names:
            if _clock() > self._until:
                return
            self._found = []
            guest_describe.timed(
                functools.partial(self._walk, space[name], DEPTH), min(EACH_SECONDS, self._until - _clock())
            )
            small = len(self._found) <= FEW
            # The ends of a long list, and its extremes, are what is asked for.
            marked = self._found if small else [min(self._found), max(self._found), self._found[0], self._found[-1]]
            self.numbers.update(dict.fromkeys(marked))
            if not small and len(self.many) < MANY:
                self.many.update(dict.fromkeys(self._found))

    def to_dict(self) -> dict[str, list[Any]]:
        """The collected values, as keys of the answer besides the digests."""
        return {
            "numbers": list(self.numbers)[:MANY],
            "many": list(self.many)[:MANY],
            "texts": list(self.texts)[:TEXTS],
        }

    def _number(self, value: Any) -> None:
        number = float(value)
        if math.isfinite(number) and len(self._found) < EACH:
            self._found.append(number)

    def _size(self, value: Any) -> None:
        number = float(value)
        if math.isfinite(number):
            self.numbers[number] = None

    def _text(self, value: str) -> None:
        if len(self.texts) < TEXTS and len(value) <= TEXT:
            self.texts[value] = None

    def _walk(self, value: Any, depth: int) -> None:
        if depth < 0 or len(self._found) >= EACH or _clock() > self._until:
            return
        if isinstance(value, bool) or value is None:
            return
        if isinstance(value, (int, float)):
            if isinstance(value, int) and abs(value) >= 1 << 53:
                self._text(str(value) if value.bit_length() < 1000 else "")
            else:
                self._number(value)
        elif isinstance(value, str):
            self._text(str(value))
        elif isinstance(value, complex):
            self._number(value.real)
            self._number(value.imag)
        elif isinstance(value, dict):
            self._size(len(value))
            for key, item in list(value.items())[:EACH]:
                self._walk(key, depth - 1)
                self._walk(item, depth - 1)
        elif isinstance(value, (list, tuple, set, frozenset, deque, range)):
            self._size(len(value))
            for item in list(value)[:EACH]:
                self._walk(item, depth - 1)
        else:
            self._other(value, depth)

    def _other(self, value: Any, depth: int) -> None:
        numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
        if pandas is not None and isinstance(value, (pandas.DataFrame, pandas.Series, pandas.Index)):
            for size in value.shape:
                self._size(size)
            if isinstance(value, pandas.Index):
                self._walk(value[:EACH].tolist(), depth - 1)
                return
            self._walk(value.index[:EACH].tolist(), depth - 1)
            if isinstance(value, pandas.Series):
                self._walk(value.iloc[:EACH].tolist(), depth - 1)
                return
            self._walk(value.columns.tolist(), depth - 1)
            for at in range(min(value.shape[1], 50)):
                self._walk(value.iloc[:EACH, at].tolist(), depth - 1)
        elif numpy is not None and isinstance(value, numpy.generic):
            self._walk(value.item() if value.dtype.kind not in "mM" else str(value), depth - 1)
        elif numpy is not None and isinstance(value, numpy.ndarray):
            for size in value.shape:
                self._size(size)
            self._size(value.size)
            self._walk(value.reshape(-1)[:EACH].tolist(), depth - 1)
        else:
            self._opaque(value, depth)

    def _opaque(self, value: Any, depth: int) -> None:
        for make in (str, repr):
            text = _tried(functools.partial(make, value))
            if isinstance(text, str):
                self._text(text[:TEXT])
        size = _tried(lambda: len(value))
        if isinstance(size, int):
            self._size(size)
        state = _tried(lambda: vars(value))
        if isinstance(state, dict):
            for item in list(state.values())[:50]:
                self._walk(item, depth - 2)


def _tried(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except Exception:
        return None
