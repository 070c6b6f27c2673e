"""Argument bindings, and strategies besides one value for one parameter: keywords, lists, tuples, dates, contents."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from codenav.planner.calls import Fit
from codenav.planner.language import language
from codenav.planner.literals import Kind
from codenav.planner.values import OPENING, Value, content, fit
from codenav.signatures.callables import CallableSignature, Parameter
from codenav.signatures.types import DECLARED, EXACT, UNTYPED, takes_text, type_fit

USED, GROUPED = 0.7, 0.3
"""Score added for a literal of the request that is used; taken off for literals that are put together into a list."""
CONTENTS = 0.1
"""Score added for what a file holds where a text is asked for, taken off where it may be a file as well."""
_ORDER = {"POSITIONAL_ONLY": 0, "POSITIONAL_OR_KEYWORD": 0, "VAR_POSITIONAL": 1, "KEYWORD_ONLY": 2}


@dataclass(frozen=True)
class Binding:
    """Values for the parameters of a callable, and parameters for which a value is still to be found."""

    given: tuple[tuple[Parameter, str], ...]
    missing: tuple[Parameter, ...]
    used: tuple[Value, ...]
    score: float
    imports: tuple[str, ...] = ()
    named: int = 0
    """The field of that name in `calls.Fit`; so are `guessed` and `packed`."""
    guessed: int = 0
    signature: tuple[str, ...] = ()
    """The names of all parameters, in their order."""
    pairs: tuple[tuple[Parameter, Value], ...] = ()
    """The parameter of each value, as far as one value went to one parameter."""
    packed: bool = False

    def with_(self, parameter: Parameter, code: str, *used: Value, worth: float) -> Binding:
        """The binding with one parameter more."""
        return replace(
            self,
            given=(*self.given, (parameter, code)),
            missing=tuple(one for one in self.missing if one.name != parameter.name),
            used=(*self.used, *used),
            score=self.score + worth,
        )

    @property
    def fit(self) -> Fit:
        """The fit of what it uses."""
        worths = (min(fit(value, parameter), EXACT) for parameter, value in self.pairs)
        worst = min(worths, default=UNTYPED if self.used else EXACT)
        return Fit((), frozenset(self.used), (), self.named, self.guessed, worst, self.packed)

    def arguments(self, found: Mapping[str, str] = MappingProxyType({})) -> str:
        """The text between the parentheses of the call; `found` are expressions for what was missing, by parameter."""
        places = {name: number for number, name in enumerate(self.signature)}
        given = [*self.given, *((one, found[one.name]) for one in self.missing if one.name in found)]
        given.sort(key=lambda pair: (_ORDER.get(pair[0].kind, 3), not pair[0].required, places.get(pair[0].name, 99)))
        shown: list[str] = []
        named = False
        for parameter, code in given:
            plain = parameter.kind == "VAR_POSITIONAL" or (parameter.kind == "POSITIONAL_ONLY" and not named)
            named = named or not (plain or (parameter.kind != "KEYWORD_ONLY" and parameter.required))
            shown.append(f"{parameter.name}={code}" if named and not plain else code)
        return ", ".join(shown)


def widened(plain: Binding, item: CallableSignature, left: Sequence[Value]) -> Iterator[Binding]:
    """A binding, and variants with some of the values that are `left`, or with what its files hold."""
    for one in (_with_keywords(plain, item, left), plain, *_in_star(plain, item, left)):
        yield from _with_contents(one)
        yield one


def _star(item: CallableSignature, kind: str) -> Parameter | None:
    return next((parameter for parameter in item.parameters if parameter.kind == kind), None)


def _with_keywords(plain: Binding, item: CallableSignature, left: Sequence[Value]) -> Binding:
    """The binding with keywords for `**kwargs`, named by words beside a literal: `scale=4`, `with id 42`, `2 days`."""
    if _star(item, "VAR_KEYWORD") is None or plain.missing:
        return plain
    for value in left:
        literal, stop = value.literal, language().stop
        if literal is None or (value.type == "path" and not literal.keyword):
            continue
        near = literal.before if not value.is_word else ()
        told = literal.keyword
        if not told and near and plain.given and near[0] not in language().verbs:
            told = near[0] if len(near) == 1 or near[1] in ("with", "the", "a", "an", "and", "using") else ""
        if not told and literal.after not in stop and value.type in ("int", "float"):
            told = literal.after
        taken = {parameter.name for parameter, _ in plain.given}
        if told.isidentifier() and not keyword.iskeyword(told) and told not in taken:
            named = Parameter(told, "KEYWORD_ONLY", False)
            plain = plain.with_(named, value.code, value, worth=1 + USED)
    return plain


def _in_star(plain: Binding, item: CallableSignature, values: Sequence[Value]) -> Iterator[Binding]:
    """The binding with literals that are left in `*args`: all, and where nothing is required one alone."""
    star = _star(item, "VAR_POSITIONAL")
    left = [value for value in values if value.literal is not None and not value.is_loose]
    real = [value for value in left if not value.is_word]
    if star is None or not left or plain.guessed:
        return
    ways = [left, real] if len(real) < len(left) else [left]
    if not item.required and len(left) > 1:
        # Also one alone: the rest may be meant for what is done with the result.
        ways += [[value] for value in sorted(real, key=lambda value: value.kind is not Kind.COLLECTION)[:2]]
    for more in filter(None, ways):
        yield replace(
            plain,
            given=(*plain.given, *((star, value.code) for value in more)),
            used=(*plain.used, *more),
            score=plain.score + (UNTYPED + USED) * sum(not value.is_word for value in more),
        )


def _with_contents(plain: Binding) -> list[Binding]:
    """The binding with what files hold, where a text is asked for and not a file."""
    given, pairs, worth = list(plain.given), list(plain.pairs), 0.0
    for place, (parameter, code) in enumerate(given):
        value = next((one for one in plain.used if one.code == code), None)
        if value is not None and (inside := content(value, parameter)):
            given[place] = (parameter, inside)
            shown = Value(inside, "bytes" if "bytes" in inside else "str", imports=OPENING)
            pairs = [(one, shown if one is parameter else other) for one, other in pairs]
            worth = CONTENTS if takes_text(parameter) else -CONTENTS
    if tuple(given) == plain.given:
        return []
    imports = (*plain.imports, *OPENING)
    return [replace(plain, given=tuple(given), pairs=tuple(pairs), imports=imports, score=plain.score + worth)]


def spread(required: Sequence[Parameter], values: Sequence[Value]) -> list[Binding]:
    """Bindings of tuples whose members are just what is required: a box from (0, 0) to (2, 3)."""
    # Literals in a row are left out: each of them goes to a parameter anyhow.
    held = [one for one in values if one.literal is not None and one.type in ("tuple", "list") and not one.members]
    members = [member for value in held for member in ast.literal_eval(value.code)]
    pairs = list(zip(required, members, strict=False))
    if len(required) < 2 or len(members) != len(required):
        return []
    if not all(type_fit(type(member).__name__, parameter) for parameter, member in pairs):
        return []
    given = tuple((parameter, repr(member)) for parameter, member in pairs)
    return [Binding(given, (), tuple(held), DECLARED * len(required) + USED * len(held), packed=True)]


def packed(item: CallableSignature, values: Sequence[Value]) -> list[Binding]:
    """Bindings of several literals of one type as a list for the first parameter: a line from (0, 0) to (3, 4)."""
    literals = [value for value in values if value.literal is not None and not value.is_word]
    first = next((parameter for parameter in item.parameters if not parameter.kind.startswith("VAR_")), None)
    alone = all(parameter is first for parameter in item.required)
    if first is None or not alone or len(literals) < 2 or len({value.type for value in literals}) > 1:
        return []
    code = f"[{', '.join(value.code for value in literals)}]"
    worth = type_fit("list", first)
    if worth < DECLARED and not (worth and first.required):
        return []
    score = worth - GROUPED + USED * len(literals)
    pairs = ((first, Value(code, "list")),)
    return [Binding(((first, code),), (), tuple(literals), score, pairs=pairs, packed=worth < DECLARED)]
