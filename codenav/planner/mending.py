"""What a failed call's message says of its arguments: the same call, written in another way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from codenav.execution import Execution
from codenav.planner.filled import Filled
from codenav.planner.literals import Kind
from codenav.planner.writing import OPENING, Value, dates, is_target, opened
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
_GIVEN_BYTES = re.compile(
    r"(?:given|got|not|found) (?:an? )?'?bytes|bytes-like object|(?:str|string)[^.]* expected", re.I
)
_ARRAY = re.compile(
    r"numpy|ndarray|UMat|'(?:list|tuple)' object has no attribute '(?:shape|ndim|dtype|astype|reshape|T|size|copy"
    r"|flatten|ravel|mean|sum|max|min|std)'|list indices must be"
    r"|for [-*/+]+: '(?:list|int|float)' and '(?:list|int|float)'"
)
"""What lists of numbers are not."""
_DATE = re.compile(
    r"\bdate|isoformat|strftime|year|tzinfo|timetuple|weekday|timedelta|attribute '(?:month|day|hour|toordinal"
    r"|timestamp|utcoffset|astimezone)'|unsupported type|'str'"
)
_OPENED = re.compile(
    r"No such file|must be str, not bytes|bytes-like object is required|attribute '(?:write|flush)'|not writable"
)
_KEYWORD = re.compile(r"takes no keyword|keyword arguments? (?:for|to)\b|unexpected keyword|only positional")
_MISSING = re.compile(r"missing (?:\d+ )?required (?:positional |keyword-only )?arguments?:? (?P<names>.+)")


def missing_names(execution: Execution) -> list[str]:
    """Parameters that the message asks for."""
    match = _MISSING.search(message(execution))
    return re.findall(r"'(\w+)'", match["names"]) if match else []


def mended(filled: Filled, execution: Execution, values: Sequence[Value] = ()) -> Iterator[Filled]:
    """Other ways to write what was given, as the message asks for them; `values` are all that the clause has."""
    said = message(execution)
    yield from _chosen(filled, said, values)
    if _KEYWORD.search(said) and any(parameter.kind != "POSITIONAL_ONLY" for parameter, _ in filled.given):
        # What a docstring calls by a name need not be taken by that.
        given = tuple((replace(one, kind="POSITIONAL_ONLY"), code) for one, code in filled.given)
        yield replace(filled, given=given)
    if _BYTES.search(said):
        files = _each(filled, lambda value, _: f"Path({value.code}).read_bytes()" if _is_there(value) else "")
        yield from (replace(one, imports=(*one.imports, *OPENING)) for one in files)
        yield from _each(filled, lambda value, _: f"{value.code}.encode()" if value.type in ("str", "path") else "")
        held = tuple((one, code.replace(".read_text()", ".read_bytes()")) for one, code in filled.given)
        if held != filled.given:
            yield replace(filled, given=held)
    if _GIVEN_BYTES.search(said):
        held = tuple((one, code.replace(".read_bytes()", ".read_text()")) for one, code in filled.given)
        if held != filled.given:
            yield replace(filled, given=held)
    if _ARRAY.search(said):
        for one in _each(filled, lambda value, _: f"np.array({value.code})" if value.type in ("list", "tuple") else ""):
            yield replace(one, imports=(*one.imports, "import numpy as np"))
    if _TEXT.search(said):
        yield from _each(
            filled, lambda value, _: repr(value.literal.text) if _is_number(value) and value.literal else ""
        )
    if _NUMBER.search(said):
        yield from _each(filled, lambda value, _: _as_number(value))
    if _DATE.search(said):
        for datetime in (False, True):
            yield from _dated(filled, datetime=datetime)
    if _OPENED.search(said):
        for mode in ("rb", "w", "wb"):
            yield from _reopened(filled, mode)
    if _UNKNOWN.search(said):
        yield from _each(filled, lambda value, _: _in_lower_case(value))
        yield from _spelled_out(filled)
    if re.search(r"attribute '(?:read|readline|seek|close)'|file-?like|not an? (?:readable )?file", said):
        files = _each(
            filled, lambda value, one: opened(value.literal, one) if value.literal and value.type == "path" else ""
        )
        yield from (replace(one, imports=(*one.imports, *OPENING)) for one in files)
        texts = _each(filled, lambda value, _: f"StringIO({value.code})" if value.type == "str" else "")
        yield from (replace(one, imports=(*one.imports, "from io import StringIO")) for one in texts)


_CHOICES = re.compile(r"\b(?:one of|among|available|choices?|choose|supported|valid|allowed|options?|possible)\b", re.I)
"""What a message lists after."""


def _chosen(filled: Filled, said: str, values: Sequence[Value]) -> Iterator[Filled]:
    """With a word of the clause that the message names as a choice, in place of one that it does not take."""
    start = _CHOICES.search(said)
    if start is None:
        return
    listed = list(dict.fromkeys(re.findall(r"\w[\w-]*", re.split(r"[;.\n]", said[start.end() :])[0])))
    told = set(re.findall(r"\w[\w-]*", said))
    words = [value for value in values if value.literal is not None and value.is_word and value not in filled.used]
    for word in words:
        assert word.literal is not None
        choice = next((one for one in listed if one.lower() == word.literal.text.lower()), None)
        if choice is None:
            continue
        for number, (parameter, code) in enumerate(filled.given):
            value = _value_of(filled, code)
            plain = code.strip("'\"")
            if plain != code and plain in told and plain not in listed:
                given = (*filled.given[:number], (parameter, repr(choice)), *filled.given[number + 1 :])
                chosen = Value(repr(choice), "str", words=frozenset((choice.lower(),)))
                used = (*(one for one in filled.used if one is not value), chosen)
                yield replace(filled, given=given, used=used, named=filled.named + 1)


def asked_attribute(execution: Execution) -> str:
    """What the message says that a plain value has not: `'int' object has no attribute 'mu'`."""
    match = re.search(r"object has no attribute '(\w+)'", message(execution))
    return match[1] if match else ""


def wants_object(execution: Execution) -> bool:
    """Whether it complains of what a text or a number is not."""
    return bool(_OBJECT.search(message(execution)))


def message(execution: Execution) -> str:
    """Type and text of the error."""
    return f"{execution.error.type}: {execution.error.message}" if execution.error else ""


def _each(filled: Filled, written: object) -> Iterator[Filled]:
    """With all arguments that can be written so."""
    assert callable(written)
    given, changed = [], False
    for parameter, code in filled.given:
        value = _value_of(filled, code)
        other = written(value, parameter) if value is not None else ""
        changed |= bool(other)
        given.append((parameter, other or code))
    if changed:
        yield replace(filled, given=tuple(given))


def _reopened(filled: Filled, mode: str) -> Iterator[Filled]:
    """With files opened in another mode: what is there is only read, and only what is to be written is written."""

    def written(value: Value, _: Parameter) -> str:
        literal = value.literal
        if literal is None or literal.kind is not Kind.FILE:
            return ""
        fits = literal.there if mode.startswith("r") else is_target(literal)
        return f"Path({value.code}).open({mode!r})" if fits else ""

    for one in _each(filled, written):
        yield replace(one, imports=(*one.imports, *OPENING))


def _dated(filled: Filled, *, datetime: bool) -> Iterator[Filled]:
    """With objects for dates, in lists as well."""
    dated = [value for value in filled.used if value.literal is not None and value.literal.kind is Kind.DATE]
    ways = {value.code: next(dates(value.literal, datetime=datetime)) for value in dated if value.literal is not None}
    given = []
    for parameter, code in filled.given:
        for text, way in ways.items():
            if code == text or code.startswith("["):
                code = code.replace(text, way.code)
        given.append((parameter, code))
    if tuple(given) != filled.given:
        imports = (line for way in ways.values() for line in way.imports)
        yield replace(filled, given=tuple(given), imports=(*filled.imports, *imports))


def _value_of(filled: Filled, code: str) -> Value | None:
    """What an argument was written from: as it is, or as the file that it names."""
    ways = (code, code.partition(".open(")[0].removeprefix("Path(").removesuffix(")"))
    return next((value for value in filled.used if value.code in ways and value.literal is not None), None)


def _is_there(value: Value) -> bool:
    return value.literal is not None and value.literal.kind is Kind.FILE and value.literal.there


def _in_lower_case(value: Value) -> str:
    """A word of the request as programs write it: `hsl` for HSL."""
    text = value.literal.text if value.is_word and value.literal is not None else ""
    return repr(text.lower()) if text != text.lower() else ""


def _spelled_out(filled: Filled) -> Iterator[Filled]:
    """With the words of the request where codes were given for them: `french` for `fr`."""
    names = {value.code: min(value.words) for value in filled.used if value.literal is None and value.words}
    given = tuple((parameter, repr(names[code]) if code in names else code) for parameter, code in filled.given)
    if given != filled.given:
        yield replace(filled, given=given)


def _is_number(value: Value) -> bool:
    return value.type in ("int", "float")


def _as_number(value: Value) -> str:
    if value.type != "str":
        return ""
    inside = ast.literal_eval(value.code)
    return inside if isinstance(inside, str) and re.fullmatch(r"-?\d+(?:\.\d+)?", inside) else ""
