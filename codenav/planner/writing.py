"""How a value is written for a parameter, and how well it goes with it: by type, by name, by the words beside it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from codenav.planner.literals import TEXTS, Kind, Literal, word_parts
from codenav.planner.words import language, likeness
from codenav.signatures.callables import CallableSignature, Parameter
from codenav.signatures.names import parts, stem
from codenav.signatures.types import DECLARED, EXACT, SENTINEL, UNTYPED, is_open_file, type_fit

GOES_ON = 0.4
"""Added for the result of an earlier clause."""
AS_TEXT = 0.6
"""What a number is worth as a text, and a text as a number."""
CODED = 0.8
"""What a code is worth that a word stands for."""
WORD = 0.4
"""Factor where the value may as well be a word of the request."""
AS_PATH = 0.2
"""What a text that looks like none is worth as a path."""
BESIDE = 0.8
"""Added where a word beside the value is the parameter's name."""


@dataclass(frozen=True)
class Value:
    """Something that a parameter can be given: a literal, or the result of an earlier call."""

    code: str
    type: str
    """Name of its Python type; `date` and `path` for texts that look like one."""
    literal: Literal | None = None
    imports: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    """The words of the clause that name it: of a constant, of a literal that may as well be a word."""
    members: tuple[Value, ...] = ()
    """Of several literals as one list: these."""

    @property
    def is_word(self) -> bool:
        """Whether it may as well be a word of the request as a value: `ASCII`, `snake_case`."""
        if self.literal is None or self.literal.kind not in (Kind.CODE, Kind.WORD, Kind.SPELLED):
            return False
        return (
            self.is_loose
            or self.literal.kind is Kind.SPELLED
            or self.literal.text.replace("-", "_").rstrip("#").isidentifier()
        )

    @property
    def is_spelled_number(self) -> bool:
        """Whether it is a number in words that counts nothing in the request itself: `groups of three`, `three times`,
        but not `the two words`."""
        if self.literal is None or self.literal.kind is not Kind.SPELLED or self.type != "int":
            return False
        return not language().determiners & set(self.literal.before[:1])

    @property
    def is_plain_word(self) -> bool:
        """Whether it looks like any word of the language."""
        return self.is_word and self.literal is not None and bool(re.fullmatch(r"[a-z]+", self.literal.text))

    @property
    def is_loose(self) -> bool:
        """Whether it is a value only where a parameter names it as a choice."""
        return self.literal is not None and self.literal.kind is Kind.WORD

    @classmethod
    def of(cls, literal: Literal) -> Value:
        """A literal as a value."""
        if literal.kind is Kind.FILE:
            return cls(literal.code, "path", literal)
        if literal.kind is Kind.DATE:
            return cls(literal.code, "date", literal)
        words = frozenset(word_parts(literal)) if literal.kind is Kind.CODE else frozenset[str]()
        if literal.kind in (Kind.SPELLED, Kind.WORD):
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
    """How a value is best written for a parameter, and how well it goes with it; worth 0 where it cannot."""
    wanted = parameter.type.strip("'\"")
    if value.literal is None or value.imports:
        worth = EXACT if re.search(rf"\b{re.escape(value.type)}\b", wanted) else type_fit(value.type, parameter)
        named = _of_name(value, parameter) + BESIDE * (beside(value, parameter) == 1.0)
        if named and value.imports:
            worth = max(worth, UNTYPED)
        if parameter.required and value.code.isupper() and value.type.islower():
            # A mere number or text is one of several options.
            worth = 0.0
        if value.words and worth < EXACT and not named:
            # A constant goes where its class is asked for.
            worth = 0.0
        # What came before is what a clause goes on with.
        return Way(value.code, worth + named + GOES_ON * (not value.words) if worth else 0.0, value.imports)
    if code := coded(value, parameter):
        return Way(repr(code), CODED)
    if is_kind(value, parameter):
        return Way(value.code, CODED)
    if choice := chosen(value, parameter):
        return Way(repr(choice), DECLARED + BESIDE)
    if value.is_loose and value.literal.text not in choices(parameter) and _is_proper(value, parameter):
        # `a Haar wavelet`
        return Way(value.code, WORD)
    if value.is_loose and (value.literal.text not in choices(parameter) or value.code == parameter.default):
        return Way(value.code, 0.0)
    if value.literal.kind is Kind.SPELLED and not (beside(value, parameter) or value.is_spelled_number):
        return Way(value.code, 0.0)
    if value.literal.kind is Kind.FILE and not parameter.required and not _may_be_file(parameter):
        # It is no title, comment or separator.
        return Way(value.code, 0.0)
    if value.literal.there and _WRITTEN.search(parameter.name):
        # What is there is not written over.
        return Way(value.code, 0.0)
    if value.is_word and re.search(r"[Pp]ath\b|IO\b|^file", f"{wanted} {parameter.name}"):
        return Way(value.code, 0.0)
    best = max(_ways(value, value.literal, parameter, wanted), key=lambda one: one.worth)
    is_path = value.literal.kind not in (Kind.TEXT, Kind.NUMBER) or re.search(r"[/.\\]", value.literal.text)
    if not is_path and _PATH.search(f"{parameter.name} {wanted}"):
        best = Way(best.code, min(best.worth, AS_PATH), best.imports)
    near = beside(value, parameter)
    if not is_path and near < 1.0 and _PATH.search(parameter.name):
        # `with name 'Ann'` is no `filename`.
        near = 0.0
    if not best.worth and not (near == 1.0 and re.search(r"[A-Z]", wanted)):
        return best
    worth = (best.worth or SENTINEL) * (WORD if value.is_word and not value.is_spelled_number else 1.0) + BESIDE * near
    return Way(best.code, worth, best.imports)


