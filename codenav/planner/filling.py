"""Which value goes to which parameter of a callable."""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from codenav.planner.literals import Kind
from codenav.planner.survey import Callable_, Parameter
from codenav.planner.words import language, parts
from codenav.planner.writing import DECLARED, EXACT, UNTYPED, Value, beside, by_words, fit, way

MOST_CHOICES = 2_000
"""That are looked at: of more only those in the order of the request."""
FIRST = 0.5
"""Added for the first parameter of all, where it may be left out."""
EXAMPLE = 0.4
"""Added for a parameter that examples give a literal."""
HALF = 0.5
"""More than this of a parameter's name has to be said beside a literal for it to go there unasked."""
IN_ORDER = 0.9
"""Added for each pair that stands in the same order in the request and in the signature."""


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


def fillings(item: Callable_, values: Sequence[Value]) -> list[Filled]:
    """Ways to fill what a callable needs from some of the values, best first."""
    values = [value for value in values if not _names(value, item) and not _says(value, item)]
    values = [value for value in values if any(fit(value, one) or one.kind == "VAR_KEYWORD" for one in item.parameters)]
    required = [one for one in item.required if one.kind != "VAR_KEYWORD"]
    found = []
    for choice in _choices(required, values):
        found += _filled(required, choice, values, item)
    found += _spread(required, values)
    found += _in_star(item, values)
    found += _packed(item, values)
    names = tuple(parameter.name for parameter in item.parameters)
    kept: dict[tuple[tuple[str, str], ...], Filled] = {}
    for one in found:
        kept.setdefault(tuple((parameter.name, code) for parameter, code in one.given), replace(one, signature=names))
    return sorted(
        kept.values(),
        key=lambda one: (len(one.missing), -sum(not value.is_word for value in one.used), -one.score),
    )


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


def _choices(required: Sequence[Parameter], values: Sequence[Value]) -> list[tuple[Value | None, ...]]:
    """For each required parameter a value or none."""
    if not required:
        return [()]
    found: list[tuple[Value | None, ...]] = []
    fitting = [[*(value for value in values if fit(value, one)), None] for one in required]
    # Some of them in every order; of many only the order of the request.
    everything = math.prod(len(options) for options in fitting) <= MOST_CHOICES

    def choose(taken: tuple[Value | None, ...]) -> None:
        if len(taken) == len(required):
            pairs = zip(taken, required, strict=True)
            if all(value is None or _last_resort(value, one, values, taken) for value, one in pairs):
                found.append(taken)
            return
        last = max((values.index(value) for value in taken if value is not None), default=-1)
        for value in fitting[len(taken)]:
            free = value is None or (value not in taken and (everything or values.index(value) > last))
            if free and len(found) < MOST_CHOICES:
                choose((*taken, value))

    choose(())
    return sorted(found, key=lambda choice: -sum(value is not None for value in choice))[:200]


def _last_resort(value: Value, parameter: Parameter, values: Sequence[Value], taken: Sequence[Value | None]) -> bool:
    """Whether a word of the request, if it is one, may be a value here: no literal that is left fits as well."""
    if not value.is_word:
        return True
    return not any(
        other.literal is not None and not other.is_word and other not in taken and fit(other, parameter) >= UNTYPED
        for other in values
    )


def _filled(
    required: Sequence[Parameter], choice: Sequence[Value | None], values: Sequence[Value], item: Callable_
) -> list[Filled]:
    """With what words beside literals name of what may be left out, and without."""
    given, used, missing, score = [], [], [], 0.0
    pairs: list[tuple[Parameter, Value]] = []
    imports: list[str] = []
    named = 0
    for parameter, value in zip(required, choice, strict=True):
        if value is None:
            missing.append(parameter)
        else:
            written = way(value, parameter)
            given.append((parameter, written.code))
            imports += written.imports
            named += _is_named(value, parameter)
            used.append(value)
            pairs.append((parameter, value))
            score += written.worth
    places = [values.index(value) for value in used]
    score += IN_ORDER * sum(one < other for one, other in itertools.pairwise(places))
    plain = Filled(tuple(given), tuple(missing), tuple(used), score, tuple(imports), named, pairs=tuple(pairs))
    left = [value for value in values if value not in used and value.literal is not None]
    for parameter in item.parameters:
        if parameter.required or parameter.kind.startswith("VAR_") or any(parameter is one for one, _ in given):
            continue
        near = [value for value in left if fit(value, parameter) and beside(value, parameter) > HALF]
        near = [value for value in near if _last_resort(value, parameter, left, used)]
        if near:
            written = way(near[0], parameter)
            given.append((parameter, written.code))
            imports += written.imports
            named += _is_named(near[0], parameter)
            used.append(near[0])
            pairs.append((parameter, near[0]))
            left.remove(near[0])
            score += written.worth
    full = Filled(tuple(given), tuple(missing), tuple(used), score, tuple(imports), named, pairs=tuple(pairs))
    full = _named_by_neighbours(full, item, left)
    return [plain] if full == plain else [full, plain]


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
                filled, given=(*filled.given, (named, value.code)), used=(*filled.used, value), score=filled.score + 1
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
    return [Filled(tuple(zip(required, members, strict=True)), (), tuple(held), DECLARED * len(required), packed=True)]


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
    return [Filled(((first, code),), (), tuple(literals), worth / 2, packed=True)]


