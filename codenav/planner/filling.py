"""Which value goes to which parameter of a callable."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from codenav.planner.literals import Kind
from codenav.planner.survey import Callable_, Parameter
from codenav.planner.words import language, parts
from codenav.planner.writing import (
    DECLARED,
    EXACT,
    OPENING,
    UNTYPED,
    Value,
    Way,
    beside,
    by_words,
    content,
    fit,
    is_in_name,
    is_text,
    way,
)

WAYS, WORSE, BEAM = 7, 2.5, 60
"""Ways to fill that are tried, how much less than the best one's a score may be, and ways that are followed up."""
USED = 0.7
"""What it counts that a literal of the request is used."""
GUESS = 0.6
"""Taken off for a parameter that may be left out and that no word names."""
APART = 0.8
"""Taken off for a guess that takes one literal out of a row."""
GROUPED = 0.3
"""Taken off for literals that are put together into a list."""
CONTENTS, FLAG = 0.1, 0.8
"""Added for what a file holds where a text is asked for, taken off where it may be a file as well; added for a
parameter that is said to be true or false."""
NO_OBJECT = 0.8
"""Taken off for a plain value where an object is asked for."""
MADE, UNKNOWN, PLAIN = 0.2, 0.8, 1.2
"""What it costs that a parameter has to be made: of a class that is known, of no type, of any other type."""
FIRST = 0.5
"""Added for the first parameter of all, where it may be left out."""
EXAMPLE = 0.4
"""Added for a parameter that examples give a literal."""
HALF = 0.5
"""More than this of a parameter's name has to be said beside a literal for it to go there unasked."""
SWAPPED = 0.9
"""Taken off for each literal that stands before another one in the signature and after it in the request."""


@dataclass(frozen=True)
class Filled:
    """Values for parameters, and what is still to be found."""

    given: tuple[tuple[Parameter, str], ...]
    missing: tuple[Parameter, ...]
    used: tuple[Value, ...]
    score: float
    imports: tuple[str, ...] = ()
    named: int = 0
    """Literals in parameters that the word right beside them names."""
    guessed: int = 0
    """Literals in parameters that may be left out, for their types alone."""
    signature: tuple[str, ...] = ()
    """The names of all parameters, in their order."""
    pairs: tuple[tuple[Parameter, Value], ...] = ()
    """What went where, as far as one value went to one parameter."""
    packed: bool = False
    """Whether literals were put together into a list, or one was taken apart."""

    @property
    def swapped(self) -> int:
        """How many literals stand in another order than in the request, though no word beside them says so."""
        places = {name: number for number, name in enumerate(self.signature)}
        plain = [
            (places.get(parameter.name, len(places)), value.literal.start)
            for parameter, value in self.pairs
            if value.literal is not None and not value.is_word and beside(value, parameter) < 1.0
        ]
        starts = [start for _, start in sorted(plain)]
        return sum(one > other for one, other in itertools.pairwise(starts))

    @property
    def worst(self) -> float:
        """How well the value goes with its parameter that goes least well."""
        worths = (min(fit(value, parameter), EXACT) for parameter, value in self.pairs)
        return min(worths, default=UNTYPED if self.used else EXACT)

    def arguments(self, found: Mapping[str, str] = MappingProxyType({})) -> str:
        """Between the parentheses of the call; `found` are expressions for what was missing, by parameter."""
        shown: list[str] = []
        named = False
        for parameter, code in self._ordered(found):
            if parameter.kind == "VAR_POSITIONAL" or (parameter.kind == "POSITIONAL_ONLY" and not named):
                shown.append(code)
            elif parameter.kind == "KEYWORD_ONLY" or named or not parameter.required:
                named = True
                shown.append(f"{parameter.name}={code}")
            else:
                shown.append(code)
        return ", ".join(shown)

    def _ordered(self, found: Mapping[str, str]) -> list[tuple[Parameter, str]]:
        given = [*self.given, *((parameter, found[parameter.name]) for parameter in self.missing)]
        order = {"POSITIONAL_ONLY": 0, "POSITIONAL_OR_KEYWORD": 0, "VAR_POSITIONAL": 1, "KEYWORD_ONLY": 2}
        places = {name: number for number, name in enumerate(self.signature)}
        return sorted(
            given,
            key=lambda item: (order.get(item[0].kind, 3), not item[0].required, places.get(item[0].name, len(places))),
        )


