"""Numbers and words in texts, and the search for them in the results of a run, also rounded or reformatted."""

from __future__ import annotations

import bisect
import itertools
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

_NUMBER = re.compile(
    r"""(?<![A-Za-z0-9_.\\])
    (?P<sign>(?<![\w)\].])[-−+])?
    (?P<digits>\d{1,3}(?:[,’'\u00a0\u202f_]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)
    (?P<power>[eE][-+]?\d+|\s?[×x*]\s?10(?:\^|\*\*)[-−]?\d+)?
    (?P<unit>\s?%|\s(?:percent|per\ cent|thousand|million|billion|trillion)\b|(?:k|K|M|bn)\b)?
    (?P<tail>[A-Za-z_]\w*)?""",
    re.VERBOSE,
)
_ORDINAL = re.compile(r"(st|nd|rd|th)\b|[Dd]\b")
_UNITS = {"percent": 0.01, "per cent": 0.01, "%": 0.01, "thousand": 1e3, "k": 1e3, "K": 1e3, "million": 1e6, "M": 1e6,
          "billion": 1e9, "bn": 1e9, "trillion": 1e12}  # fmt: skip
_VERSION = re.compile(r"\bv?\d+(?:\.\d+){2,}\w*")
_LIST_ITEM = re.compile(r"^[ \t]*(?:[-*][ \t]+)?\d{1,3}[.)](?=[ \t])", re.MULTILINE)
_LEFT_OUT = re.compile(r"… \d+ (?:bytes|characters) left out …")
_ABOUT = re.compile(r"(?:about|around|roughly|approximately|approx\.?|nearly|almost|over|under|some|~|≈)\s*$", re.I)
_ABOUT_CHARACTERS = 32
"""Characters before a number in which a word such as `approximately` is looked for."""
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
ABOUT = 0.05
"""Relative tolerance of a number that the text calls approximate."""
CHANCE = 20
"""Values that the digits of a number allow, per item of a long list: with fewer, a match may be chance."""
MANY_PRINTED = 100
"""An output of more numbers than this is a long list."""


@dataclass(frozen=True)
class Number:
    """A number as written in a text."""

    text: str
    value: float
    step: float
    """The value of one unit in its last digit."""
    unit: float = 1.0
    about: bool = False

    @property
    def digits(self) -> int:
        """The number of significant digits."""
        if not self.value:
            return 0
        return max(0, math.floor(math.log10(abs(self.value))) - round(math.log10(self.step)) + 1)

    @property
    def factors(self) -> tuple[float, ...]:
        """The factors that it may have to be multiplied by: a percentage stands for a share, or for itself."""
        return (1.0, self.unit) if self.unit < 1 else (self.unit,)

    def ranges(self) -> Iterator[tuple[float, float]]:
        """The ranges of the absolute values that it may stand for: rounded, truncated, as a percentage."""
        for factor in self.factors:
            value, step = abs(self.value) * factor, self.step * factor
            below = above = 1e-9 * value
            whole = self.step >= 1 and self.unit == 1.0
            if self.digits >= (2 if whole else 1):
                below = above = max(below, step * (0.5 + 1e-9))
                if not whole and self.digits > 2:
                    above = max(above, step * (1 - 1e-9))
            if self.about:
                below, above = max(below, ABOUT * value), max(above, ABOUT * value)
            yield value - below, value + above


def numbers_in(text: str) -> Iterator[Number]:
    """The numbers in a text, except those in names, ordinals and versions, and the numbers of list items."""
    text = _LEFT_OUT.sub(" ", _LIST_ITEM.sub(" ", _VERSION.sub(" ", text)))
    for match in _NUMBER.finditer(text):
        tail = match["tail"] or ""
        if _ORDINAL.match(tail) or any(map(str.isdigit, tail)) or "_" in tail:
            continue
        before = text[max(0, match.start() - _ABOUT_CHARACTERS) : match.start()]
        number = _number(match, bool(_ABOUT.search(before)))
        if number:
            yield number


