"""A request in plain words, read into clauses: the words that say what is wanted, and the literals in them."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

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
    known: Language = field(default_factory=language, repr=False)

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
        literals = (*other.literals, *self.literals)
        # What stood between them is left blank, so that all keeps its place.
        between = " " * max(1, self.start - other.end)
        return Clause(f"{other.text}{between}{self.text}", words, literals, other.start, self.known)

    @property
    def asks_whether(self) -> bool:
        """Whether the answer is yes or no."""
        return bool(re.match(self.known.patterns["whether"], self.text, re.IGNORECASE))

    @property
    def spoken(self) -> tuple[Literal, ...]:
        """Words that may be values: `from kilometer to mile`. They are no more than that."""
        pattern = "spoken" if self.literals else "only_spoken"
        found = []
        for match in re.finditer(self.known.patterns[pattern], self.text, re.IGNORECASE):
            at, word = match.start(2), match[2]
            # `in the network 10.0.0.0/8` says what the literal is.
            ahead = at + len(word) + len(self.text[at + len(word) :]) - len(self.text[at + len(word) :].lstrip())
            if self.known.spelled(word) is not None:
                continue
            if word.lower() not in self.known.stop and not (self._is_in_literal(at) or self._is_in_literal(ahead)):
                found.append(Literal(Kind.CODE, word, repr(word), self.start + at, (match[1].lower(),)))
        return tuple(found)

    @property
    def loose(self) -> tuple[Literal, ...]:
        """All other words: values where a parameter names them as its choices, or where they spell out a value."""
        found = []
        ended = 0
        for match in WORD.finditer(self.text):
            word, at = match.group(), match.start()
            if at < ended or self._is_in_literal(at):
                continue
            if (several := self._several(match)) is not None:
                found.append(several)
                ended = at + len(several.text)
                continue
            # `25 frames per second`
            unit = re.search(self.known.patterns["each"], self.text[:at], re.IGNORECASE)
            if not unit and (spelled := self.known.spelled(word)) is not None:
                found.append(Literal(Kind.SPELLED, word, repr(spelled), self.start + at))
            elif len(word) > 2 and word.lower() not in self.known.stop:
                found.append(Literal(Kind.WORD, word, repr(word), self.start + at))
        around = [replace(literal, start=literal.start - self.start) for literal in found]
        near = [one for literal in around for one in with_neighbours([literal], self.text)]
        # What a long text says again and again is one value.
        once = {(one.text, one.before, one.after): one for one in reversed(near)}
        return tuple(replace(one, start=one.start + self.start) for one in reversed(once.values()))

    def _several(self, match: re.Match[str]) -> Literal | None:
        """A character that is spelled out, so many times: `four spaces`."""
        after = WORD.search(self.text, match.end())
        count, sign = self.known.spelled(match.group()), self.known.spelled(after.group()) if after else None
        if after is None or not isinstance(count, int) or not isinstance(sign, str) or not count:
            return None
        text = self.text[match.start() : after.end()]
        return Literal(Kind.SPELLED, text, repr(sign * count), self.start + match.start())

    @property
    def groups(self) -> tuple[tuple[Literal, ...], ...]:
        """Literals of one kind in a row, which may be one list: `the words 'a', 'b' and 'c'`."""
        found: list[list[Literal]] = []
        pairs: list[tuple[Literal, ...]] = []
        for literal in self.literals:
            last = found[-1][-1] if found else None
            if last is not None and last.kind is literal.kind:
                between = self.text[last.start + len(last.text) - self.start : literal.start - self.start]
                if re.fullmatch(self.known.patterns["joining"], between, re.IGNORECASE):
                    found[-1].append(literal)
                    continue
                away = re.fullmatch(self.known.patterns["away"], "".join(last.before[:1]), re.IGNORECASE)
                if away and re.fullmatch(self.known.patterns["reaching"], between, re.IGNORECASE):
                    # `the line from (0, 0) to (5, 5)`
                    pairs.append((last, literal))
            found.append([literal])
        several = [
            tuple(group) for group in found if len(group) > 1 and group[0].kind in (Kind.TEXT, Kind.NUMBER, Kind.DATE)
        ]
        return (*several, *(pair for pair in pairs if len(pairs) > 1))

    @cached_property
    def aims(self) -> tuple[frozenset[str], frozenset[str]]:
        """Words for what is there and for what is to come out: `from camel case to snake case`."""
        given: set[str] = set()
        got: set[str] = set()
        into: set[str] | None = None
        turned = False
        for match in WORD.finditer(self.text):
            word = match.group().lower()
            if self._is_in_literal(match.start()) and not self._is_literal(match):
                continue
            if not turned and re.fullmatch(self.known.patterns["turning"], word):
                # `Convert the Gregorian date … to a Hebrew date`
                turned, into = True, given
            elif re.fullmatch(self.known.patterns["towards"], word):
                into = got
            elif re.fullmatch(self.known.patterns["away"], word):
                into = given
            elif re.fullmatch(self.known.patterns["aside"], word):
                into = given if turned and not got else None
            elif into is not None and word in self.words:
                into.add(word)
        if asked := re.match(self.known.patterns["asked"], self.bare, re.IGNORECASE):
            # `Which number does "vier" mean?`
            got.update({asked["noun"].lower()} & set(self.words))
        return frozenset(given), frozenset(got - given)

    def _is_in_literal(self, at: int) -> bool:
        """Whether what stands there in the clause is a literal's."""
        return any(0 <= at + self.start - one.start < len(one.text) for one in self.literals)

    def _is_literal(self, match: re.Match[str]) -> bool:
        """Whether a word is a literal as a whole: `RGB`."""
        return any(one.start == self.start + match.start() and one.text == match.group() for one in self.literals)

    @property
    def refers_back(self) -> bool:
        """Whether it speaks of what came before."""
        return bool(re.search(self.known.patterns["back"], self.bare, re.IGNORECASE))

    @property
    def saved_to(self) -> Literal | None:
        """The file, where this only asks to keep there what came before: `and save the result to a.txt`."""
        if len(self.literals) != 1 or self.literals[0].kind is not Kind.FILE or not self.refers_back:
            return None
        file = self.literals[0]
        rest = [word for word in self.words if not re.fullmatch(self.known.patterns["saving"], word)]
        target = file.before and re.fullmatch(self.known.patterns["target"], file.before[0])
        plain = all(
            word in self.known.weak
            or word == file.text.rpartition(".")[2].lower()
            or re.fullmatch(self.known.patterns["saved"], word)
            for word in rest
        )
        return file if target and plain and len(rest) < len(self.words) else None

    @cached_property
    def bare(self) -> str:
        """Its text with blanks for the literals: what is in them says nothing of what is asked."""
        text = self.text
        for literal in self.literals:
            at = literal.start - self.start
            if at >= 0:
                text = text[:at] + " " * len(literal.text) + text[at + len(literal.text) :]
        return text


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
        if asked := re.match(known.patterns["when"], text[start:end], re.IGNORECASE):
            # `When does it expire?`, `On which day …` ask for a date.
            words = ("when", *words[len(_words(asked.group(), start, [], known)) :])
        if words or inside:
            piece = text[start:end]
            before = start + len(piece) - len(piece.lstrip())
            found.append(Clause(piece.strip(), words, tuple(inside), before, known))
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