def fillings(
    item: Callable_,
    values: Sequence[Value],
    classes: Collection[str] = (),
    flags: Sequence[tuple[Parameter, Value]] = (),
) -> list[Filled]:
    """Ways to fill what a callable takes from some of the values, best first.

    `classes` are those that can be made, `flags` what the clause says of parameters that are true or false. A beam
    search: each value goes to a parameter that it fits, or nowhere.
    """
    values = [value for value in values if not _names(value, item) and not _says(value, item)]
    dates = _by_calendar(item.parameters, values)
    values = [value for value in values if any(fit(value, one) or one.kind == "VAR_KEYWORD" for one in item.parameters)]
    free = [one for one in item.parameters if not one.kind.startswith("VAR_")]
    states = [_State()]
    for value in sorted(values, key=lambda value: bool(value.members)):
        states = _best([*states, *(more for state in states for more in _placed(state, value, free, item, values))])
    names = tuple(parameter.name for parameter in item.parameters)
    found = []
    for state in states:
        if all(_last_resort(value, one, values, state.used) for one, value, _ in state.pairs):
            plain = _filled(state, free, values, classes)
            left = [one for one in values if one not in plain.used and not one.members]
            found += [_named_by_neighbours(plain, item, left), plain, *_in_star(plain, item, left)]
    required = [one for one in free if one.required]
    found += [*_spread(required, values), *_packed(item, values), *dates]
    kept: dict[tuple[tuple[str, str], ...], Filled] = {}
    found = [way for one in found for way in [*_with_contents(one), *_with_flags(one, flags), one]]
    for one in sorted(found, key=lambda one: -one.score):
        kept.setdefault(tuple((parameter.name, code) for parameter, code in one.given), replace(one, signature=names))
    ways = list(kept.values())[:WAYS]
    return [one for one in ways if one.score >= ways[0].score - WORSE]


@dataclass(frozen=True)
class _State:
    """Where the values went so far."""

    pairs: tuple[tuple[Parameter, Value, Way], ...] = ()
    score: float = 0.0
    last: tuple[int, int] = (-1, -1)
    """Place of the parameter that the last literal went to, and of the literal in the request."""
    guessed: int = 0

    @property
    def used(self) -> tuple[Value, ...]:
        return tuple(value for _, value, _ in self.pairs)


def _best(states: Sequence[_State]) -> list[_State]:
    return sorted(states, key=lambda state: -state.score)[:BEAM]


def _placed(
    state: _State, value: Value, free: Sequence[Parameter], item: Callable_, values: Sequence[Value]
) -> Iterator[_State]:
    """With one value more."""
    for place, parameter in enumerate(free):
        written = way(value, parameter)
        if not written.worth or any(parameter is one for one, _, _ in state.pairs):
            continue
        if any(value in (one, *one.members) or one in value.members for one in state.used):
            continue
        near = beside(value, parameter)
        if value.literal is not None and value.literal.keyword and not near and not parameter.required:
            continue
        score, guess = written.worth, False
        if not parameter.required:
            if value.is_word and not value.imports and not near and not _is_asked_for(value, parameter):
                # It may be no value at all.
                continue
            if value.is_word and any(beside(one, parameter) >= near > 0 for one in values if not one.is_word):
                continue
            guess = not (near or value.imports or place == 0)
            score += EXAMPLE * parameter.shown + FIRST * (place == 0)
            score -= GUESS * (1 + state.guessed / 2) * (near <= HALF and not value.imports)
            score -= APART * (guess and any(value in group.members for group in values))
        here = (place, value.literal.start) if value.literal is not None and near < 1.0 else state.last
        swapped = (here[0] < state.last[0]) != (here[1] < state.last[1])
        yield _State(
            (*state.pairs, (parameter, value, written)),
            state.score + score + (0.0 if is_in_name(value, item) else _use(value)) - SWAPPED * swapped,
            here,
            state.guessed + guess,
        )


def _filled(state: _State, free: Sequence[Parameter], values: Sequence[Value], classes: Collection[str]) -> Filled:
    taken = [parameter for parameter, _, _ in state.pairs]
    missing = tuple(one for one in free if one.required and not any(one is other for other in taken))
    score = state.score - sum(_price(one, classes) for one in missing)
    for parameter, value, _ in state.pairs:
        if value.literal is not None and is_made(parameter, classes):
            # An object is asked for, and such objects can be made.
            score -= NO_OBJECT
    return Filled(
        tuple((parameter, written.code) for parameter, _, written in state.pairs),
        missing,
        tuple(one for value in state.used for one in (value.members or (value,))),
        score,
        tuple(line for _, _, written in state.pairs for line in written.imports),
        sum(_is_named(value, parameter) for parameter, value, _ in state.pairs),
        state.guessed,
        pairs=tuple((parameter, value) for parameter, value, _ in state.pairs),
        packed=any(value.members and by_words("list", parameter) < DECLARED for parameter, value, _ in state.pairs),
    )


