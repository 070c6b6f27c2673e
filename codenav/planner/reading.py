"""A request in plain words, read into clauses: the words that say what is wanted, and the literals in them."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from codenav.planner.words import Language, language, parts

LONGEST = 20_000
"""Characters of a request that are read."""
MOST_LITERALS, MOST_CLAUSES = 40, 8


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


@dataclass(frozen=True)
class Clause:
    """One thing that is asked for."""

    text: str
    words: tuple[str, ...]
    """Content words in lower case, as they come, without literals and the words of code."""
    literals: tuple[Literal, ...]
    start: int = 0
    """Characters before it in the request."""

    @property
    def end(self) -> int:
        """Characters before what comes after it."""
        return self.start + len(self.text)

    def is_right_before(self, other: Clause, clauses: Sequence[Clause]) -> bool:
        """Whether nothing stands between two clauses."""
        return not any(self.start < one.start < other.start for one in clauses)

    def with_(self, other: Clause) -> Clause:
        """This one after another one that could not be done alone."""
        words = tuple(dict.fromkeys((*self.words, *other.words)))
        return Clause(f"{other.text} {self.text}", words, (*other.literals, *self.literals), other.start)

    @property
    def asks_whether(self) -> bool:
        """Whether the answer is yes or no."""
        return bool(
            re.match(
                r"(?:is|are|was|does|do(?! an?\b)|has|have|can|check (?:if|whether)|whether)\b",
                self.text,
                re.IGNORECASE,
            )
        )

    @property
    def spoken(self) -> tuple[Literal, ...]:
        """Words that may be values: `from kilometer to mile`. They are no more than that."""
        taken = [(one.start - self.start, one.start - self.start + len(one.text)) for one in self.literals]
        found = []
        for match in _SPOKEN.finditer(self.text):
            at = match.start(2)
            if match[2].lower() not in language().stop and not any(begin <= at < end for begin, end in taken):
                word = match[2]
                found.append(Literal(Kind.CODE, word, repr(word), self.start + at, (match[1].lower(),)))
        return tuple(found)

    @property
    def loose(self) -> tuple[Literal, ...]:
        """All other words: values where a parameter names them as its choices."""
        taken = [(one.start - self.start, one.start - self.start + len(one.text)) for one in self.literals]
        found = []
        for match in _WORD.finditer(self.text):
            word, at = match.group(), match.start()
            if (
                len(word) > 2
                and word.lower() not in language().stop
                and not any(begin <= at < end for begin, end in taken)
            ):
                found.append(Literal(Kind.WORD, word, repr(word), self.start + at))
        return tuple(found)

    @property
    def refers_back(self) -> bool:
        """Whether it speaks of what came before."""
        return bool(
            re.search(r"\b(?:it|its|them|that|those|the (?:result|ones?|table|file|image))\b", self.text, re.IGNORECASE)
        )


_SPOKEN = re.compile(r"\b(from|to|in|into|as)\s+(?:the\s+)?([A-Za-z]+)\b")
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
    (Kind.ORDINAL, re.compile(r"\b\d+(?:st|nd|rd|th)\b")),
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
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*", re.UNICODE)


def read(request: str, *, files: Collection[str] = (), lists: Language | None = None) -> list[Clause]:
    """The clauses of a request. Any text can be read; `files` are names that exist in the work folder."""
    known = lists or language()
    text = request[:LONGEST]
    literals = list(_literals(text, files))[:MOST_LITERALS]
    found = []
    for start, end in _cuts(text, literals, known):
        inside = [literal for literal in literals if start <= literal.start < end]
        inside = list(_numbered(inside, text, known))
        words = tuple(_words(text[start:end], start, inside, known))
        if words or inside:
            piece = text[start:end]
            before = start + len(piece) - len(piece.lstrip())
            found.append(Clause(piece.strip(), words, tuple(inside), before))
    return found[:MOST_CLAUSES]


def code_in(request: str) -> str:
    """The request, where it is Python and no words: `print(2 + 2)`, a fenced block; else an empty text."""
    fenced = re.fullmatch(r"\s*```(?:python|py)?\n(.*?)```\s*", request, re.DOTALL)
    text = (fenced[1] if fenced else request).strip()
    try:
        tree = ast.parse(text[:LONGEST])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    does = (
        ast.Call,
        ast.Assign,
        ast.AugAssign,
        ast.Import,
        ast.ImportFrom,
        ast.BinOp,
        ast.FunctionDef,
        ast.For,
        ast.With,
    )
    return text if len(text) <= LONGEST and any(isinstance(node, does) for node in ast.walk(tree)) else ""


_WHERE = re.compile(
    r"\b(?:where (?:is|are|do(?:es)?|can)|which (?:file|module|class)|in (?:which|what) (?:file|module|class))\b"
    r".*\b(?:defined?|declared?|implement(?:ed|s)?|defines?|declares?|live[sd]?|located|found|come from)\b",
    re.IGNORECASE | re.DOTALL,
)


def asked_for(request: str) -> str:
    """The name in a question about the code itself, "where is X defined?"; empty where it is none."""
    if len(request) > 500 or not _WHERE.search(request):
        return ""
    quoted = re.search(r"[`'\"‘“]([\w.]+)(?:\(\))?[`'\"’”]", request)
    if quoted is not None:
        return str(quoted[1])
    words = [word.strip(".") for word in re.findall(r"[A-Za-z_][\w.]*", _QUESTION.sub(" ", request))]
    shaped = [word for word in words if re.search(r"_|\.|[a-z][A-Z]|^[A-Z]", word)]
    return str((shaped or words or [""])[0])


_QUESTION = re.compile(
    r"\b(?:where|which|what|in|is|are|does|do|can|the|a|an|file|module|class|function|method|variable|constant|package"
    r"|be|it|i|find|of|defined?|declared?|implement(?:ed|s)?|defines?|declares?|live[sd]?|located|found|come|from|code)\b",
    re.IGNORECASE,
)


def _literals(text: str, files: Collection[str]) -> Iterator[Literal]:
    """From left to right; none in another one."""
    at = 0
    while at < len(text):
        literal = _container(text, at) or _quoted(text, at) or _formula(text, at) or _word_of_shape(text, at, files)
        if literal is None:
            at += 1
            continue
        yield literal
        at = literal.start + len(literal.text)


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
        and bool(names)
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
            return Literal(Kind.FILE, name, repr(name), at)
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


def _cuts(text: str, literals: list[Literal], known: Language) -> list[tuple[int, int]]:
    """Where clauses begin and end: at a sentence's end, and at a joining word before a verb; never in a literal."""
    covered = [(literal.start, literal.start + len(literal.text)) for literal in literals]
    joins = "|".join(re.escape(join) for join in known.joins)
    pattern = re.compile(rf"[.;!?](?=\s)|\n\s*\n|(?:,\s*)?\b(?:{joins})\b|,\s+(?=[a-z])", re.IGNORECASE)
    starts, ends = [0], []
    for match in pattern.finditer(text):
        if any(begin <= match.start() < end for begin, end in covered):
            continue
        sentence = match.group()[0] in ".;!?\n"
        at = match.end() + len(text[match.end() :]) - len(text[match.end() :].lstrip())
        following = _WORD.match(text, at)
        if sentence or (following and _is_verb(following, text, known)):
            starts.append(match.end())
            ends.append(match.start())
    return list(zip(starts, [*ends, len(text)], strict=True))


