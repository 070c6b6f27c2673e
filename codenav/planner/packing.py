"""Ways to fill a callable beside one value for one parameter: keywords of any name, flags, lists, dates, files."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Sequence
from dataclasses import replace

from codenav.planner.filled import Filled
from codenav.planner.literals import Kind
from codenav.planner.words import language
from codenav.planner.writing import OPENING, Value, content, is_text
from codenav.signatures.callables import CallableSignature, Parameter
from codenav.signatures.types import DECLARED, SENTINEL, UNTYPED, type_fit

USED = 0.7
"""What it counts that a literal of the request is used."""
GROUPED = 0.3
"""Taken off for literals that are put together into a list."""
CONTENTS, FLAG = 0.1, 0.8
"""Added for what a file holds where a text is asked for, taken off where it may be a file as well; added for a
parameter that is said to be true or false."""


def with_keywords(filled: Filled, item: CallableSignature, left: Sequence[Value]) -> Filled:
    """Keywords for `**kwargs`, named by the words before a literal: `keyword case 'upper'`, `scale 4`."""
    star = next((parameter for parameter in item.parameters if parameter.kind == "VAR_KEYWORD"), None)
    if star is None or filled.missing:
        return filled
    for value in left:
        if value.type == "path" and value.literal is not None and not value.literal.keyword:
            continue
        near = value.literal.before if value.literal is not None and not value.is_word else ()
        # `with the keyword case 'upper'`: all words back to one that joins; else the one after it: `2 days`.
        count = next((place for place, word in enumerate(near) if word in language().stop), 0)
        told = ["_".join(reversed(near[:count]))] if count and near[count] in _INTRODUCING else []
        alone = len(near) == 1 or (len(near) == 2 and near[1] in _INTRODUCING)
        if alone and not told and filled.given and near[0] not in language().verbs:
            # `with id 42, page 3 and per 20`
            told = [near[0]]
        after = value.literal.after if value.literal is not None else ""
        if value.literal is not None and value.literal.keyword:
            told = [value.literal.keyword]
        told = told or ([after] if after and after not in language().stop and value.type in ("int", "float") else [])
        if told and is_name_of_parameter(told[0]) and all(told[0] != parameter.name for parameter, _ in filled.given):
            named = Parameter(told[0], "KEYWORD_ONLY", False)
            filled = replace(
                filled,
                given=(*filled.given, (named, value.code)),
                used=(*filled.used, value),
                score=filled.score + 1 + USED,
            )
    return filled


def is_name_of_parameter(word: str) -> bool:
    """Whether Python takes it as one: not `with`."""
    return word.isidentifier() and not keyword.iskeyword(word)


_NAMED_VALUES = re.compile(
    r"(?:\w*_)?(?:dict|vars|variables|context|ctx|names|namespace|env|environ|locals|scope|values|mapping|params|bindings|data)"
)


def with_names(filled: Filled, item: CallableSignature, left: Sequence[Value]) -> list[Filled]:
    """The same with a dict of the values that have names: `for a = 3 and b = 16`."""
    named = [value for value in left if value.literal is not None and value.literal.keyword]
    free = [one for one in item.parameters if all(one.name != taken.name for taken, _ in filled.given)]
    takes = [one for one in free if _NAMED_VALUES.fullmatch(one.name) and type_fit("dict", one)]
    takes += [one for one in free if one not in takes and type_fit("dict", one) >= DECLARED]
    if not named or not takes or any(one is not takes[0] for one in filled.missing):
        return []
    code = ", ".join(f"{value.literal.keyword!r}: {value.code}" for value in named if value.literal is not None)
    return [
        replace(
            filled,
            given=(*filled.given, (takes[0], f"{{{code}}}")),
            missing=tuple(one for one in filled.missing if one is not takes[0]),
            used=(*filled.used, *named),
            score=filled.score + (1 + USED) * len(named),
        )
    ]


_INTRODUCING = frozenset(("with", "the", "a", "an", "and", "using"))


def with_contents(filled: Filled) -> list[Filled]:
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


def with_json(filled: Filled) -> list[Filled]:
    """The same with what a JSON file holds as Python's own values, where neither a text nor a file is asked for."""
    given, found = list(filled.given), False
    for place, (parameter, code) in enumerate(given):
        value = next((one for one in filled.used if one.code == code), None)
        literal = value.literal if value is not None and value.type == "path" else None
        if literal is None or not literal.there or not literal.text.lower().endswith(".json"):
            continue
        if not is_text(parameter) and type_fit("path", parameter) < DECLARED:
            given[place] = (parameter, f"json.loads(Path({literal.code}).read_text())")
            found = True
    if not found:
        return []
    imports = (*filled.imports, *OPENING, "import json")
    return [replace(filled, given=tuple(given), imports=imports, score=filled.score - 2 * CONTENTS)]


_FORMAT = re.compile(r"(?:file_?|out_?)?(?:format|fmt|ext|extension|suffix|file_?type)|\w+_format")