def _is_asked_for(value: Value, parameter: Parameter) -> bool:
    """Whether a word after `in` or `to` may be what a parameter chooses: `in days` for the unit."""
    spoken = value.literal is not None and value.literal.before[:1] and value.literal.kind is Kind.CODE
    return bool(spoken and _CHOOSING.search(parameter.name))


_CHOOSING = re.compile(r"unit|format|fmt|lang|locale|dialect|\bto\b|mode|style|base$|notation|encoding|scheme|space")


def _use(value: Value) -> float:
    """What it counts that a value is used; a little less for several as one list."""
    return USED * len(value.members) - GROUPED if value.members else USED * (not value.is_word)


def _with_contents(filled: Filled) -> list[Filled]:
    """The same with what files hold, where a text is asked for and not a file."""
    given, pairs, worth = list(filled.given), list(filled.pairs), 0.0
    for place, (parameter, code) in enumerate(given):
        value = next((one for one in filled.used if one.code == code), None)
        if value is not None and (inside := content(value, parameter)):
            given[place] = (parameter, inside)
            worth = CONTENTS if is_text(parameter) else -CONTENTS
            shown = Value(inside, "bytes" if "bytes" in inside else "str", imports=OPENING)
            pairs = [(one, shown if one is parameter else other) for one, other in pairs]
    if tuple(given) == filled.given:
        return []
    imports = (*filled.imports, *OPENING)
    return [replace(filled, given=tuple(given), pairs=tuple(pairs), imports=imports, score=filled.score + worth)]


def _with_flags(filled: Filled, flags: Sequence[tuple[Parameter, Value]]) -> list[Filled]:
    """The same with what is said of parameters that are true or false."""
    if not flags or filled.missing:
        return []
    return [
        replace(
            filled,
            given=(*filled.given, *((parameter, value.code) for parameter, value in flags)),
            used=(*filled.used, *(value for _, value in flags)),
            named=filled.named + len(flags),
            score=filled.score + FLAG * len(flags),
        )
    ]


def is_made(parameter: Parameter, classes: Collection[str]) -> bool:
    """Whether a parameter takes an object of one of the classes, and nothing plain."""
    told = re.findall(r"\w+", parameter.type.lower())
    return any(word in classes for word in told) and not any(
        by_words(kind, parameter) >= UNTYPED for kind in ("str", "int", "list", "dict", "path")
    )


def _price(parameter: Parameter, classes: Collection[str]) -> float:
    """What it costs that a parameter has to be made."""
    if is_made(parameter, classes):
        return MADE
    return PLAIN if parameter.type else UNKNOWN


def _names(value: Value, item: Callable_) -> bool:
    """Whether a word of code shape is what the callable is called, not what it takes: `JWT`, `base58`."""
    if not value.is_word or value.literal is None:
        return False
    plain = value.literal.text.lower()
    return plain in f"{item.module}.{item.expression}".lower() or re.sub(r"\W|_", "", plain) == item.name.lower()


def _says(value: Value, item: Callable_) -> bool:
    """Whether a plain word is what a parameter is called, not what it takes: `to the box (1, 2)`."""
    if not value.is_word or value.literal is None or value.literal.text != value.literal.text.lower():
        return False
    word = value.literal.text
    return any(word == part for parameter in item.parameters for part in parts(parameter.name))


def _last_resort(value: Value, parameter: Parameter, values: Sequence[Value], taken: Sequence[Value | None]) -> bool:
    """Whether a word of the request, if it is one, may be a value here: no literal that is left fits as well."""
    if not value.is_word:
        return True
    return not any(
        other.literal is not None and not other.is_word and other not in taken and fit(other, parameter) >= UNTYPED
        for other in values
    )


