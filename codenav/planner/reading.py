"""A request in plain words, read into clauses: the words that say what is wanted, and the literals in them."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from codenav.planner.language import language
from codenav.planner.literals import WORD, Kind, Literal, literals_in, with_neighbours, word_parts

LONGEST = 20_000
"""Maximum characters of a request that are read."""
MOST_LITERALS, MOST_CLAUSES = 40, 8


def matches(pattern: str, text: str) -> re.Match[str] | None:
    """The match of a pattern of the language at the beginning of a text."""
    return re.match(language().patterns[pattern], text, re.IGNORECASE)


@dataclass(frozen=True)
class Clause:
    """A clause of a request: one thing that is asked for."""

    text: str
    words: tuple[str, ...]
    """Content words in lower case, as they come, without literals and the words of code."""
    literals: tuple[Literal, ...]
    start: int = 0
    """The number of characters before it in the request."""

    @property
    def end(self) -> int:
        """The number of characters before what comes after it."""
        return self.start + len(self.text)

    @property
    def asks_whether(self) -> bool:
        """True if the answer is yes or no."""
        return bool(matches("whether", self.text))

    @property
    def refers_back(self) -> bool:
        """True if it speaks of what came before."""
        return bool(re.search(language().patterns["back"], self.bare, re.IGNORECASE))

    @property
    def spoken(self) -> tuple[Literal, ...]:
        """The words that may be values: `from kilometer to mile`. They are no more than that."""
        known, found = language(), []
        pattern = known.patterns["spoken" if self.literals else "only_spoken"]
        for match in re.finditer(pattern, self.text, re.IGNORECASE):
            at, word = match.start(2), match[2]
            rest = self.text[at + len(word) :]
            # `in the network 10.0.0.0/8` says what the literal is.
            ahead = at + len(word) + len(rest) - len(rest.lstrip())
            if word.lower() not in known.stop and not (self._is_in_literal(at) or self._is_in_literal(ahead)):
                found.append(Literal(Kind.CODE, word, repr(word), self.start + at, (match[1].lower(),)))
        return tuple(found)

    @property
    def loose(self) -> tuple[Literal, ...]:
        """All other words, which are values where a parameter names them as its choices."""
        found = []
        for match in WORD.finditer(self.text):
            word, at = match.group(), match.start()
            if self._is_in_literal(at):
                continue
            if len(word) > 2 and word.lower() not in language().stop:
                found.append(Literal(Kind.WORD, word, repr(word), at))
        near = [one for literal in found for one in with_neighbours([literal], self.text)]
        # A word that a long text says again and again is one value.
        once = {(one.text, one.before, one.after): one for one in reversed(near)}
        return tuple(replace(one, start=one.start + self.start) for one in reversed(once.values()))

    @property
    def groups(self) -> tuple[tuple[Literal, ...], ...]:
        """The literals of one kind in a row, which may be one list: `the words 'a', 'b' and 'c'`."""
        found: list[list[Literal]] = []
        for literal in self.literals:
            last = found[-1][-1] if found else None
            if last is not None and last.kind is literal.kind:
                between = self.text[last.start + len(last.text) - self.start : literal.start - self.start]
                if re.fullmatch(language().patterns["joining"], between, re.IGNORECASE):
                    found[-1].append(literal)
                    continue
            found.append([literal])
        kinds = (Kind.TEXT, Kind.NUMBER, Kind.DATE)
        return tuple(tuple(group) for group in found if len(group) > 1 and group[0].kind in kinds)

    def _is_in_literal(self, at: int) -> bool:
        """True if that place in the clause is within a literal."""
        return any(0 <= at + self.start - one.start < len(one.text) for one in self.literals)

    @property
    def saved_to(self) -> Literal | None:
        """The file, where the clause only asks to save there what came before: `and save the result to a.txt`."""
        if len(self.literals) != 1 or self.literals[0].kind is not Kind.FILE or not self.refers_back:
            return None
        file, known = self.literals[0], language()
        rest = [word for word in self.words if not re.fullmatch(known.patterns["saving"], word)]
        target = file.before and re.fullmatch(known.patterns["target"], file.before[0])
        said = known.weak | {file.ending}
        plain = all(word in said or re.fullmatch(known.patterns["saved"], word) for word in rest)
        return file if target and plain and len(rest) < len(self.words) else None

    @cached_property
    def bare(self) -> str:
        """The text with blanks for the literals: what is in them says nothing of what is asked."""
        text = self.text
        for literal in self.literals:
            at = literal.start - self.start
            if at >= 0:
                text = text[:at] + " " * len(literal.text) + text[at + len(literal.text) :]
        return text


def read(request: str, *, files: Collection[str] = ()) -> list[Clause]:
    """Read a request into clauses. Any text can be read; `files` are names that exist in the work folder."""
    text = request[:LONGEST]
    literals = list(literals_in(text, files))[:MOST_LITERALS]
    found = []
    for start, end in _cuts(text, literals):
        piece = text[start:end]
        inside = [literal for literal in literals if start <= literal.start < end]
        inside = list(with_neighbours(inside, text))
        words = tuple(_words(piece, start, inside))
        if asked := matches("when", piece):
            # `When does it expire?`, `On which day …` ask for a date.
            words = ("when", *words[len(_words(asked.group(), start, [])) :])
        if words or inside:
            before = start + len(piece) - len(piece.lstrip())
            found.append(Clause(piece.strip(), words, tuple(inside), before))
    return found[:MOST_CLAUSES]


_DOES = (ast.Call, ast.Assign, ast.AugAssign, ast.Import, ast.ImportFrom, ast.BinOp, ast.FunctionDef, ast.For, ast.With)


def code_in(request: str) -> str:
    """The request, where it is Python and not words: `print(2 + 2)`, a fenced block; else an empty text."""
    fenced = re.fullmatch(r"\s*```(?:python|py)?\n(.*?)```\s*", request, re.DOTALL)
    text = (fenced[1] if fenced else request).strip()
    try:
        tree = ast.parse(text[:LONGEST])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return text if len(text) <= LONGEST and any(isinstance(node, _DOES) for node in ast.walk(tree)) else ""


def asked_for(request: str) -> str:
    """The name in a question about the code itself, "where is X defined?"; empty where it is none."""
    patterns = language().patterns
    if len(request) > 500 or not re.search(patterns["where"], request, re.IGNORECASE | re.DOTALL):
        return ""
    quoted = re.search(r"[`'\"‘“]([\w.]+)(?:\(\))?[`'\"’”]", request)
    if quoted is not None:
        return str(quoted[1])
    left = re.sub(patterns["question"], " ", request, flags=re.IGNORECASE)
    words = [word.strip(".") for word in re.findall(r"[A-Za-z_][\w.]*", left)]
    shaped = [word for word in words if re.search(r"_|\.|[a-z][A-Z]|^[A-Z]", word)]
    return str((shaped or words or [""])[0])


def _cuts(text: str, literals: list[Literal]) -> list[tuple[int, int]]:
    """The starts and ends of clauses: at a sentence's end, and at a joining word before a verb; never in a literal."""
    covered = [(literal.start, literal.start + len(literal.text)) for literal in literals]
    joins = "|".join(re.escape(join) for join in language().joins)
    pattern = re.compile(rf"[.;!?](?=\s)|\n\s*\n|(?:,\s*)?\b(?:{joins})\b|,\s+(?=[a-z])", re.IGNORECASE)
    starts, ends = [0], []
    for match in pattern.finditer(text):
        if any(begin <= match.start() < end for begin, end in covered):
            continue
        at = match.end() + len(text[match.end() :]) - len(text[match.end() :].lstrip())
        following = WORD.match(text, at)
        # `Which amount and which currency are in 'EUR 3'?` asks once.
        known = any(starts[-1] <= begin < match.start() for begin, _ in covered)
        asks = bool(matches("question_after", text[at:])) and known
        verb = following is not None and _is_verb(following, text)
        if match.group().strip() == ",":
            # A comma alone may stand within a question: `Which place, in degrees, does it name?`
            asks, verb = False, verb and following is not None and following.group().lower() in language().verbs
        if match.group()[0] in ".;!?\n" or asks or verb:
            starts.append(match.end())
            ends.append(match.start())
    return list(zip(starts, [*ends, len(text)], strict=True))


