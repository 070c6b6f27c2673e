"""The search for argument bindings: the assignment of values to the parameters of a callable."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from codenav.planner.binding import GROUPED, USED, Binding, packed, spread, widened
from codenav.planner.literals import Kind
from codenav.planner.values import Value, Way, beside, coded, fit, is_in_name, way
from codenav.signatures.callables import CallableSignature, Parameter
from codenav.signatures.names import parts
from codenav.signatures.types import DECLARED, UNTYPED, type_fit

WAYS, WORSE, BEAM = 7, 2.5, 60
"""Maximum bindings that are tried, how far below the best one's a score may be, and bindings that are followed up."""
GUESS = 0.6
"""Score taken off for a parameter that may be left out and that no word names."""
APART = 0.8
"""Score taken off for a guess that takes one literal out of a row."""
NO_OBJECT = 0.8
"""Score taken off for a plain value where an object is asked for."""
MADE, UNKNOWN, PLAIN = 0.2, 0.8, 1.2
"""Score taken off for a parameter that has to be made: of a class that is known, of no type, of any other type."""
FIRST = 0.5
"""Score added for the first parameter of all, where it may be left out."""
HALF = 0.5
"""Part of a parameter's name: a literal beside which more of it is said goes there unasked."""
SWAPPED = 0.9
"""Score taken off for each literal that stands before another one in the signature and after it in the request."""


def bindings(item: CallableSignature, values: Sequence[Value], classes: Collection[str] = ()) -> list[Binding]:
    """The ways to bind some of the values to a callable's parameters, best first; `classes` are those that can be made.

    A beam search: each value goes to a parameter that it fits, or nowhere.
    """
    values = [value for value in values if not _names(value, item) and not _says(value, item)]
    values = [value for value in values if any(fit(value, one) or one.kind == "VAR_KEYWORD" for one in item.parameters)]
    free = [one for one in item.parameters if not one.kind.startswith("VAR_")]
    states = [_State()]
    for value in sorted(values, key=lambda value: bool(value.members)):
        more = [other for state in states for other in _placed(state, value, free, item, values)]
        states = sorted([*states, *more], key=lambda state: -state.score)[:BEAM]
    found: list[Binding] = []
    for state in states:
        if all(_last_resort(value, one, values, state.used) for one, value, _ in state.pairs):
            plain = _bound(state, free, classes)
            found += widened(plain, item, [one for one in values if one not in plain.used and not one.members])
    found += [*spread([one for one in free if one.required], values), *packed(item, values)]
    names = tuple(parameter.name for parameter in item.parameters)
    kept: dict[tuple[tuple[str, str], ...], Binding] = {}
    for one in sorted(found, key=lambda one: -one.score):
        kept.setdefault(tuple((parameter.name, code) for parameter, code in one.given), replace(one, signature=names))
    ranked = list(kept.values())
    ways = [one for one in ranked[:WAYS] if one.score >= ranked[0].score - WORSE]
    # Values that are left may be needed for what is missing.
    making = [] if any(one.missing for one in ways) else [one for one in ranked if one.missing]
    # For an object's maker, what goes in for sure: the rest may be meant for what is done with the object.
    sure = [one for one in ranked if item.kind == "class" and one.used and not (one.guessed or one.missing)]
    return [*ways, *making[:1], *(one for one in sure[:1] if one not in ways)]


@dataclass(frozen=True)
class _State:
    """The values bound so far."""

    pairs: tuple[tuple[Parameter, Value, Way], ...] = ()
    score: float = 0.0
    last: tuple[int, int] = (-1, -1)
    """The place of the parameter that the last literal went to, and of the literal in the request."""
    guessed: int = 0

    @property
    def used(self) -> tuple[Value, ...]:
        return tuple(value for _, value, _ in self.pairs)