def _named_by_neighbours(filled: Filled, item: Callable_, left: Sequence[Value]) -> Filled:
    """Keywords for `**kwargs`, named by the words before a literal: `keyword case 'upper'`, `scale 4`."""
    star = next((parameter for parameter in item.parameters if parameter.kind == "VAR_KEYWORD"), None)
    if star is None or filled.missing:
        return filled
    for value in left:
        near = value.literal.before if value.literal is not None and not value.is_word else ()
        # `with the keyword case 'upper'`: all words back to one that joins; else the one after it: `2 days`.
        count = next((place for place, word in enumerate(near) if word in language().stop), 0)
        told = ["_".join(reversed(near[:count]))] if count and near[count] in _INTRODUCING else []
        after = value.literal.after if value.literal is not None else ""
        if value.literal is not None and value.literal.keyword:
            told = [value.literal.keyword]
        told = told or ([after] if after and after not in language().stop and value.type in ("int", "float") else [])
        if told and told[0].isidentifier() and all(told[0] != parameter.name for parameter, _ in filled.given):
            named = Parameter(told[0], "KEYWORD_ONLY", False)
            filled = replace(
                filled,
                given=(*filled.given, (named, value.code)),
                used=(*filled.used, value),
                score=filled.score + 1 + USED,
            )
    return filled


_INTRODUCING = frozenset(("with", "the", "a", "an", "and", "using"))


def _spread(required: Sequence[Parameter], values: Sequence[Value]) -> list[Filled]:
    """Tuples whose members are just what is required: a box from (0, 0) to (2, 3)."""
    held = [value for value in values if value.literal is not None and value.type in ("tuple", "list")]
    members = [repr(member) for value in held for member in ast.literal_eval(value.code)]
    if len(required) < 2 or len(members) != len(required):
        return []
    kinds = [Value(code, type(ast.literal_eval(code)).__name__) for code in members]
    if not all(by_words(kind.type, parameter) for kind, parameter in zip(kinds, required, strict=True)):
        return []
    score = DECLARED * len(required) + USED * len(held)
    return [Filled(tuple(zip(required, members, strict=True)), (), tuple(held), score, packed=True)]


def _packed(item: Callable_, values: Sequence[Value]) -> list[Filled]:
    """Several literals of one type as a list for the first parameter: a line from (0, 0) to (3, 4)."""
    literals = [value for value in values if value.literal is not None and not value.is_word]
    first = next((parameter for parameter in item.parameters if not parameter.kind.startswith("VAR_")), None)
    others = [parameter for parameter in item.required if parameter is not first]
    if first is None or others or len(literals) < 2 or len({value.type for value in literals}) > 1:
        return []
    code = f"[{', '.join(value.code for value in literals)}]"
    worth = by_words("list", first)
    if worth < DECLARED and not (worth and first.required):
        return []
    score = worth - GROUPED + USED * len(literals)
    pairs = ((first, Value(code, "list")),)
    return [Filled(((first, code),), (), tuple(literals), score, pairs=pairs, packed=worth < DECLARED)]


def _by_calendar(free: Sequence[Parameter], values: Sequence[Value]) -> list[Filled]:
    """A date whose year, month and day are asked for one by one."""
    named = {parameter.name: parameter for parameter in free}
    dates = [value for value in values if value.literal is not None and value.literal.kind is Kind.DATE]
    if not dates or not {"year", "month", "day"} <= named.keys():
        return []
    told = [int(piece) for piece in re.findall(r"\d+", dates[0].literal.text if dates[0].literal else "")]
    pieces = zip(("year", "month", "day", "hour", "minute", "second"), told, strict=False)
    given = tuple((named[name], str(number)) for name, number in pieces if name in named)
    others = [one for one in free if one.required and one.name not in {taken.name for taken, _ in given}]
    return [] if others else [Filled(given, (), (dates[0],), len(given) + USED)]


def _in_star(filled: Filled, item: Callable_, values: Sequence[Value]) -> list[Filled]:
    """Literals that are left into `*args`: all, and where nothing is required one alone."""
    star = next((parameter for parameter in item.parameters if parameter.kind == "VAR_POSITIONAL"), None)
    left = [value for value in values if value.literal is not None and not value.is_loose]
    real = [value for value in left if not value.is_word]
    if star is None or not left or filled.guessed:
        return []
    ways = [left, real] if len(real) < len(left) else [left]
    if not item.required and len(left) > 1:
        # One alone: the rest may be meant for what is done with the result.
        real.sort(key=lambda value: value.literal is None or value.literal.kind is not Kind.COLLECTION)
        ways += [[value] for value in real[:2]]
    return [
        replace(
            filled,
            given=(*filled.given, *((star, value.code) for value in more)),
            used=(*filled.used, *more),
            score=filled.score + (UNTYPED + USED) * sum(not value.is_word for value in more),
        )
        for more in ways
        if more
    ]


def _is_named(value: Value, parameter: Parameter) -> bool:
    return value.literal is not None and beside(value, parameter) == 1.0
