"""The pieces of a request that nothing was done with."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from codenav.planner.calls import Result
from codenav.planner.finding import Described, Meaning
from codenav.planner.literals import WORD, Kind, Literal, word_parts
from codenav.planner.reading import Clause
from codenav.planner.words import Language, likeness
from codenav.planner.writing import Value, is_in_name
from codenav.signatures.callables import CallableSignature
from codenav.signatures.names import parts

PIECES, WIDTH = 5, 80
"""Pieces that are told, and characters of each."""
SHOWN = 2_000
"""Characters of what a result shows in which a word of the request is looked for: the key of a dict."""


@dataclass(frozen=True)
class _Mark:
    """A word or a literal of the request, and whether something was done with it; None says nothing either way."""

    start: int
    end: int
    used: bool | None


def unused_pieces(
    request: str,
    clauses: Sequence[Clause],
    results: Sequence[Result],
    reduced: Collection[Clause],
    known: Language,
) -> list[str]:
    """What the calls that led to some results neither took nor stand for, as it stands in the request.

    `reduced`: the clauses of which a result was counted, or its highest or lowest taken.
    """
    marks: list[_Mark] = []
    ended = 0
    for clause in clauses:
        marks += _between(request, ended, clause.start, known)
        counted = any(one.start <= clause.start < one.end for one in reduced)
        marks += _Reader(clause, results, counted, known).marks()
        ended = clause.end
    marks += _between(request, ended, len(request), known)
    spans = list(_spans(request, marks, known))
    pieces = [" ".join(request[start:end].split()) for start, end in spans]
    return [piece if len(piece) <= WIDTH else f"{piece[: WIDTH - 1]}…" for piece in pieces][:PIECES]


def _between(request: str, start: int, end: int, known: Language) -> list[_Mark]:
    """What no clause was made of: more than joins them where it has words of its own, or asks something."""
    words = list(WORD.finditer(request, start, end))
    text = re.sub(rf"^\W*(?:(?:{'|'.join(known.joins)})\b)?\W*", "", request[start:end], flags=re.IGNORECASE)
    asks = re.match(known.patterns["question_after"], text, re.IGNORECASE)
    says = any(not _is_neutral(match.group().lower(), known) for match in words)
    return [_Mark(match.start(), match.end(), False if asks or says else None) for match in words]


def _is_neutral(word: str, known: Language) -> bool:
    """Whether a word says nothing that a call could stand for."""
    if re.fullmatch(known.patterns["picturing"], word):
        return False
    return len(word) < 2 or word in known.stop | known.empty_verbs | known.making | known.weak | {*known.joins}


class _Reader:
    """One clause, held against the results."""

    def __init__(self, clause: Clause, results: Sequence[Result], reduced: bool, known: Language) -> None:
        self._clause, self._reduced, self._known = clause, reduced, known
        self._results = results
        self._calls: dict[int, CallableSignature] = {id(call): call for result in results for call in result.calls}
        values = {value for result in results for value in result.used}
        self._taken = {literal.start: literal for literal in _literals(values)}
        self._beside = {word for literal in _literals(values) for word in (*literal.before[:1], literal.after)}
        self._beside |= {literal.keyword.lower() for literal in _literals(values)}
        self._beside |= {word for value in values for word in value.words}
        self._meaning = Meaning(clause.words, known)

    def marks(self) -> Iterator[_Mark]:
        """All words and literals, in their order."""
        clause = self._clause
        found = [_Mark(one.start, one.start + len(one.text), self._took(one)) for one in clause.literals]
        for match in WORD.finditer(clause.text):
            start, end = clause.start + match.start(), clause.start + match.end()
            if not any(one.start <= start < one.end for one in found[: len(clause.literals)]):
                found.append(_Mark(start, end, self._said(match.group(), start)))
        found.sort(key=lambda mark: mark.start)
        for start, end in self._asides():
            inside = [mark for mark in found if start <= mark.start < end]
            if all(mark.used is None for mark in inside):
                found = [_Mark(one.start, one.end, False) if one in inside else one for one in found]
        return iter(found)

    def _took(self, literal: Literal) -> bool:
        """Whether a call took a literal, or is named for it."""
        if literal.start in self._taken or any(literal.text in result.files for result in self._results):
            return True
        value = Value.of(literal)
        if any(is_in_name(value, call) for call in self._calls.values()):
            return True
        if literal.kind is Kind.CODE and any(self._stands(word) for word in word_parts(literal)):
            return True
        code = re.compile(rf"(?<![\w.]){re.escape(literal.code)}(?![\w.])")
        return any(code.search(line) for result in self._results for line in result.lines)

    def _said(self, text: str, start: int) -> bool | None:
        """Whether a word was done justice to."""
        if any(one.start <= start < one.start + len(one.text) for one in self._taken.values()):
            return True
        word = text.lower().removesuffix("'s").removesuffix("’s")
        if word in self._beside:
            return None if word in self._known.stop else True
        if word in self._known.asking:
            return self._reduced or self._stands(word) or (None if word in self._known.stop else False)
        told = [piece for piece in word.split("-") if not _is_neutral(piece, self._known)]
        return any(self._stands(piece) for piece in told) if told else None

    def _stands(self, word: str) -> bool:
        """Whether a call or what came out has to do with a word."""
        if any(self._explains(word, call) for call in self._calls.values()):
            return True
        sign = self._known.spelled(word) or self._known.spelled(word.removesuffix("es"))
        if isinstance(sign, str) and any(sign in result.repr for result in self._results):
            # `with dashes`
            return True
        shown = (part for result in self._results for part in parts(f"{result.type} {result.repr[:SHOWN]}"))
        return any(likeness(word, part) == 1 for part in shown)

    def _explains(self, word: str, call: CallableSignature) -> bool:
        found = self._meaning.qualities(call)
        if found.get(word, 0.0) <= 0:
            return False
        # One part of a name does not stand for two words: a graph that is named is none that was plotted.
        twins = [one for one in found if one != word and 0 < self._known.likeness(word, one) < 1 and found[one]]
        if not twins:
            return True
        described = Described.item(call)
        told = [described.name, described.owner, described.module, *described.parameters, *described.types]
        own = (part for text in (*told, described.doc, described.said) for part in parts(text))
        return any(
            self._known.likeness(word, part) and not any(likeness(one, part) == 1 for one in twins) for part in own
        )

    def _asides(self) -> Iterator[tuple[int, int]]:
        """Questions that are joined to the clause without making one of their own: `and what is its value`."""
        joins = "|".join(map(re.escape, self._known.joins))
        asked = re.compile(rf"(?:,\s*)?\b(?:{joins})\s+(?={self._known.patterns['question_after']})", re.IGNORECASE)
        starts = [self._clause.start + match.start() for match in asked.finditer(self._clause.text)]
        return itertools.pairwise([*starts, self._clause.end])


def _literals(values: Collection[Value]) -> list[Literal]:
    return [one.literal for value in values for one in (value, *value.members) if one.literal is not None]


def _spans(request: str, marks: Sequence[_Mark], known: Language) -> Iterator[tuple[int, int]]:
    """Where pieces begin and end: what is unused, what says nothing between, and the small words before it."""
    small = rf"(?:{known.patterns['towards']}|{known.patterns['away']}|{known.patterns['aside']})"
    first: int | None = None
    last = 0
    for place, mark in enumerate(marks):
        apart = place and re.search(r"[.;!?]\s|\n\s*\n", request[marks[place - 1].end : mark.start])
        if first is not None and (mark.used or apart):
            yield marks[first].start, marks[last].end
            first = None
        if mark.used is not False:
            continue
        if first is None:
            first = place
            while first and marks[first - 1].used is None:
                before = request[marks[first - 1].start : marks[first - 1].end].lower()
                between = request[marks[first - 1].end : marks[first].start]
                if between.strip() or not (re.fullmatch(small, before) or before in known.determiners):
                    break
                first -= 1
        last = place
    if first is not None:
        yield marks[first].start, marks[last].end