def _is_verb(match: re.Match[str], text: str) -> bool:
    """True for a known verb, or a word before an article, as only verbs stand there: `push the`, `close it`."""
    word, known = match.group().lower(), language()
    if re.match(r" ?= ?[^=\s]", text[match.end() :]):
        # The name that a value is given to.
        return False
    after = WORD.match(text[match.end() : match.end() + 20].lstrip())
    article = after is not None and after.group().lower() in known.determiners
    return word in known.verbs or (word not in known.stop and article)


def _words(text: str, offset: int, literals: Sequence[Literal]) -> list[str]:
    """The content words in the order in which they stand."""
    spans = [(literal.start - offset, literal.start - offset + len(literal.text), literal) for literal in literals]
    found: list[tuple[int, str]] = []
    for match in WORD.finditer(text):
        if any(begin <= match.start() < end for begin, end, _ in spans):
            continue
        named = any(literal.keyword == match.group() for literal in literals)
        if named or matches("result", text[match.start() :]):
            # The name that a value is given to, or a word for what came before.
            continue
        word = match.group().lower().removesuffix("'s").removesuffix("’s")
        pieces = (piece for piece in word.split("-") if piece not in language().stop and len(piece) > 1)
        found += [(match.start(), piece) for piece in pieces]
    for begin, _, literal in spans:
        if literal.kind is Kind.FILE:
            # The ending says what a file holds: `people.csv`.
            found.append((begin, literal.ending))
        if literal.kind is Kind.CODE and re.fullmatch(r"[\w-]+", literal.text):
            # `base58`, `snake_case`: perhaps a value, perhaps a name of what is wanted.
            found += [(begin, word) for word in word_parts(literal)]
    return [word for _, word in sorted(found, key=lambda pair: pair[0])]