def _is_verb(match: re.Match[str], text: str, known: Language) -> bool:
    """A known verb, or a word before an article as only verbs stand there: `push the`, `close it`."""
    word = match.group().lower()
    if re.match(r" ?= ?[^=\s]", text[match.end() :]):
        # What a value is given to.
        return False
    after = _WORD.match(text[match.end() : match.end() + 20].lstrip())
    return word in known.verbs or (
        word not in known.stop and after is not None and after.group().lower() in known.determiners
    )


def _words(text: str, offset: int, literals: list[Literal], known: Language) -> list[str]:
    """Content words in the order in which they stand."""
    spans = [(literal.start - offset, literal.start - offset + len(literal.text), literal) for literal in literals]
    found: list[tuple[int, str]] = []
    for match in _WORD.finditer(text):
        if any(begin <= match.start() < end for begin, end, _ in spans):
            continue
        word = match.group().lower().removesuffix("'s").removesuffix("’s")
        if any(literal.keyword == match.group() for literal in literals):
            continue
        if word in ("result", "results") and not re.match(r"\s+of\b", text[match.end() :]):
            # Of what came before.
            continue
        found += [(match.start(), piece) for piece in word.split("-") if piece not in known.stop and len(piece) > 1]
    for begin, _, literal in spans:
        if literal.kind is Kind.FILE:
            # What it holds: `people.csv`.
            found.append((begin, literal.text.rpartition(".")[2].lower()))
        if literal.kind is Kind.CODE and re.fullmatch(r"[\w-]+", literal.text):
            # `base58`, `snake_case`: perhaps a value, perhaps a name of what is wanted.
            found += [(begin, word) for word in word_parts(literal)]
    return [word for _, word in sorted(found, key=lambda pair: pair[0])]


def word_parts(literal: Literal) -> list[str]:
    """The words in a literal that may as well be one: `snake_case`, `iCal`."""
    found = [part for part in parts(literal.text) if part.isalpha() and len(part) > 1]
    plain = literal.text.lower()
    if re.search(r"\d", plain):
        # `EAN-13`, `base58`: as it may be written in a name.
        return [*found, re.sub(r"\W|_", "", plain)]
    return found if plain in found or not plain.isalpha() else [*found, plain]


_KEYWORD = re.compile(r"\b([^\W\d]\w*) ?= ?$")


def _numbered(literals: list[Literal], text: str, known: Language) -> Iterator[Literal]:
    """Literals with the words around them."""
    for literal in literals:
        before = [match.group().lower() for match in _WORD.finditer(text[max(0, literal.start - 60) : literal.start])]
        end = literal.start + len(literal.text)
        after = _WORD.match(text[end : end + 40].lstrip())
        yield Literal(
            literal.kind,
            literal.text,
            literal.code,
            literal.start,
            tuple(reversed(before))[:4],
            after.group().lower() if after else "",
            keyword[1] if (keyword := _KEYWORD.search(text, max(0, literal.start - 40), literal.start)) else "",
        )