def asked_for(request: str, *, lists: Language | None = None) -> str:
    """The name in a question about the code itself, "where is X defined?"; empty where it is none."""
    known = lists or language()
    if len(request) > 500 or not re.search(known.patterns["where"], request, re.IGNORECASE | re.DOTALL):
        return ""
    quoted = re.search(r"[`'\"‘“]([\w.]+)(?:\(\))?[`'\"’”]", request)
    if quoted is not None:
        return str(quoted[1])
    left = re.sub(known.patterns["question"], " ", request, flags=re.IGNORECASE)
    words = [word.strip(".") for word in re.findall(r"[A-Za-z_][\w.]*", left)]
    shaped = [word for word in words if re.search(r"_|\.|[a-z][A-Z]|^[A-Z]", word)]
    return str((shaped or words or [""])[0])


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
        asks = re.match(known.patterns["question_after"], text[at:], re.IGNORECASE)
        if asks and not any(starts[-1] <= begin < match.start() for begin, _ in covered):
            # `Which amount and which currency are in 'EUR 3'?`
            asks = None
        verb = following is not None and _is_verb(following, text, known)
        if match.group().strip() == ",":
            # That alone may stand within a question: `Which place, in degrees, does it name?`
            asks, verb = None, verb and following is not None and following.group().lower() in known.verbs
        if sentence or asks or verb:
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
        if re.match(known.patterns["result"], text[match.start() :], re.IGNORECASE):
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