def with_ending(filled: Filled, item: CallableSignature) -> list[Filled]:
    """The same with the ending of a new file as its format: `export('a.wav', format='wav')`."""
    new = [value.literal for value in filled.used if value.literal and value.literal.kind is Kind.FILE]
    free = [one for one in item.parameters if all(one.name != taken.name for taken, _ in filled.given)]
    form = next((one for one in free if _FORMAT.fullmatch(one.name)), None)
    if form is None or len(new) != 1 or new[0].there or type_fit("str", form) < SENTINEL:
        return []
    code = repr(new[0].text.rpartition(".")[2].lower())
    missing = tuple(one for one in filled.missing if one.name != form.name)
    return [replace(filled, given=(*filled.given, (form, code)), missing=missing, score=filled.score - CONTENTS)]


def with_flags(filled: Filled, flags: Sequence[tuple[Parameter, Value]]) -> list[Filled]:
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


def spread(required: Sequence[Parameter], values: Sequence[Value]) -> list[Filled]:
    """Tuples whose members are just what is required: a box from (0, 0) to (2, 3)."""
    # Of literals in a row each goes to a parameter anyhow.
    held = [value for value in values if value.literal is not None and value.type in ("tuple", "list")]
    held = [value for value in held if not value.members]
    members = [repr(member) for value in held for member in ast.literal_eval(value.code)]
    if len(required) < 2 or len(members) != len(required):
        return []
    kinds = [Value(code, type(ast.literal_eval(code)).__name__) for code in members]
    if not all(type_fit(kind.type, parameter) for kind, parameter in zip(kinds, required, strict=True)):
        return []
    score = DECLARED * len(required) + USED * len(held)
    return [Filled(tuple(zip(required, members, strict=True)), (), tuple(held), score, packed=True)]


def packed(item: CallableSignature, values: Sequence[Value]) -> list[Filled]:
    """Several literals of one type as a list for the first parameter: a line from (0, 0) to (3, 4)."""
    literals = [value for value in values if value.literal is not None and not value.is_word]
    first = next((parameter for parameter in item.parameters if not parameter.kind.startswith("VAR_")), None)
    others = [parameter for parameter in item.required if parameter is not first]
    if first is None or others or len(literals) < 2 or len({value.type for value in literals}) > 1:
        return []
    code = f"[{', '.join(value.code for value in literals)}]"
    worth = type_fit("list", first)
    if worth < DECLARED and not (worth and first.required):
        return []
    score = worth - GROUPED + USED * len(literals)
    pairs = ((first, Value(code, "list")),)
    return [Filled(((first, code),), (), tuple(literals), score, pairs=pairs, packed=worth < DECLARED)]


_CALENDAR = (("year", "month", "day", "hour", "minute", "second"), ("Y", "M", "D", "H", "m", "sec"))
"""Names of parameters for the parts of a date."""


def by_calendar(free: Sequence[Parameter], values: Sequence[Value]) -> list[Filled]:
    """A date whose year, month and day are asked for one by one."""
    named = {parameter.name: parameter for parameter in free}
    dates = [value for value in values if value.literal is not None and value.literal.kind is Kind.DATE]
    units = next((units for units in _CALENDAR if set(units[:3]) <= named.keys()), ())
    if not dates or not units:
        return []
    told = [int(piece) for piece in re.findall(r"\d+", dates[0].code)]
    pieces = zip(units, told, strict=False)
    given = tuple((named[name], str(number)) for name, number in pieces if name in named)
    others = [one for one in free if one.required and one.name not in {taken.name for taken, _ in given}]
    return [] if others else [Filled(given, (), (dates[0],), len(given) + USED)]


def in_language(item: CallableSignature, values: Sequence[Value]) -> list[Filled]:
    """A class whose parameters are not known, of the language that a clause names: `Stemmer('french')`."""
    star = next((parameter for parameter in item.parameters if parameter.kind == "VAR_POSITIONAL"), None)
    if star is None or item.kind != "class" or item.required:
        return []
    codes = next(codes for names, codes in language().codes.items() if names.search("lang"))
    words = [value.literal.text.lower() for value in values if value.literal is not None and value.is_word]
    spoken = [Value(repr(word), "str", words=frozenset((word,))) for word in words if word in codes]
    return [Filled(((star, value.code),), (), (value,), UNTYPED + USED) for value in spoken[:1]]


def in_star(filled: Filled, item: CallableSignature, values: Sequence[Value]) -> list[Filled]:
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
    dates = [value for value in real if value.literal is not None and value.literal.kind is Kind.DATE]
    found = []
    if dates and not filled.given:
        # `Epoch(1957, 10, 4)`
        pieces = tuple((star, str(int(piece))) for piece in re.findall(r"\d+", dates[0].code)[:3])
        found = [replace(filled, given=pieces, used=(*filled.used, dates[0]), score=filled.score + USED)]
    return found + [
        replace(
            filled,
            given=(*filled.given, *((star, value.code) for value in more)),
            used=(*filled.used, *more),
            score=filled.score + (UNTYPED + USED) * sum(not value.is_word for value in more),
        )
        for more in ways
        if more
    ]
