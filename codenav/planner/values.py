"""Values for parameters: the way to write each, and its fit to one by type, name and the words beside it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from codenav.planner.language import language, likeness
from codenav.planner.literals import TEXTS, Kind, Literal, word_parts
from codenav.signatures.callables import CallableSignature, Parameter
from codenav.signatures.names import parts
from codenav.signatures.types import (
    DECLARED,
    EXACT,
    SENTINEL,
    UNTYPED,
    choices,
    content_type,
    is_open_file,
    is_output,
    is_path,
    may_be_file,
    type_fit,
)

GOES_ON = 0.4
"""Score added for the result of an earlier clause."""
AS_TEXT = 0.6
"""The worth of a number as a text, and of a text as a number or a list of one."""
CODED = 0.8
"""The worth of a code that a word stands for."""
WORD = 0.4
"""The factor of a value that may as well be a word of the request."""
AS_PATH = 0.2
"""The worth of a text that looks like no path as one."""
BESIDE = 0.8
"""Score added where a word beside the value is the parameter's name."""
DATED = 0.8
"""The fit of a parameter named after dates or times to a date."""
NEXT, TOLD, TOLD_WORDS = 0.9, 0.7, 6
"""The quality with which a word names a parameter that is the next one which says something, and one that is among so
many first words of what the docstring says of it."""


@dataclass(frozen=True)
class Value:
    """A value that a parameter can be given: a literal, or the result of an earlier call."""

    code: str
    type: str
    """The name of its Python type; `date` and `path` for texts that look like one."""
    literal: Literal | None = None
    imports: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    """The words of the clause that name it, if it is a constant or a literal that may as well be a word."""
    members: tuple[Value, ...] = ()
    """The values in a list of several literals."""

    @property
    def kind(self) -> Kind | None:
        """The kind of its literal; None where it has none."""
        return self.literal.kind if self.literal is not None else None

    @property
    def is_word(self) -> bool:
        """True if it may as well be a word of the request as a value: `ASCII`, `snake_case`."""
        if self.literal is None or self.kind not in (Kind.CODE, Kind.WORD):
            return False
        return self.kind is not Kind.CODE or self.literal.text.replace("-", "_").rstrip("#").isidentifier()

    @property
    def is_plain_word(self) -> bool:
        """True if it looks like any word of the language."""
        return self.is_word and self.literal is not None and bool(re.fullmatch(r"[a-z]+", self.literal.text))

    @property
    def is_name(self) -> bool:
        """True if a word that may be a value is a name: `of Mongolia`."""
        return self.is_word and self.literal is not None and bool(re.fullmatch(r"[A-Z][a-z]+", self.literal.text))

    @property
    def is_loose(self) -> bool:
        """True if it is a value only where a parameter names it as a choice."""
        return self.kind is Kind.WORD

    @property
    def is_there(self) -> bool:
        """True if it is a file of the work folder."""
        return self.literal is not None and self.literal.there

    @classmethod
    def of(cls, literal: Literal) -> Value:
        """A literal as a value."""
        if literal.kind in (Kind.FILE, Kind.DATE):
            return cls(literal.code, "path" if literal.kind is Kind.FILE else "date", literal)
        words = frozenset(word_parts(literal)) if literal.kind is Kind.CODE else frozenset[str]()
        if literal.kind is Kind.WORD:
            words = frozenset((literal.text.lower(),))
        return cls(literal.code, type(ast.literal_eval(literal.code)).__name__, literal, (), words)

    @classmethod
    def group(cls, literals: Sequence[Literal]) -> Value:
        """Several literals as one list."""
        members = tuple(cls.of(literal) for literal in literals)
        return cls(f"[{', '.join(value.code for value in members)}]", "list", literals[0], members=members)


@dataclass(frozen=True)
class Way:
    """A value written for a parameter."""

    code: str
    worth: float
    imports: tuple[str, ...] = ()


