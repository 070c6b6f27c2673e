"""The literals in a request, each as it stands there and as Python writes it."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cache

from codenav.planner.words import language
from codenav.signatures.names import parts


class Kind(StrEnum):
    """What a literal is."""

    NUMBER = "number"
    TEXT = "text"
    COLLECTION = "collection"
    """A list, tuple, dict or set in Python's syntax."""
    DATE = "date"
    FILE = "file"
    ORDINAL = "ordinal"
    CODE = "code"
    """A word of code shape: `snake_case`, `CamelCase`, `#abc`, `a.b`."""
    CONSTANT = "constant"
    """True, False or None."""
    WORD = "word"
    """A plain word: no value as a rule."""
    SPELLED = "spelled"
    """A number or a character that is spelled out: `three`, `underscores`."""


@dataclass(frozen=True)
class Literal:
    """A value as it stands in the request: always a piece of it."""

    kind: Kind
    text: str
    code: str
    """The Python expression."""
    start: int
    """Characters before it in the request."""
    before: tuple[str, ...] = ()
    """The words right before it, nearest first: `width 200`, `by 100`."""
    after: str = ""
    """The word right after it: `3 times`."""
    keyword: str = ""
    """What it is given to, as Python writes it: `width=200`."""
    there: bool = False
    """Of a file: whether the work folder has it."""