def _placed(
    state: _State, value: Value, free: Sequence[Parameter], item: CallableSignature, values: Sequence[Value]
) -> Iterator[_State]:
    """The states with one value more."""
    if any(value in (one, *one.members) or one in value.members for one in state.used):
        return
    for place, parameter in enumerate(free):
        written = way(value, parameter)
        if not written.worth or any(parameter is one for one, _, _ in state.pairs):
            continue
        near = beside(value, parameter)
        score, guess = written.worth, False
        if not parameter.required:
            said = bool(value.imports or coded(value, parameter))
            named = place == 0 and parameter.default == "None" and value.is_name
            if value.is_word and not (said or near or named or may_choose(value, parameter)):
                # The word may be no value at all.
                continue
            if value.is_word and any(beside(one, parameter) >= near > 0 for one in values if not one.is_word):
                continue
            guess = not (near or said or place == 0)
            score += FIRST * (place == 0)
            score -= GUESS * (1 + state.guessed / 2) * (near <= HALF and not said)
            score -= APART * (guess and any(value in group.members for group in values))
        here = (place, value.literal.start) if value.literal is not None and near < 1.0 else state.last
        swapped = (here[0] < state.last[0]) != (here[1] < state.last[1])
        # Several as one list count a little less.
        use = USED * len(value.members) - GROUPED if value.members else USED * (not value.is_word)
        yield _State(
            (*state.pairs, (parameter, value, written)),
            state.score + score + (0.0 if is_in_name(value, item) else use) - SWAPPED * swapped,
            here,
            state.guessed + guess,
        )


def _bound(state: _State, free: Sequence[Parameter], classes: Collection[str]) -> Binding:
    taken = [parameter for parameter, _, _ in state.pairs]
    missing = tuple(one for one in free if one.required and not any(one is other for other in taken))
    score = state.score
    for one in missing:
        score -= MADE if is_made(one, classes) else PLAIN if one.type else UNKNOWN
    for parameter, value, _ in state.pairs:
        # An object is asked for, and such objects can be made.
        score -= NO_OBJECT * (value.literal is not None and is_made(parameter, classes))
    return Binding(
        tuple((parameter, written.code) for parameter, _, written in state.pairs),
        missing,
        tuple(one for parameter, value, _ in state.pairs for one in _as_used(value, parameter)),
        score,
        tuple(line for _, _, written in state.pairs for line in written.imports),
        sum(beside(value, parameter) == 1.0 for parameter, value, _ in state.pairs),
        state.guessed,
        pairs=tuple((parameter, value) for parameter, value, _ in state.pairs),
        packed=any(value.members and type_fit("list", parameter) < DECLARED for parameter, value, _ in state.pairs),
    )


def _as_used(value: Value, parameter: Parameter) -> Sequence[Value]:
    """The values that went in: the members of a list, and the code that a word stands for."""
    if code := coded(value, parameter):
        return (Value(repr(code), "str", words=value.words),)
    return value.members or (value,)


_CHOOSING = re.compile(r"unit|format|fmt|lang|locale|dialect|\bto\b|mode|style|base$|notation|encoding|scheme|space")


def may_choose(value: Value, parameter: Parameter) -> bool:
    """True if a word after `in` or `to` may be what a parameter chooses: `in days` for the unit."""
    spoken = value.literal is not None and value.literal.before[:1] and value.kind is Kind.CODE
    return bool(spoken and _CHOOSING.search(parameter.name))


def is_made(parameter: Parameter, classes: Collection[str]) -> bool:
    """True if a parameter takes an object of one of the classes, and nothing plain."""
    told = re.findall(r"\w+", parameter.type.lower())
    plain = any(type_fit(kind, parameter) >= UNTYPED for kind in ("str", "int", "list", "dict", "path"))
    return any(word in classes for word in told) and not plain


def _names(value: Value, item: CallableSignature) -> bool:
    """True if a word of code shape is what the callable is called, not what it takes: `JWT`, `base58`."""
    if not value.is_word or value.literal is None:
        return False
    plain = value.literal.text.lower()
    return plain in f"{item.module}.{item.expression}".lower() or re.sub(r"\W|_", "", plain) == item.name.lower()


def _says(value: Value, item: CallableSignature) -> bool:
    """True if a plain word is what a parameter is called, not what it takes: `to the box (1, 2)`."""
    if not value.is_word or value.literal is None or value.literal.text != value.literal.text.lower():
        return False
    return any(value.literal.text == part for parameter in item.parameters for part in parts(parameter.name))


def _last_resort(value: Value, parameter: Parameter, values: Sequence[Value], taken: Sequence[Value]) -> bool:
    """True if a word of the request, if it is one, may be a value here: no literal that is left fits as well."""
    if not value.is_word or coded(value, parameter):
        return True
    left = (one for one in values if one.literal is not None and not one.is_word and one not in taken)
    return not any(fit(other, parameter) >= UNTYPED for other in left)
