"""The words of a language, from a data file, and the likeness of two words."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib import resources

from codenav.signatures.names import parts, stem, words_in

FAMILY, ABBREVIATED, ENDING, DERIVED = 0.8, 0.7, 0.7, 0.6
"""The likeness of words (1 is the same word) of one family (`load`, `read`), that begin alike (`dist`, `distance`),
that end in another one, and that share most letters (`description` and `describe`)."""


@dataclass(frozen=True)
class Language:
    """The word lists of one language; another language is another file."""

    joins: tuple[str, ...]
    """The words that stand between two clauses, longest first."""
    stop: frozenset[str]
    verbs: frozenset[str]
    empty_verbs: frozenset[str]
    """Verbs that say nothing of what is wanted: `compute the area` wants the area."""
    determiners: frozenset[str]
    making: frozenset[str]
    """Verbs whose result is the thing itself: `make a graph`."""
    weak: frozenset[str]
    """Words that nearly everything has to do with."""
    asked: Mapping[str, tuple[str, ...]]
    """The words that ask `count`, `most` or `least` of a collection."""
    families: tuple[frozenset[str], ...]
    """Words of programs that mean nearly the same, as stems."""
    months: tuple[str, ...]
    codes: Mapping[re.Pattern[str], Mapping[str, str]]
    """The codes that words stand for, `fr` for French, by the pattern for the names of parameters that take them."""
    patterns: Mapping[str, str]
    """Regular expressions, read without regard to case; each is named after what it finds."""

    @cached_property
    def asking(self) -> frozenset[str]:
        """The words of `asked`."""
        return frozenset(word for phrases in self.asked.values() for phrase in phrases for word in phrase.split())

    def asking_of(self, kind: str) -> str:
        """A pattern for the phrases that ask `count`, `most` or `least`."""
        return rf"\b(?:{'|'.join(map(re.escape, self.asked[kind]))})\b"

    def asks(self, text: str) -> str:
        """The kind of question that a clause asks of a collection; empty for none."""
        return next((kind for kind in self.asked if re.search(self.asking_of(kind), text, re.IGNORECASE)), "")

    @cached_property
    def related(self) -> Mapping[str, frozenset[str]]:
        """The stems of the families of each stem."""
        found: dict[str, frozenset[str]] = {}
        for family in self.families:
            for word in family:
                found[word] = found.get(word, frozenset()) | family
        return found

    def likeness(self, word: str, other: str) -> float:
        """The likeness of two words: as `likeness`, and `FAMILY` for words that mean nearly the same."""
        same = likeness(word, other)
        return max(same, FAMILY) if same < FAMILY and stem(other) in self.related.get(stem(word), ()) else same

    def within(self, word: str, part: str) -> float:
        """Their `likeness`, else `ENDING` for a part that ends or begins with the word: `tablefmt`, `fillchar`."""
        same = self.likeness(word, part)
        if same or len(word) < 3:
            return same
        ends = [end for end in (word, stem(word), *self.related.get(stem(word), ())) if 3 <= len(end) <= len(part) - 3]
        begins = [form for form in (word, stem(word)) if 4 <= len(form) <= len(part) - 3]
        return ENDING if any(map(part.endswith, ends)) or any(map(part.startswith, begins)) else 0.0

    def weight(self, word: str) -> float:
        """The weight of a word of a clause, by what it says of what is wanted, 0 to 1."""
        if word in self.empty_verbs or word in self.asking:
            return 0.2
        return 0.4 if word in self.weak else 1.0


@cache
def language(name: str = "english") -> Language:
    """The word lists of a language."""
    text = resources.files("codenav.planner").joinpath("languages", f"{name}.json").read_text(encoding="utf-8")
    data = json.loads(text)
    sets = {key: frozenset(data[key]) for key in ("stop", "verbs", "empty_verbs", "determiners", "making", "weak")}
    return Language(
        **sets,
        joins=tuple(sorted(data["joins"], key=len, reverse=True)),
        asked={kind: tuple(phrases) for kind, phrases in data["asks"].items()},
        families=tuple(frozenset(map(stem, family)) for family in data["families"]),
        months=tuple(data["months"]),
        codes={re.compile(names, re.IGNORECASE): codes for names, codes in data["codes"].items()},
        patterns=data["patterns"],
    )


_GLUE = words_in("to from get set is as un de of by in read load write parse make")


@lru_cache(maxsize=50_000)
def segmented(identifier: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """The words in an identifier, with what is written as one cut where it is one of `words`: `fromcsv` → from, csv."""
    found: list[str] = []
    for part in parts(identifier):
        cut = next((cut for word in words if len(word) >= 3 and (cut := _cut(part, word, words))), None)
        found += cut or [part]
    return tuple(found)


def _cut(part: str, word: str, words: Collection[str]) -> list[str] | None:
    stems = {stem(one) for one in words}
    for form in (word, stem(word)):
        if part == word or len(form) < 3:
            return None
        first, last = part[len(form) :], part[: -len(form)]
        if part.startswith(form) and _is_piece(first, stems, words):
            return [word, first]
        if part.endswith(form) and _is_piece(last, stems, words):
            return [last, word]
    return None


def _is_piece(piece: str, stems: Collection[str], words: Collection[str]) -> bool:
    """True if names are made of a piece: `to`, a word of the clause or its beginning, one that programs use."""
    known = piece in _GLUE or stem(piece) in stems or (len(stem(piece)) > 3 and stem(piece) in language().related)
    return known or (len(piece) in (1, 3, 4, 5) and any(word.startswith(piece) for word in words))


@lru_cache(maxsize=100_000)
def likeness(word: str, other: str) -> float:
    """The likeness of two words: 1 for the same in another form, less for an abbreviation or a derived word, else 0."""
    if stem(word) == stem(other):
        return 1.0
    short, long = sorted((word.lower(), other.lower()), key=len)
    if len(short) >= 4 and long.startswith(short):
        return ABBREVIATED
    if len(short) >= 3 and _is_skeleton(short, long):
        return ABBREVIATED
    common = next((at for at, (one, two) in enumerate(zip(short, long, strict=False)) if one != two), len(short))
    return DERIVED if common >= 5 and common >= 0.7 * len(short) and common >= 0.5 * len(long) else 0.0


def _is_skeleton(short: str, long: str) -> bool:
    """True if a word is another one without its vowels, or some of its consonants: `pmt`, `fmt`, `cnt`."""
    if short[0] != long[0] or len(long) < len(short) + 2 or any(letter in "aeiou" for letter in short):
        return False
    letters = iter(long)
    return all(letter in letters for letter in short)