TEXTS = frozenset(
    ("abc", "atom", "bib", "c", "cfg", "conf", "cpp", "css", "csv", "diff", "dot", "eml", "env", "fa", "fasta",
     "geojson", "gml", "go", "gpx", "graphml", "h", "html", "ics", "ini", "j2", "java", "jinja", "js", "json",
     "jsonl", "kml", "less", "log", "lua", "md", "mjs", "mustache", "nt", "obj", "ofx", "opml", "patch", "pem",
     "pgn", "po", "properties", "pt", "py", "rb", "ris", "rs", "rss", "rst", "scss", "sgf", "sh", "sql", "srt",
     "svg", "tex", "toml", "ts", "tsv", "ttl", "txt", "vcf", "vtt", "xml", "xsd", "xyz", "yaml", "yml")
)  # fmt: skip
"""Endings of files that hold text."""
_QUOTES = ['""', "''", "``", "“”", "‘’", "«»"]
_QUOTED = re.compile(
    "|".join(rf"(?<![\w]){re.escape(q[0])}(?:\\.|[^{re.escape(q[1])}\\])*{re.escape(q[1])}(?!\w)" for q in _QUOTES),
    re.DOTALL,
)
_PREFIXED = re.compile(r"\b[bru]{1,2}(?=['\"])")
_PATTERNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (Kind.CODE, re.compile(r"\b(?:https?|ftp|file|mailto)://?[^\s<>\"']*[^\s<>\"'.,;:!?)]")),
    (Kind.CODE, re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")),
    (Kind.DATE, re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?(?![\w-])")),
    (Kind.FILE, re.compile(r"(?<![\w/])(?:~?/|\.{1,2}/)?[\w-]+(?:[/.][\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,4}(?![\w.]\w)\b")),
    (Kind.FILE, re.compile(r"(?:(?<=\b(?:to|as|in) )|(?<=\bcalled )|(?<=\bnamed ))[\w-]+\.[a-z]{6,10}(?![\w.]\w)\b")),
    (Kind.ORDINAL, re.compile(r"\b\d+(?:st|nd|rd|th)\b")),
    # Addresses and networks.
    (Kind.CODE, re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}/\d{1,2}\b")),
    (Kind.CODE, re.compile(r"(?<!\w)#[0-9A-Fa-f]{3,8}\b")),
    # Versions: three numbers or more, or a `v` before them.
    (Kind.CODE, re.compile(r"\b(?:\d+\.){2,}\d+[\w.+-]*|\bv\d+(?:\.\d+)+[\w.+-]*")),
    (
        Kind.NUMBER,
        re.compile(
            r"(?<![\w.])[-+]?(?:0[xX][0-9A-Fa-f]+|\d{1,3}(?:,\d{3})+(?!\d)|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w]|\.\d)"
        ),
    ),
    (Kind.CONSTANT, re.compile(r"\b(?:True|False|None)\b")),
    # EAN-13, alpha-3, UTF-8.
    (Kind.CODE, re.compile(r"\b[A-Za-z]+-\d+\b")),
    # snake_case, camelCase, CamelCase, base58, ASCII.
    (Kind.CODE, re.compile(r"\b(?:[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w*|[A-Z]+[a-z]+[A-Z]\w*)\b")),
    (Kind.CODE, re.compile(r"\b(?:\w*[A-Za-z]\w*\d\w*|[A-Z]{2,}[A-Z\d]*)\b")),
    # A note, a grade, a drive.
    (Kind.CODE, re.compile(r"(?<![\w'’])[B-HJ-Z](?:#|\b)(?!['’.])")),
)
WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*", re.UNICODE)


def literals_in(text: str, files: Collection[str]) -> Iterator[Literal]:
    """From left to right; none in another one."""
    at = 0
    while at < len(text):
        literal = (
            _container(text, at)
            or _quoted_file(text, at, files)
            or _quoted(text, at)
            or _moment(text, at)
            or _formula(text, at)
            or _word_of_shape(text, at, files)
        )
        if literal is None:
            at += 1
            continue
        yield literal
        # Of a file in quotes the quote after it belongs to it.
        at = literal.start + len(literal.text) + (literal.start > at)


def _container(text: str, at: int) -> Literal | None:
    """A list, tuple, dict or set that Python reads; `(2, 3)` is one and `(see below)` is none."""
    if text[at] not in "([{" or (at and text[at - 1].isalnum()):
        return None
    depth = 0
    for end in range(at, min(len(text), at + 5_000)):
        depth += (text[end] in "([{") - (text[end] in ")]}")
        if depth == 0:
            piece = text[at : end + 1]
            try:
                value = ast.literal_eval(piece)
            except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
                return None
            if isinstance(value, (list, tuple, dict, set)):
                return Literal(Kind.COLLECTION, piece, piece, at)
            return None
    return None


def _quoted(text: str, at: int) -> Literal | None:
    begin = _PREFIXED.match(text, at)
    start = begin.end() if begin else at
    # Of a prefixed text the rest alone: the letter before the quote would make it an apostrophe.
    match = _QUOTED.match(text[start:]) if begin else _QUOTED.match(text, start)
    if match is None or (begin is None and at and text[at - 1].isalnum()):
        return None
    piece = text[at : start + len(match.group())]
    if begin:
        try:
            return Literal(Kind.TEXT, piece, repr(ast.literal_eval(piece)), at)
        except (ValueError, SyntaxError):
            return None
    return Literal(Kind.TEXT, piece, repr(_unescaped(match.group()[1:-1])), at)


_NEW_FILE = re.compile(r"[\w./-]*\w\.(?P<ending>[A-Za-z][A-Za-z0-9]{0,9})")
_SAVED = re.compile(r"\b(?:to|as|into|in|called|named|file)\s+$", re.IGNORECASE)
_ENDINGS = frozenset(
    ("bin", "bmp", "bz2", "dat", "db", "docx", "epub", "flac", "gif", "gz", "h5", "hex", "jpeg", "jpg", "mid", "mp3",
     "msgpack", "npy", "npz", "ogg", "parquet", "pdf", "pkl", "ply", "png", "pptx", "sqlite", "stl", "tar", "tiff",
     "wav", "webp", "xlsx", "zip", *TEXTS)
)  # fmt: skip
"""Endings of names that are files rather than texts with a dot in them."""


def _quoted_file(text: str, at: int, files: Collection[str]) -> Literal | None:
    """A file's name in quotes: of one that is there, or of one that is to be made."""
    match = _QUOTED.match(text, at) if not (at and text[at - 1].isalnum()) else None
    if match is None:
        return None
    inside = match.group()[1:-1]
    if inside in files:
        return Literal(Kind.FILE, inside, repr(inside), at + 1, there=True)
    new = _NEW_FILE.fullmatch(inside)
    if new and new["ending"].lower() in _ENDINGS and _SAVED.search(text, max(0, at - 20), at):
        return Literal(Kind.FILE, inside, repr(inside), at + 1)
    return None


@cache
def _dates() -> re.Pattern[str]:
    """`4 October 1957`, `October 4, 1957`; three letters of a month are enough."""
    month = "|".join(rf"{name[:3]}(?:{name[3:]})?" for name in language().months)
    day, year = r"(?P<day{0}>\d{{1,2}})(?:st|nd|rd|th)?", r"(?P<year{0}>\d{{4}})(?![\w-])"
    return re.compile(
        rf"{day.format(1)}(?: of)? (?P<month1>{month})\.?,? {year.format(1)}"
        rf"|(?P<month2>{month})\.? {day.format(2)},? {year.format(2)}",
        re.IGNORECASE,
    )


_HOUR = re.compile(
    r",? (?:at )?(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?(?! ?[ap]\.?m\b)(?P<zone> UTC| GMT|Z)?\b"
)
"""After a date."""
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?= at \d)")


def _moment(text: str, at: int) -> Literal | None:
    """A date and a time after it: `1 January 2000 at 12:00`, `2024-03-20 at 09:30 UTC`."""
    if at and text[at - 1].isalnum():
        return None
    iso = _ISO.match(text, at)
    day = Literal(Kind.DATE, iso.group(), repr(iso.group()), at) if iso else _spoken_date(text, at)
    hour = _HOUR.match(text, at + len(day.text)) if day is not None else None
    if day is None or hour is None or int(hour["hour"]) > 23 or int(hour["minute"]) > 59:
        return day
    told = f"{ast.literal_eval(day.code)}T{int(hour['hour']):02}:{hour['minute']}:{hour['second'] or '00'}"
    return Literal(Kind.DATE, text[at : hour.end()], repr(told + ("+00:00" if hour["zone"] else "")), at)


