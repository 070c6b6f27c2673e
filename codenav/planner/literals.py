"""The literals in a request, each as it stands there and as Python writes it."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import cache

from codenav.planner.language import language
from codenav.signatures.names import parts, words_in


class Kind(StrEnum):
    """The kind of a literal."""

    NUMBER = "number"
    TEXT = "text"
    COLLECTION = "collection"
    """A list, tuple, dict or set in Python's syntax."""
    DATE = "date"
    FILE = "file"
    CODE = "code"
    """A word of code shape: `snake_case`, `CamelCase`, `#abc`, `a.b`."""
    CONSTANT = "constant"
    """True, False or None."""
    WORD = "word"
    """A plain word: no value as a rule."""


@dataclass(frozen=True)
class Literal:
    """A value as it stands in the request: always a piece of it."""

    kind: Kind
    text: str
    code: str
    """The Python expression."""
    start: int
    """The number of characters before it in the request."""
    before: tuple[str, ...] = ()
    """The words right before it, nearest first: `width 200`, `by 100`."""
    after: str = ""
    """The word right after it: `3 times`."""
    keyword: str = ""
    """The name that it is given to, as Python writes it: `width=200`."""
    there: bool = False
    """True if it is a file that the work folder has."""

    @property
    def ending(self) -> str:
        """The ending of a file's name, in lower case."""
        return self.text.rpartition(".")[2].lower()

    @property
    def is_new_file(self) -> bool:
        """True if it is a file that is named and not there."""
        return self.kind is Kind.FILE and not self.there


TEXTS = words_in(
    """abc atom bib c cfg conf cpp css csv diff dot eml env fa fasta geojson gml go gpx graphml h html ics ini j2
    java jinja js json jsonl kml less log lua md mjs mustache nt obj ofx opml patch pem pgn po properties pt
    py rb ris rs rss rst scss sgf sh sql srt svg tex toml ts tsv ttl txt vcf vtt xml xsd xyz yaml yml"""
)
"""The endings of files that hold text."""
_ENDINGS = TEXTS | words_in(
    """bin bmp bz2 dat db docx epub flac gif gz h5 hex jpeg jpg mid mp3 msgpack npy npz ogg parquet pdf pkl ply
    png pptx sqlite stl tar tiff wav webp xlsx zip"""
)
"""The endings of names that are files rather than texts with a dot in them."""
_QUOTES = ['""', "''", "``", "“”", "‘’", "«»"]
_QUOTED = re.compile(
    "|".join(rf"(?<![\w]){re.escape(q[0])}(?:\\.|[^{re.escape(q[1])}\\])*{re.escape(q[1])}(?!\w)" for q in _QUOTES),
    re.DOTALL,
)
_PREFIXED = re.compile(r"\b[bru]{1,2}(?=['\"])")
_PATTERNS = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (Kind.CODE, r"\b(?:https?|ftp|file|mailto)://?[^\s<>\"']*[^\s<>\"'.,;:!?)]"),
        (Kind.CODE, r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b"),
        (Kind.DATE, r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?(?![\w-])"),
        (Kind.FILE, r"(?<![\w/])(?:~?/|\.{1,2}/)?[\w-]+(?:[/.][\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,4}(?![\w.]\w)\b"),
        (Kind.FILE, r"(?:(?<=\b(?:to|as|in) )|(?<=\bcalled )|(?<=\bnamed ))[\w-]+\.[a-z]{6,10}(?![\w.]\w)\b"),
        # Addresses and networks, colours, versions.
        (Kind.CODE, r"\b\d{1,3}(?:\.\d{1,3}){3}/\d{1,2}\b"),
        (Kind.CODE, r"(?<!\w)#[0-9A-Fa-f]{3,8}\b"),
        (Kind.CODE, r"\b(?:\d+\.){2,}\d+[\w.+-]*|\bv\d+(?:\.\d+)+[\w.+-]*"),
        (
            Kind.NUMBER,
            r"(?<![\w.])[-+]?(?:0[xX][0-9A-Fa-f]+|\d{1,3}(?:,\d{3})+(?!\d)|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w]|\.\d)",
        ),
        (Kind.CONSTANT, r"\b(?:True|False|None)\b"),
        # EAN-13; snake_case, camelCase, CamelCase; base58, ASCII; a note, a grade.
        (Kind.CODE, r"\b[A-Za-z]+-\d+\b"),
        (Kind.CODE, r"\b(?:[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w*|[A-Z]+[a-z]+[A-Z]\w*)\b"),
        (Kind.CODE, r"\b(?:\w*[A-Za-z]\w*\d\w*|[A-Z]{2,}[A-Z\d]*)\b"),
        (Kind.CODE, r"(?<![\w'’])[B-HJ-Z](?:#|\b)(?!['’.])"),
    )
)
WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*", re.UNICODE)


def literals_in(text: str, files: Collection[str]) -> Iterator[Literal]:
    """The literals in a text, from left to right; none in another one."""
    at = 0
    while at < len(text):
        inside = at and text[at - 1].isalnum()
        literal = None if inside else _container(text, at) or _quoted(text, at, files) or _date(text, at)
        if literal is None and not (inside and text[at].isalnum()):
            literal = _word_of_shape(text, at, files)
        if literal is None:
            at += 1
            continue
        yield literal
        # The quote after a file in quotes belongs to the file.
        at = literal.start + len(literal.text) + (literal.start > at)