def _number(match: re.Match[str], about: bool) -> Number | None:
    digits = re.sub(r"[,’'\u00a0\u202f_]", "", match["digits"])
    power = re.sub(r"\s?[×x*]\s?10(?:\^|\*\*)", "e", match["power"] or "").replace("−", "-")
    try:
        value = float(digits + power)
        step = float(f"1{power or 'e0'}") * 10.0 ** -len(digits.partition(".")[2])
    except (ValueError, OverflowError):
        return None
    if not (math.isfinite(value) and math.isfinite(step)):
        return None
    sign = -1.0 if (match["sign"] or "") in ("-", "−") and match["sign"] else 1.0
    unit = _UNITS.get((match["unit"] or "").strip(), 1.0)
    return Number(match.group().strip(), sign * value, max(step, 1e-300), unit, about)


def words_in(text: str) -> list[str]:
    """The words of a text, case folded."""
    return [word.casefold().rstrip("'’-") for word in _WORD.findall(text)]


class Pool:
    """The numbers and texts that an answer or a script may refer to."""

    def __init__(self, text: str = "") -> None:
        self.few: set[float] = set()
        self.many: set[float] = set()
        """Numbers of long lists, where nearly any short number occurs by chance."""
        self._texts = [text]

    def copy(self) -> Pool:
        """A pool of the same numbers and texts."""
        pool = Pool()
        pool.few, pool.many, pool._texts = set(self.few), set(self.many), [self.text]
        return pool

    def add(self, numbers: Iterable[float], many: Iterable[float] = (), texts: Iterable[str] = ()) -> Pool:
        """Add numbers, numbers of long lists (`many`) and texts; return the pool."""
        self.few.update(map(abs, numbers))
        self.many.update(map(abs, many))
        for text in texts:
            self._texts.append(text.casefold())
            for one in numbers_in(text):
                self.few |= {abs(one.value), abs(one.value * one.unit)}
        self.__dict__.pop("_sorted", None)
        self.__dict__.pop("text", None)
        return self

    def add_output(self, text: str) -> Pool:
        """Add printed output: of a long output the last numbers one by one, and all of them as a long list."""
        numbers = [one.value for one in numbers_in(text)]
        self._texts.append(text.casefold())
        end = numbers[-MANY_PRINTED // 4 :] if len(numbers) > MANY_PRINTED else numbers
        return self.add(end, numbers if len(numbers) > MANY_PRINTED else ())

    @cached_property
    def text(self) -> str:
        """All texts, case folded, with one space for white space."""
        return " ".join("\n".join(self._texts).split())

    @cached_property
    def _sorted(self) -> tuple[list[float], list[float]]:
        return sorted(self.few), sorted(self.many)

    def holds(self, number: Number) -> bool:
        """True if the pool holds a number."""
        few, many = self._sorted
        if any(_between(few, *bounds) for bounds in number.ranges()):
            return True
        telling = bool(many) and number.digits >= math.log10(CHANCE * len(many))
        return telling and any(_between(many, *bounds) for bounds in number.ranges())

    def names(self, text: str) -> bool:
        """True if the pool holds a text, in any case and spacing, or else all of its words."""
        wanted = " ".join(text.casefold().split()).strip(" .,:;!?()")
        if not wanted or wanted in self.text:
            return True
        words = words_in(wanted)
        return bool(words) and all(map(self._has_word, words))

    def _has_word(self, word: str) -> bool:
        # The plain search is many times as fast, and nearly always enough.
        return word in self.text and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", self.text) is not None


def _between(numbers: list[float], low: float, high: float) -> bool:
    """True if a sorted list has a number between two bounds."""
    at = bisect.bisect_left(numbers, low)
    return at < len(numbers) and numbers[at] <= high


class Rounded:
    """The values that printed numbers may stand for, as sorted ranges."""

    def __init__(self, printed: Iterable[Number]) -> None:
        ranges = sorted(bounds for one in printed if one.digits > 1 for bounds in one.ranges())
        self._lows = [low for low, _ in ranges]
        self._highs = list(itertools.accumulate((high for _, high in ranges), max))

    def covers(self, value: float) -> bool:
        """True if one of the numbers may be a rounded form of a value."""
        at = bisect.bisect_right(self._lows, abs(value))
        return at > 0 and self._highs[at - 1] >= abs(value)