def _in_star(item: Callable_, values: Sequence[Value]) -> list[Filled]:
    """All literals into `*args`, where nothing is required."""
    star = next((parameter for parameter in item.parameters if parameter.kind == "VAR_POSITIONAL"), None)
    literals = [value for value in values if value.literal is not None and not value.is_loose]
    if star is None or item.required or not literals:
        return []
    found = [Filled(tuple((star, value.code) for value in literals), (), tuple(literals), UNTYPED * len(literals))]
    real = [value for value in literals if not value.is_word]
    if len(literals) > 1:
        # One alone: the rest may be meant for what is done with the result.
        real.sort(key=lambda value: value.literal is None or value.literal.kind is not Kind.COLLECTION)
        found += [Filled(((star, value.code),), (), (value,), UNTYPED) for value in real[:2]]
    return found


def optional_fillings(item: Callable_, filled: Filled, values: Sequence[Value]) -> list[Filled]:
    """The same call with a literal more, for parameters that may be left out: where the plain call fell short."""
    left = [value for value in values if (value.literal or value.words) and value not in filled.used]
    left = [value for value in left if not _names(value, item) and not _says(value, item)]
    taken = {parameter.name for parameter, _ in filled.given}
    free = [one for one in item.parameters if not one.required and one.name not in taken]
    star = next((one for one in free if one.kind == "VAR_POSITIONAL"), None)
    free = [one for one in free if not one.kind.startswith("VAR_")]
    found = []
    in_order = list(zip(free, left, strict=False))
    certain = not any(value.is_word for value in left)
    if certain and len(left) > 1 and len(in_order) == len(left) and all(fit(value, one) for one, value in in_order):
        found.append(replace(_with_more(filled, in_order), score=10.0))
    if star is not None and left and not any(value.is_word for value in left):
        found.append(replace(_with_more(filled, [(star, value) for value in left]), score=DECLARED))
    for value in left[:3]:
        for parameter in free:
            if value.is_word and not value.imports and not beside(value, parameter):
                # It may be no value at all.
                continue
            if (worth := fit(value, parameter)) and _last_resort(value, parameter, left, ()):
                worth += EXAMPLE * parameter.shown
                worth += FIRST * (parameter is item.parameters[0])
                found.append(replace(_with_more(filled, [(parameter, value)]), score=worth))
    return sorted(found, key=lambda one: (-len(one.used), -one.score))[:4]


def _with_more(filled: Filled, more: Sequence[tuple[Parameter, Value]]) -> Filled:
    ways = [way(value, parameter) for parameter, value in more]
    return replace(
        filled,
        given=(*filled.given, *((parameter, one.code) for (parameter, _), one in zip(more, ways, strict=True))),
        used=(*filled.used, *(value for _, value in more)),
        pairs=(*filled.pairs, *more),
        named=filled.named + sum(_is_named(value, parameter) for parameter, value in more),
        guessed=filled.guessed + sum(_is_guess(value, parameter, filled) for parameter, value in more),
        imports=(*filled.imports, *(line for one in ways for line in one.imports)),
    )


def _is_named(value: Value, parameter: Parameter) -> bool:
    return value.literal is not None and beside(value, parameter) == 1.0


def _is_guess(value: Value, parameter: Parameter, filled: Filled) -> bool:
    """The first parameter of all is none."""
    return not (beside(value, parameter) or value.imports or filled.signature[:1] == (parameter.name,)) and (
        parameter.kind != "VAR_POSITIONAL"
    )