@lru_cache(maxsize=10_000)
def way(value: Value, parameter: Parameter) -> Way:
    """The best way to write a value for a parameter, with its fit there; worth 0 where it cannot go there."""
    wanted = parameter.type.strip("'\"")
    if value.literal is None or value.imports:
        return _object(value, parameter, wanted)
    literal = value.literal
    if code := coded(value, parameter):
        return Way(repr(code), CODED)
    is_choice = literal.text in choices(parameter) and value.code != parameter.default
    near = beside(value, parameter)
    if (
        (value.is_loose and not is_choice)
        # A file is no title, comment or separator, and what is there is not written over.
        or (value.kind is Kind.FILE and not parameter.required and not may_be_file(parameter))
        or (value.is_there and is_output(parameter))
        or (value.is_word and re.search(r"[Pp]ath\b|IO\b|^file", f"{wanted} {parameter.name}"))
    ):
        return Way(value.code, 0.0)
    best = max(_ways(value, literal, parameter, wanted), key=lambda one: one.worth)
    like_path = value.kind not in (Kind.TEXT, Kind.NUMBER) or re.search(r"[/.\\]", literal.text)
    if not like_path and is_path(parameter):
        # `with name 'Ann'` is no `filename`.
        best = Way(best.code, min(best.worth, AS_PATH), best.imports)
        near = near if near == 1.0 else 0.0
    if not best.worth and not (near == 1.0 and re.search(r"[A-Z]", wanted)):
        return best
    factor = WORD if value.is_word else 1.0
    return Way(best.code, (best.worth or SENTINEL) * factor + BESIDE * near, best.imports)


def _object(value: Value, parameter: Parameter, wanted: str) -> Way:
    """The way to write an earlier clause's result, or a constant: a constant goes where its class is asked for."""
    worth = EXACT if re.search(rf"\b{re.escape(value.type)}\b", wanted) else type_fit(value.type, parameter)
    named = _of_name(value, parameter) + BESIDE * (beside(value, parameter) == 1.0)
    if named and value.imports:
        worth = max(worth, UNTYPED)
    option = parameter.required and value.code.isupper() and value.type.islower()
    if option or (value.words and worth < EXACT and not named):
        # A mere number or text is one of several options.
        worth = 0.0
    # A result from before is what a clause goes on with.
    return Way(value.code, worth + named + GOES_ON * (not value.words) if worth else 0.0, value.imports)


_AMOUNT = re.compile(
    r"indent|width|height|count|size|length|depth|level|limit|digits|decimals|^n$|^n_|^num_|^max_|^min_"
)


def _ways(value: Value, literal: Literal, parameter: Parameter, wanted: str) -> Iterator[Way]:
    yield Way(value.code, type_fit(value.type, parameter))
    text = type_fit("str", parameter)
    if value.type == "str" and type_fit("list", parameter) >= DECLARED and not text:
        yield Way(f"[{value.code}]", AS_TEXT)
    if literal.kind is Kind.NUMBER and text >= DECLARED and literal.after not in language().asking:
        # A docstring may tell of one of two types: `indent`.
        yield Way(value.code if _AMOUNT.search(parameter.name) else repr(literal.text), AS_TEXT)
    if value.type == "str" and type_fit("int", parameter) >= DECLARED and not text:
        inside = ast.literal_eval(value.code)
        if re.fullmatch(r"-?\d+(?:\.\d+)?", inside):
            yield Way(inside, AS_TEXT)
    if literal.kind is Kind.DATE and re.search(r"\b(?:date|datetime)\b", wanted, re.IGNORECASE):
        yield as_date(literal, datetime=bool(re.search(r"\bdatetime\b(?!\.)", wanted)))
    if literal.kind is Kind.FILE and is_open_file(parameter):
        yield Way(opened(literal, parameter), EXACT, OPENING)
    if literal.kind is Kind.FILE and re.fullmatch(r"(?:pathlib\.)?Path", wanted):
        yield Way(f"Path({literal.code})", EXACT, OPENING)


def fit(value: Value, parameter: Parameter) -> float:
    """The fit of a value to a parameter; 0 where it cannot go there."""
    return way(value, parameter).worth


@lru_cache(maxsize=10_000)
def coded(value: Value, parameter: Parameter) -> str:
    """The code that a word stands for where a parameter takes such codes: `fr` for French, `EUR` for euros."""
    if not value.is_word or value.literal is None or type_fit("str", parameter) < SENTINEL:
        return ""
    if value.literal.text in choices(parameter):
        return ""
    word = value.literal.text.lower()
    found = (codes[word] for names, codes in language().codes.items() if word in codes and names.search(parameter.name))
    return next(found, "")