_AMOUNT = re.compile(
    r"indent|width|height|count|size|length|depth|level|limit|digits|decimals|^n$|^n_|^num_|^max_|^min_"
)


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


@lru_cache(maxsize=10_000)
def is_kind(value: Value, parameter: Parameter) -> bool:
    """Whether a word is the name of what a parameter is called after: `in Italy` for `country`."""
    kind = _NAMED_AFTER.search(parameter.name)
    if kind is None or not value.is_word or value.literal is None or type_fit("str", parameter) < SENTINEL:
        return False
    word = value.literal.text.lower()
    return any(word in codes for names, codes in language().codes.items() if names.search(_CODED_AS[kind.group()]))


_NAMED_AFTER = re.compile(r"lang|curr|countr")
_CODED_AS = {"lang": "lang", "curr": "curr", "countr": "country_code"}
"""A name that the table of such words goes with."""


def is_name(value: Value) -> bool:
    """Whether a word that may be a value is a name: `of Mongolia`."""
    return value.is_word and value.literal is not None and bool(re.fullmatch(r"[A-Z][a-z]+", value.literal.text))


def _is_proper(value: Value, parameter: Parameter) -> bool:
    """Whether a word is a name, and the one beside it what a parameter that must be given is called."""
    word = value.literal.text if value.literal is not None else ""
    named = parameter.required and word[:1].isupper() and bool(value.literal and value.literal.before)
    return named and type_fit("str", parameter) >= UNTYPED and beside(value, parameter) == 1.0


def fit(value: Value, parameter: Parameter) -> float:
    """How well a value goes with a parameter; 0 where it cannot."""
    return way(value, parameter).worth


def _ways(value: Value, literal: Literal, parameter: Parameter, wanted: str) -> Iterator[Way]:
    yield Way(value.code, type_fit(value.type, parameter))
    if value.type == "str" and type_fit("list", parameter) >= DECLARED and not type_fit("str", parameter):
        yield Way(f"[{value.code}]", AS_TEXT)
    counts = literal.after in language().asking
    if literal.kind is Kind.NUMBER and type_fit("str", parameter) >= DECLARED and not counts:
        # A docstring may tell of one of two types: `indent`.
        yield Way(repr(literal.text), AS_TEXT) if not _AMOUNT.search(parameter.name) else Way(value.code, AS_TEXT)
    if value.type == "str" and type_fit("int", parameter) >= DECLARED and not type_fit("str", parameter):
        inside = ast.literal_eval(value.code)
        if re.fullmatch(r"-?\d+(?:\.\d+)?", inside):
            yield Way(inside, AS_TEXT)
    if literal.kind is Kind.DATE and re.search(r"\b(?:date|datetime)\b", wanted, re.IGNORECASE):
        yield from dates(literal, datetime=bool(re.search(r"\bdatetime\b(?!\.)", wanted)))
    if literal.kind is Kind.FILE and is_open_file(parameter):
        yield Way(opened(literal, parameter), EXACT, OPENING)
    if literal.kind is Kind.FILE and re.fullmatch(r"(?:pathlib\.)?Path", wanted):
        yield Way(f"Path({literal.code})", EXACT, ("from pathlib import Path",))
    if (
        literal.kind is Kind.NUMBER
        and re.search(r"\bDecimal\b", wanted)
        and not re.search(r"\b(?:int|float)\b", wanted)
    ):
        yield Way(f"Decimal({value.code!r})", EXACT, ("from decimal import Decimal",))


