"""A request in plain words, read into clauses: the words that say what is wanted, and the literals in them."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from codenav.planner.literals import WORD, Kind, Literal, literals_in, with_neighbours, word_parts
from codenav.planner.words import Language, language

LONGEST = 20_000
"""Characters of a request that are read."""
MOST_LITERALS, MOST_CLAUSES = 40, 8


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
        for match in WORD.finditer(self.text):
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


def read(request: str, *, files: Collection[str] = (), lists: Language | None = None) -> list[Clause]:
    """The clauses of a request. Any text can be read; `files` are names that exist in the work folder."""
    known = lists or language()
    text = request[:LONGEST]
    literals = list(literals_in(text, files))[:MOST_LITERALS]
    found = []
    for start, end in _cuts(text, literals, known):
        inside = [literal for literal in literals if start <= literal.start < end]
        inside = list(with_neighbours(inside, text))
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
        following = WORD.match(text, at)
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
    after = WORD.match(text[match.end() : match.end() + 20].lstrip())
    return word in known.verbs or (
        word not in known.stop and after is not None and after.group().lower() in known.determiners
    )


def _words(text: str, offset: int, literals: list[Literal], known: Language) -> list[str]:
    """Content words in the order in which they stand."""
    spans = [(literal.start - offset, literal.start - offset + len(literal.text), literal) for literal in literals]
    found: list[tuple[int, str]] = []
    for match in WORD.finditer(text):
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
