"""Numbers and words in texts, and the search for them in the results of a run, also rounded or reformatted."""

from __future__ import annotations

import bisect
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

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

    def fits(self, number: float) -> bool:
        """True if it may be another way to write a number: rounded, truncated, as a percentage, or without its sign."""
        return any(self._is(factor, number) for factor in self.factors)

    def _is(self, factor: float, number: float) -> bool:
        value, step, number = abs(self.value) * factor, self.step * factor, abs(number)
        if self.about and abs(number - value) <= ABOUT * value:
            return True
        exact = abs(number - value) <= 1e-9 * max(value, number)
        whole = self.step >= 1 and self.unit == 1.0
        if exact or self.digits < (2 if whole else 1):
            return exact
        cut = not whole and self.digits > 2 and 0 <= number - value < step * (1 - 1e-9)
        return abs(number - value) <= step * (0.5 + 1e-9) or cut


def numbers_in(text: str) -> list[Number]:
    """The numbers in a text, except those in names, ordinals and versions, and the numbers of list items."""
    text = _LEFT_OUT.sub(" ", _LIST_ITEM.sub(" ", _VERSION.sub(" ", text)))
    found = []
    for match in _NUMBER.finditer(text):
        tail = match["tail"] or ""
        if _ORDINAL.match(tail) or any(map(str.isdigit, tail)) or "_" in tail:
            continue
        number = _number(match, bool(_ABOUT.search(text[: match.start()])))
        if number:
            found.append(number)
    return found


def _number(match: re.Match[str], about: bool) -> Number | None:
    digits = re.sub(r"[,’'\u00a0\u202f_]", "", match["digits"])
    power = re.sub(r"\s?[×x*]\s?10(?:\^|\*\*)", "e", match["power"] or "").replace("−", "-")
    try:
        value = float(digits + power)
    except ValueError:
        return None
    if not math.isfinite(value):
        return None
    exponent = int(power[1:]) if power else 0
    step = 10.0 ** (exponent - len(digits.partition(".")[2]))
    sign = -1.0 if (match["sign"] or "") in ("-", "−") and match["sign"] else 1.0
    unit = _UNITS.get((match["unit"] or "").strip(), 1.0)
    return Number(match.group().strip(), sign * value, step or 1e-300, unit, about)


def words_in(text: str) -> list[str]:
    """The words of a text, case folded."""
    return [word.casefold().rstrip("'’-") for word in _WORD.findall(text)]


@dataclass
class Pool:
    """The numbers and texts that an answer or a script may refer to."""

    few: list[float] = field(default_factory=list)
    many: list[float] = field(default_factory=list)
    text: str = ""

    def add(self, numbers: Iterable[float], many: Iterable[float] = (), texts: Iterable[str] = ()) -> Pool:
        """Add numbers, numbers of long lists (`many`) and texts; return the pool."""
        few = {*self.few, *(abs(one) for one in numbers)}
        self.many = sorted({*self.many, *(abs(one) for one in many)})
        for text in texts:
            self.text += "\n" + text.casefold()
            for one in numbers_in(text):
                few |= {abs(one.value), abs(one.value * one.unit)}
        self.few = sorted(few)
        return self

    def add_output(self, text: str) -> Pool:
        """Add printed output: of a long output the last numbers one by one, and all of them as a long list."""
        numbers = [one.value for one in numbers_in(text)]
        self.text += "\n" + text.casefold()
        end = numbers[-MANY_PRINTED // 4 :] if len(numbers) > MANY_PRINTED else numbers
        return self.add(end, numbers if len(numbers) > MANY_PRINTED else ())

    def holds(self, number: Number) -> bool:
        """True if the pool holds a number."""
        if any(number.fits(one) for one in _near(self.few, number)):
            return True
        if self.many and 10.0**number.digits >= CHANCE * len(self.many):
            return any(number.fits(one) for one in _near(self.many, number))
        return False

    def names(self, text: str) -> bool:
        """True if the pool holds a text, in any case and spacing, or else all of its words."""
        wanted = " ".join(text.casefold().split()).strip(" .,:;!?()")
        if not wanted or wanted in " ".join(self.text.split()):
            return True
        words = words_in(wanted)
        return bool(words) and all(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", self.text) for word in words)


def _near(numbers: list[float], number: Number) -> Iterator[float]:
    """The items of a sorted list that a number may stand for."""
    for factor in number.factors:
        value, room = abs(number.value) * factor, max(number.step * factor, ABOUT * abs(number.value) * factor, 1e-300)
        start = bisect.bisect_left(numbers, value - room * 1.01)
        yield from numbers[start : bisect.bisect_right(numbers, value + room * 1.01)]