def as_date(literal: Literal, *, datetime: bool) -> Way:
    """The way to write a date as an object."""
    kind = "datetime" if datetime or len(literal.code) > len("'2024-07-04'") else "date"
    return Way(f"{kind}.fromisoformat({literal.code})", EXACT, (f"from datetime import {kind}",))


OPENING = ("from pathlib import Path",)


def content(value: Value, parameter: Parameter) -> str:
    """The code for a file's content, with `OPENING`; empty if the parameter takes the file itself, or there is none."""
    literal = value.literal
    if literal is None or not literal.there:
        return ""
    kind = content_type(parameter, literal.ending, text=literal.ending in TEXTS)
    return f"Path({literal.code}).read_{'bytes' if kind == 'bytes' else 'text'}()" if kind else ""


def opened(literal: Literal, parameter: Parameter) -> str:
    """The code for an open file, with `OPENING`: `open` may be a function of the package by now."""
    binary = re.search(r"bytes|binary", f"{parameter.type} {parameter.text}", re.IGNORECASE)
    plain = literal.ending in TEXTS and not binary
    mode = ("'w'" if plain else "'wb'") if is_target(literal) else "" if plain else "'rb'"
    return f"Path({literal.code}).open({mode})"


def is_target(literal: Literal) -> bool:
    """True if a file is not there, and is to be written."""
    told = literal.before[0] if literal.before else ""
    return not literal.there and bool(re.fullmatch(language().patterns["target"], told))


def _of_name(value: Value, parameter: Parameter) -> float:
    """The score added where the class of a result names the parameter: a `Basket` for `basket`."""
    pairs = [(one, other) for one in parts(value.type)[-1:] for other in parts(parameter.name)]
    alike = (1.0 if len(one) > 2 and other.startswith(one) else likeness(one, other) for one, other in pairs)
    return BESIDE * max(alike, default=0.0)


def is_in_name(value: Value, item: CallableSignature) -> bool:
    """True if a number is in the name of a callable or its module."""
    if value.literal is None or value.kind is not Kind.NUMBER:
        return False
    digits = re.sub(r"\W", "", value.literal.text)
    return any(digits in parts(name) for name in (item.expression, item.name, item.module.rpartition(".")[2]))


_MOMENT = re.compile(r"date|time(?!out|zone|_?zone)|start|since|until|when|moment|\bday\b|\bdt\b")


def beside(value: Value, parameter: Parameter) -> float:
    """The quality with which a word beside the literal names the parameter: `width 200`, `3 decimals`, `by='name'`."""
    literal, known = value.literal, language()
    if literal is None:
        return 0.0
    if value.is_word and literal.text in choices(parameter):
        return 1.0
    if literal.keyword:
        return float(literal.keyword == parameter.name)
    if literal.kind is Kind.DATE and _MOMENT.search(parameter.name):
        return DATED
    if literal.after and re.search(rf"[\[(]{re.escape(literal.after)}[\])]", parameter.text, re.IGNORECASE):
        # `Temperature, [K]` for 300 K.
        return 1.0
    near = [*zip(literal.before[:2], (1.0, 0.5), strict=False), (literal.after, 1.0)]
    # `at a rate of 0.05`
    telling = [word for word in literal.before[:3] if word not in known.stop]
    near += [(word, NEXT) for word in telling[:1] if word not in known.verbs]
    own = parts(parameter.name)
    each = [max((worth * known.within(word, part) for word, worth in near), default=0.0) for part in own]
    # A counter names half of `initial_count`.
    named = max(each, default=0.0) * (sum(one >= 0.5 for one in each) / len(own)) ** 0.5 if own else 0.0
    if named >= TOLD or not parameter.text:
        return named
    told = parts(" ".join(parameter.text.split()[:TOLD_WORDS]))
    words = [word for word, worth in near if worth >= NEXT and word not in known.verbs and len(word) > 1]
    said = any(known.likeness(word, other) == 1.0 for word in words for other in told)
    return max(named, TOLD * said)