def _spoken_date(text: str, at: int) -> Literal | None:
    """A date in words; it is written as ISO 8601 has it."""
    match = _dates().match(text, at) if not (at and text[at - 1].isalnum()) else None
    if match is None:
        return None
    day, month, year = (match[f"{name}1"] or match[f"{name}2"] for name in ("day", "month", "year"))
    number = next(place for place, name in enumerate(language().months, 1) if name.startswith(month.lower()[:3]))
    try:
        code = repr(date(int(year), number, int(day)).isoformat())
    except ValueError:
        return None
    return Literal(Kind.DATE, match.group(), code, at)


_FORMULA = re.compile(r"[A-Za-z0-9_.()+\-*/^ ]{3,200}")
_OPERATORS = re.compile(r"[*/^]| [+-] ")
_IN_FORMULAS = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Call, ast.Name, ast.Constant,
    ast.operator, ast.unaryop, ast.expr_context,
)  # fmt: skip
SYMBOL = 3
"""Letters of a name in a formula, unless it is called."""


def _formula(text: str, at: int) -> Literal | None:
    """An expression of symbols, the longest that begins here: `(x + 2)*(x - 3)**2`, `kg/m**3`."""
    if at and (text[at - 1].isalnum() or text[at - 1] in "._/'\""):
        return None
    match = _FORMULA.match(text, at)
    if match is None or not _OPERATORS.search(match.group()):
        return None
    piece = match.group()
    for end in [len(piece), *(one.start() for one in reversed(list(re.finditer(r"[ .]|(?<=\))", piece))))]:
        told = piece[:end].rstrip(" .")
        if len(told) >= 3 and _OPERATORS.search(told) and not re.search(r"\w \(", told) and _is_formula(told):
            after = text[at + len(told) : at + len(told) + 1]
            return None if after.isalnum() else Literal(Kind.TEXT, told, repr(told), at)
    return None


def _is_formula(text: str) -> bool:
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called]
    return (
        isinstance(tree.body, ast.BinOp)
        and all(isinstance(node, _IN_FORMULAS) for node in ast.walk(tree))
        and bool(names or called)
        and all(len(node.id) <= SYMBOL for node in names)
    )


def _unescaped(inside: str) -> str:
    """Escapes as Python has them, where they can be meant: `\\n`, `\\t`, an escaped quote."""
    return re.sub(r"\\(['\"nt\\])", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), inside)


def _word_of_shape(text: str, at: int, files: Collection[str]) -> Literal | None:
    if at and text[at - 1].isalnum() and text[at].isalnum():
        return None
    for name in files:
        if text.startswith(name, at) and not text[at + len(name) : at + len(name) + 1].isalnum():
            return Literal(Kind.FILE, name, repr(name), at, there=True)
    for kind, pattern in _PATTERNS:
        match = pattern.match(text, at)
        if match:
            return Literal(kind, match.group(), _code(kind, match.group()), at)
    return None


def _code(kind: Kind, text: str) -> str:
    if kind is Kind.NUMBER:
        plain = text.replace(",", "").lstrip("+")
        digits = plain.lstrip("-")
        # 007 is no number in Python.
        return plain if not re.fullmatch(r"0\d+", digits) else repr(text)
    if kind is Kind.ORDINAL:
        return re.sub(r"\D", "", text)
    return text if kind is Kind.CONSTANT else repr(text)


def word_parts(literal: Literal) -> list[str]:
    """The words in a literal that may as well be one: `snake_case`, `iCal`."""
    found = [part for part in parts(literal.text) if part.isalpha() and len(part) > 1]
    plain = literal.text.lower()
    if re.search(r"\d", plain):
        # `EAN-13`, `base58`: as it may be written in a name.
        return [*found, re.sub(r"\W|_", "", plain)]
    return found if plain in found or not plain.isalpha() else [*found, plain]


_KEYWORD = re.compile(r"\b([^\W\d]\w*) ?= ?$")


def with_neighbours(literals: list[Literal], text: str) -> Iterator[Literal]:
    """Literals with the words around them."""
    ended = 0
    for literal in literals:
        # What stands before another literal belongs to that.
        begin = max(ended, literal.start - 60)
        before = [match.group().lower() for match in WORD.finditer(text[begin : literal.start])]
        ended = literal.start + len(literal.text)
        end = literal.start + len(literal.text)
        rest = text[end : end + 40].lstrip()
        # `[70, 85] weighted by [1, 2]` says what the second one is.
        after = None if re.match(language().patterns["passing"], rest, re.IGNORECASE) else WORD.match(rest)
        yield Literal(
            literal.kind,
            literal.text,
            literal.code,
            literal.start,
            tuple(reversed(before))[:4],
            after.group().lower() if after else "",
            keyword[1] if (keyword := _KEYWORD.search(text, max(0, literal.start - 40), literal.start)) else "",
            literal.there,
        )
