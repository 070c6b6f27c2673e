"""Argument repair: the same call written in another way, as the message of a failed one asks for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from codenav.execution import Execution
from codenav.planner.binding import Binding
from codenav.planner.literals import Kind
from codenav.planner.values import OPENING, Value, as_date, opened
from codenav.signatures.callables import Parameter

_ASKS = r"(?:expected|must be|requires?|needs?)[^.]*"
_BYTES = re.compile(r"bytes|PyBytes|UnicodeEncodeError|buffer protocol|before hashing|str to ")
_TEXT = re.compile(
    rf"{_ASKS}\b(?:str|string|text)\b|(?:not|got) (?:an? )?'?(?:int|float)\b"
    r"|'(?:int|float)' (?:object )?(?:has no|is not (?:iterable|subscriptable))"
)
_NUMBER = re.compile(
    rf"{_ASKS}\b(?:int|integer|float|number|real)\b|'str' and '(?:int|float)'|'(?:int|float)' and 'str'"
)
_OBJECT = re.compile(
    r"'(?:str|int|float|tuple|list|dict)' object has no attribute|(?:expected|must be|not)[^.]*\b[A-Z]\w+"
    r"|TypeError|AttributeError|AssertionError"
)
_UNKNOWN = re.compile(
    r"ValueError|KeyError|LookupError|unknown|invalid|no such|not (?:an? )?(?:valid|supported|known|found)", re.I
)
_DATE = re.compile(
    r"\bdate|isoformat|strftime|year|tzinfo|timetuple|weekday|timedelta|attribute '(?:month|day|hour|toordinal"
    r"|timestamp|utcoffset|astimezone)'|unsupported type|'str'"
)
_READ = re.compile(r"attribute '(?:read|readline|seek|close)'|file-?like|not an? (?:readable )?file")
_KEYWORD = re.compile(r"takes no keyword|keyword arguments? (?:for|to)\b|unexpected keyword|only positional")
Written = Callable[[Value, Parameter], str]


def repaired(bound: Binding, execution: Execution) -> Iterator[Binding]:
    """The call in other ways to write what was given, as the message asks for them."""
    said = _message(execution)
    if _KEYWORD.search(said) and any(parameter.kind != "POSITIONAL_ONLY" for parameter, _ in bound.given):
        # What a docstring calls by a name may not be accepted by that name.
        yield replace(bound, given=tuple((replace(one, kind="POSITIONAL_ONLY"), code) for one, code in bound.given))
    if _BYTES.search(said):
        yield from _each(bound, lambda one, _: f"Path({one.code}).read_bytes()" if one.is_there else "", *OPENING)
        yield from _each(bound, lambda one, _: f"{one.code}.encode()" if one.type in ("str", "path") else "")
    if _TEXT.search(said):
        numbers = ("int", "float")
        yield from _each(bound, lambda one, _: repr(one.literal.text) if one.literal and one.type in numbers else "")
    if _NUMBER.search(said):
        yield from _each(bound, _as_number)
    if _DATE.search(said):
        yield from _dated(bound, datetime=False)
        yield from _dated(bound, datetime=True)
    if _UNKNOWN.search(said):
        yield from _each(bound, _in_lower_case)
    if _READ.search(said):
        path = "path"
        yield from _each(
            bound, lambda one, taken: opened(one.literal, taken) if one.literal and one.type == path else "", *OPENING
        )
        stream = "from io import StringIO"
        yield from _each(bound, lambda one, _: f"StringIO({one.code})" if one.type == "str" else "", stream)


def asked_attribute(execution: Execution) -> str:
    """The attribute that a plain value lacks, by the message: `'int' object has no attribute 'mu'`."""
    match = re.search(r"object has no attribute '(\w+)'", _message(execution))
    return match[1] if match else ""


def wants_object(execution: Execution) -> bool:
    """True if the message complains of what a text or a number is not."""
    return bool(_OBJECT.search(_message(execution)))


def _message(execution: Execution) -> str:
    """The type and text of the error."""
    return f"{execution.error.type}: {execution.error.message}" if execution.error else ""


def _each(bound: Binding, written: Written, *imports: str) -> Iterator[Binding]:
    """The binding with all arguments written so that can be."""
    given = []
    for parameter, code in bound.given:
        value = _value_of(bound, code)
        given.append((parameter, (written(value, parameter) if value is not None else "") or code))
    if tuple(given) != bound.given:
        yield replace(bound, given=tuple(given), imports=(*bound.imports, *imports))


def _dated(bound: Binding, *, datetime: bool) -> Iterator[Binding]:
    """The binding with objects for dates, in lists as well."""
    dates = [value.literal for value in bound.used if value.literal is not None and value.kind is Kind.DATE]
    ways = {literal.code: as_date(literal, datetime=datetime) for literal in dates}
    if ways:
        pattern = "|".join(map(re.escape, ways))
        given = [(one, re.sub(pattern, lambda match: ways[match[0]].code, code)) for one, code in bound.given]
        imports = [line for way in ways.values() for line in way.imports]
        yield replace(bound, given=tuple(given), imports=(*bound.imports, *imports))


def _value_of(bound: Binding, code: str) -> Value | None:
    """The value that an argument was written from: as it is, or as the file that it names."""
    ways = (code, code.partition(".open(")[0].removeprefix("Path(").removesuffix(")"))
    return next((value for value in bound.used if value.code in ways and value.literal is not None), None)


def _in_lower_case(value: Value, _: Parameter) -> str:
    """A word of the request as programs write it: `hsl` for HSL."""
    text = value.literal.text if value.is_word and value.literal is not None else ""
    return repr(text.lower()) if text != text.lower() else ""


def _as_number(value: Value, _: Parameter) -> str:
    inside = ast.literal_eval(value.code) if value.type == "str" else ""
    return inside if isinstance(inside, str) and re.fullmatch(r"-?\d+(?:\.\d+)?", inside) else ""