@lru_cache(maxsize=10_000)
def choices(parameter: Parameter) -> frozenset[str]:
    """Words that its annotation, its default or its description quote."""
    told = f"{parameter.type} {parameter.default} {parameter.text}"
    return frozenset(re.findall(r"(?<![\w'\"`])['\"`]{1,2}([A-Za-z][\w-]*)['\"`]{1,2}(?!\w)", told))


def chosen(value: Value, parameter: Parameter) -> str:
    """The choice of a parameter that a word says in another form: `dots` for `dot`; empty where it says none."""
    if not value.is_word or value.literal is None or value.literal.text in choices(parameter):
        return ""
    word = value.literal.text.lower()
    near = [one for one in choices(parameter) if len(one) > 2 and stem(one.lower()) == stem(word)]
    return near[0] if len(near) == 1 else ""


def dates(literal: Literal, *, datetime: bool) -> Iterator[Way]:
    """A date as an object."""
    if datetime or len(literal.code) > len("'2024-07-04'"):
        yield Way(f"datetime.fromisoformat({literal.code})", EXACT, ("from datetime import datetime",))
    else:
        yield Way(f"date.fromisoformat({literal.code})", EXACT, ("from datetime import date",))


_FILES = re.compile(
    r"path|file|fname|\bfp\b|\bf\b|\bfn|src|source|input|output|stream|\bin\b|\bout|dest|\bto\b|archive|document"
    r"|\bdoc\b|uri|url|\bio\b|location|target|text|data|string|content|template|\bargs?\b",
    re.IGNORECASE,
)
_CONTENT = re.compile(
    r"text|str|content|data|source|markup|html|xml|code|body|template|\bs\b|json|yaml|toml|lines|buf|bytes|value",
    re.IGNORECASE,
)
"""In the names of parameters that may take what a file holds."""


_TEXT = re.compile(r"text|str|markup|html|xml|body|template|\bs\b|lines|code|content", re.IGNORECASE)


def is_text(parameter: Parameter) -> bool:
    """Whether a parameter that may take what a file holds takes nothing else."""
    return bool(_TEXT.search(parameter.name))


_WRITTEN = re.compile(r"(?:^|_)(?:out(?:put|file|path|fn|name)?|dst)(?:_|$)|(?:^|_)dest|^save_", re.IGNORECASE)
"""Names of parameters for files that are to be made."""
_PATH = re.compile(r"path\b|file(?:_?name)?$|[Pp]athLike", re.IGNORECASE)


def _may_be_file(parameter: Parameter) -> bool:
    """Whether a parameter that may be left out may take a file, by its name, its type and its default."""
    return is_open_file(parameter) or bool(
        _FILES.search(f"{parameter.name} {parameter.name.replace('_', ' ')} {parameter.type} {parameter.default}")
    )


def content(value: Value, parameter: Parameter) -> str:
    """What a file holds, with `OPENING`; empty where the parameter takes the file itself, or there is none."""
    literal = value.literal
    if literal is None or literal.kind is not Kind.FILE or not literal.there or is_open_file(parameter):
        return ""
    told = re.sub(r"file[- ](?:like|object)", "", f"{parameter.name} {parameter.type}")
    if re.search(r"path|file|\bfn|\bfp\b|PathLike", told, re.IGNORECASE) or not (
        not parameter.type or type_fit("str", parameter) >= DECLARED
    ):
        return ""
    ending = literal.text.rpartition(".")[2]
    readable = ending.lower() in TEXTS and not re.search(r"path|file|url", parameter.text, re.IGNORECASE)
    if not (readable or _CONTENT.search(parameter.name) or parameter.name in ("args", "arg", ending)):
        return ""
    plain = ending.lower() in TEXTS or bool(re.search(r"\bstr\b", parameter.type))
    binary = "bytes" in parameter.type or not plain
    return f"Path({literal.code}).read_{'bytes' if binary else 'text'}()"