def _container(text: str, at: int) -> Literal | None:
    """The list, tuple, dict or set that begins here, as Python reads it; `(2, 3)` is one and `(see below)` is none."""
    last = min(len(text), at + 5_000)
    # Most brackets that are never closed are told without a look at each character behind them.
    if text[at] not in "([{" or all(text.find(closing, at, last) < 0 for closing in ")]}"):
        return None
    depth = 0
    for end in range(at, last):
        depth += (text[end] in "([{") - (text[end] in ")]}")
        if depth == 0:
            piece = text[at : end + 1]
            try:
                value = ast.literal_eval(piece)
            except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
                return None
            return Literal(Kind.COLLECTION, piece, piece, at) if isinstance(value, (list, tuple, dict, set)) else None
    return None


_SAVED = re.compile(r"\b(?:to|as|into|in|called|named|file)\s+$", re.IGNORECASE)


def _quoted(text: str, at: int, files: Collection[str]) -> Literal | None:
    """The text in quotes that begins here, perhaps the name of a file that is there or is to be made."""
    begin = _PREFIXED.match(text, at)
    start = begin.end() if begin else at
    # For a prefixed text only the rest is matched: the letter before the quote would make it an apostrophe.
    match = _QUOTED.match(text[start:]) if begin else _QUOTED.match(text, start)
    if match is None:
        return None
    piece = text[at : start + len(match.group())]
    if begin:
        try:
            return Literal(Kind.TEXT, piece, repr(ast.literal_eval(piece)), at)
        except (ValueError, SyntaxError):
            return None
    inside = match.group()[1:-1]
    new = re.fullmatch(r"[\w./-]*\w\.([A-Za-z][A-Za-z0-9]{0,9})", inside)
    if inside in files or (new and new[1].lower() in _ENDINGS and _SAVED.search(text, max(0, at - 20), at)):
        return Literal(Kind.FILE, inside, repr(inside), at + 1, there=inside in files)
    # Escapes as Python has them, where they can be meant.
    plain = re.sub(r"\\(['\"nt\\])", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), inside)
    return Literal(Kind.TEXT, piece, repr(plain), at)


@cache
def _dates() -> re.Pattern[str]:
    """The pattern for dates in words, `4 October 1957` and `Oct. 4, 1957`, and for the times after dates."""
    month, day = "|".join(rf"{name[:3]}(?:{name[3:]})?" for name in language().months), r"\d{1,2}(?:st|nd|rd|th)?"
    return re.compile(
        rf"(?:(?P<words>(?:{day}(?: of)? (?:{month})\.?|(?:{month})\.? {day}),? \d{{4}})(?![\w-])"
        r"|(?P<iso>\d{4}-\d\d-\d\d)(?= at \d))"
        r"(?:,? (?:at )?(?P<hour>[01]?\d|2[0-3])(?P<rest>:[0-5]\d(?::\d\d)?)(?! ?[ap]\.?m\b)(?P<zone> UTC| GMT|Z)?\b)?",
        re.IGNORECASE,
    )


def _date(text: str, at: int) -> Literal | None:
    """The date that begins here in words or with a time after it, `1 January 2000 at 12:00`, written in ISO 8601."""
    match = _dates().match(text, at)
    if match is None:
        return None
    code = match["iso"]
    if not code:
        day, year = re.findall(r"\d+", match["words"])
        named = (re.search(rf"\b{name[:3]}", match["words"], re.IGNORECASE) for name in language().months)
        code = f"{year}-{[bool(one) for one in named].index(True) + 1:02}-{int(day):02}"
    if match["hour"]:
        code = f"{code}T{int(match['hour']):02}{match['rest']}{'+00:00' if match['zone'] else ''}"
    try:
        moment = datetime.fromisoformat(code)
    except ValueError:
        return None
    return Literal(Kind.DATE, match.group(), repr(moment.isoformat() if match["hour"] else code), at)


def _word_of_shape(text: str, at: int, files: Collection[str]) -> Literal | None:
    for name in files:
        if text.startswith(name, at) and not text[at + len(name) : at + len(name) + 1].isalnum():
            return Literal(Kind.FILE, name, repr(name), at, there=True)
    for kind, pattern in _PATTERNS:
        if match := pattern.match(text, at):
            return Literal(kind, match.group(), _code(kind, match.group()), at)
    return None


def _code(kind: Kind, text: str) -> str:
    if kind is Kind.NUMBER:
        plain = text.replace(",", "").lstrip("+")
        # 007 is no number in Python.
        return plain if not re.fullmatch(r"-?0\d+", plain) else repr(text)
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
    """The literals with the words around them."""
    ended = 0
    for literal in literals:
        # Words that stand before another literal belong to that.
        begin = max(ended, literal.start - 60)
        before = [match.group().lower() for match in WORD.finditer(text[begin : literal.start])]
        ended = literal.start + len(literal.text)
        rest = text[ended : ended + 40].lstrip()
        # `[70, 85] weighted by [1, 2]` says what the second one is.
        after = None if re.match(language().patterns["passing"], rest, re.IGNORECASE) else WORD.match(rest)
        keyword = _KEYWORD.search(text, max(0, literal.start - 40), literal.start)
        yield replace(
            literal,
            before=tuple(reversed(before))[:4],
            after=after.group().lower() if after else "",
            keyword=keyword[1] if keyword else "",
        )