OPENING = ("from pathlib import Path",)


def opened(literal: Literal, parameter: Parameter) -> str:
    """A file as an open file, with `OPENING`: `open` may be a function of the package by now."""
    binary = re.search(r"bytes|binary", f"{parameter.type} {parameter.text}", re.IGNORECASE)
    is_text = literal.text.rpartition(".")[2].lower() in TEXTS and not binary
    if is_target(literal):
        return f"Path({literal.code}).open({'w' if is_text else 'wb'!r})"
    mode = "" if is_text else "'rb'"
    return f"Path({literal.code}).open({mode})"


def is_target(literal: Literal) -> bool:
    """Whether a file is not there, and is to be written."""
    told = literal.before[0] if literal.before else ""
    return not literal.there and bool(re.fullmatch(language().patterns["target"], told))


def _of_name(value: Value, parameter: Parameter) -> float:
    """Whether the class of a result names the parameter: a `Basket` for `basket`."""
    own = parts(value.type)[-1:]
    return BESIDE * max(
        (
            1.0 if len(one) > 2 and other.startswith(one) else likeness(one, other)
            for one in own
            for other in parts(parameter.name)
        ),
        default=0.0,
    )


def is_in_name(value: Value, item: CallableSignature) -> bool:
    """Whether a number is in what a callable or its module is called."""
    if value.literal is None or value.literal.kind is not Kind.NUMBER:
        return False
    digits = re.sub(r"\W", "", value.literal.text)
    return any(digits in parts(name) for name in (item.expression, item.name, item.module.rpartition(".")[2]))


def beside(value: Value, parameter: Parameter) -> float:
    """Whether a word beside the literal names the parameter: `width 200`, `3 decimals`, `by='name'`."""
    if value.literal is None:
        return 0.0
    if value.is_word and value.literal.text in choices(parameter):
        return 1.0
    if value.literal.keyword:
        return float(value.literal.keyword == parameter.name)
    if value.literal.kind is Kind.SPELLED and value.type == "str":
        return float(bool(_CHARACTER.search(parameter.name)))
    if value.literal.kind is Kind.DATE and _MOMENT.search(parameter.name):
        return DATED
    if is_initials(parameter.name, value.literal.before):
        return 1.0
    known = language()
    near = [*zip(value.literal.before[:2], (1.0, 0.5), strict=False), (value.literal.after, 1.0)]
    # `at a rate of 0.05`
    telling = [word for word in value.literal.before[:3] if word not in known.stop]
    near += [(word, NEXT) for word in telling[:1] if word not in known.verbs]
    if value.literal.after and re.search(rf"[\[(]{re.escape(value.literal.after)}[\])]", parameter.text, re.IGNORECASE):
        # `Temperature, [K]` for 300 K.
        return 1.0
    own = parts(parameter.name)
    each = [max((worth * known.within(word, part) for word, worth in near), default=0.0) for part in own]
    # Of `initial_count` a counter is the half.
    named = max(each, default=0.0) * (sum(one >= 0.5 for one in each) / len(own)) ** 0.5 if own else 0.0
    if named >= TOLD or not parameter.text:
        return named
    told = parts(" ".join(parameter.text.split()[:TOLD_WORDS]))
    said = any(
        worth >= NEXT and word not in known.verbs and known.likeness(word, other) == 1.0
        for word, worth in near
        if len(word) > 1
        for other in told
    )
    return max(named, TOLD * said)


def is_initials(name: str, before: Sequence[str]) -> bool:
    """Whether a name is made of the first letters of the words before a literal: `hrp`, the human readable part."""
    return 2 <= len(name) <= len(before) and name == "".join(word[0] for word in reversed(before[: len(name)]))


DATED = 0.8
"""What it counts that a parameter is named after dates or times."""
_MOMENT = re.compile(r"date|time(?!out|zone|_?zone)|start|since|until|when|moment|\bday\b|\bdt\b")
_CHARACTER = re.compile(r"sep|delim|char|fill|pad|glue|join|quote|replace|hyphen|dash|space")
NEXT, TOLD, TOLD_WORDS = 0.9, 0.7, 6
"""What it counts that the next word which says something names a parameter, and that the first words of what the
docstring says of it do."""
