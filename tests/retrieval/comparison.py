"""Comparison of two stores with the same blocks and history: each query must give the same hits in the same order."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from codenav.core.blocks import CodeBlock, SearchResult
from codenav.core.protocols import Index
from codenav.retrieval.query import tree as query_tree
from codenav.retrieval.requests import as_words
from codenav.retrieval.self_check import CheckRow

SAME_SCORE = 1e-4
"""Relative difference up to which two scores count as equal: engines add the same numbers in different orders."""
ROUNDING = 5e-7
"""Relative difference of two scores up to which rounding may reverse two hits. Hits whose scores are equal in both
stores must not be reversed: they are ordered by path, first line and id."""
_WORD = re.compile(r"[^\W\d_]{3,}")
_PART = re.compile(r"[A-Z]?[a-z]{2,}")


def compare(one: Index, other: Index, queries: Mapping[str, Sequence[str]], *, limit: int = 100) -> Iterator[CheckRow]:
    """Compare two stores; one row per kind of query, ok if hits, their order, totals and readings are the same."""
    for kind, texts in queries.items():
        differences = [found for text in texts if (found := difference(one, other, text, limit=limit))]
        detail = f"{len(differences)} of {len(texts)}, the first: {differences[0]}" if differences else ""
        yield CheckRow(kind, not differences, detail)


def difference(one: Index, other: Index, query: str, *, limit: int = 100) -> str:
    """The first difference between two stores for one query; empty if they agree."""
    left, right = one.search(query, limit=limit), other.search(query, limit=limit)
    for what in ("read_as", "repairs", "total"):
        if getattr(left, what) != getattr(right, what):
            return f"{query!r}: {what} {getattr(left, what)!r} and {getattr(right, what)!r}"
    if len(left) != len(right):
        return f"{query!r}: {len(left)} and {len(right)} hits"
    return _hits_differ(query, left, right)


def _hits_differ(query: str, left: SearchResult, right: SearchResult) -> str:
    for mine, yours in zip(left, right, strict=True):
        if abs(mine.score - yours.score) > SAME_SCORE * max(abs(mine.score), abs(yours.score)):
            return (
                f"{query!r}: scores {mine.score} and {yours.score} of {mine.path} {mine.id} and {yours.path} {yours.id}"
            )
    for begin, end in _runs(left):
        ours, theirs = left[begin:end], right[begin:end]
        scores = {hit.id: (hit.score,) for hit in ours}
        known = {hit.id: (*scores[hit.id], hit.score) for hit in theirs if hit.id in scores}
        if len(known) < len(ours) and (end < len(left) or left.total == len(left)):
            return (
                f"{query!r}: hits {begin} to {end} differ: {[hit.id for hit in ours]} and {[hit.id for hit in theirs]}"
            )
        for tie in set(known.values()):
            one, other = ([hit.id for hit in hits if known.get(hit.id) == tie] for hits in (ours, theirs))
            if one != other:
                return f"{query!r}: equal scores from hit {begin} on are in different orders: {one} and {other}"
    if left and left[0].block != right.hits[0].block and left[0].id == right[0].id:
        return f"{query!r}: the first block was not stored as it was"
    return ""


def _runs(result: SearchResult) -> Iterator[tuple[int, int]]:
    """Start and end of each run of neighbours whose scores differ by no more than rounding."""
    begin = 0
    for at in range(1, len(result) + 1):
        if at == len(result) or result[at - 1].score - result[at].score > ROUNDING * abs(result[at].score):
            yield begin, at
            begin = at


def queries_of(blocks: Sequence[CodeBlock], *, each: int, seed: int = 0) -> dict[str, list[str]]:
    """Make `each` queries of every kind, from words in these blocks."""
    words = _Words(blocks, random.Random(seed))
    return {kind: [make(words) for _ in range(each)] for kind, make in KINDS.items()}


class _Words:
    """A source of random words from blocks."""

    def __init__(self, blocks: Sequence[CodeBlock], rng: random.Random) -> None:
        self.rng = rng
        self._blocks = [block for block in blocks if _PART.search(block.name) and len(_WORD.findall(block.text)) > 8]

    def block(self) -> CodeBlock:
        """A random block with a name and a text of several words."""
        return self.rng.choice(self._blocks)

    def name(self) -> str:
        """The name of a block."""
        return self.block().name

    def part(self) -> str:
        """A part of a name, in lower case."""
        parts: list[str] = _PART.findall(self.name())
        return self.rng.choice(parts).lower()

    def word(self) -> str:
        """A word of a text."""
        found: list[str] = _WORD.findall(self.block().text)
        return self.rng.choice(found)

    def phrase(self, count: int) -> str:
        """A quoted phrase of neighbouring words in a text."""
        words = re.findall(r"\w+", self.block().text)
        at = self.rng.randrange(len(words) - count)
        return f'"{" ".join(words[at : at + count])}"'

    def typo(self) -> str:
        """Two parts of names, joined, with a letter missing."""
        part = self.part() + self.part()
        at = self.rng.randrange(1, len(part))
        return part[:at] + part[at + 1 :]


def _field(words: _Words) -> str:
    block = words.block()
    folder = block.path.split("/")[0]
    return words.rng.choice([
        f"name:{words.part()}", f"doc:{words.word()}", f"signature:{words.word()}", f"{words.part()} AND type:class",
        f"file_path:{folder} AND {words.part()}", f"file_path:*{block.path[-6:]} AND {words.part()}",
        f"name:({words.part()} OR {words.part()})", f"language:{block.language} AND {words.word()}",
        f"source:{block.source.rpartition(':')[2]} AND {words.part()}",
    ])  # fmt: skip


def _messy(words: _Words) -> str:
    name, word, part = words.name(), words.word(), words.part()
    return words.rng.choice([
        f"def {name}(self, {word}=None):", f"{part}/{word}/", f'"{word} {part}', f"self.{name}({word}", f"{part} AND (",
        f"how do I {part} the {word}?", f"{word}:", f"type: {part} {name}", f"-{word} +{part}", f"`{name}`, [{word}",
    ])  # fmt: skip


def _lines(words: _Words) -> str:
    first = words.rng.randrange(1, 200)
    return f"{words.part()} AND lines:[{first} TO {first + words.rng.randrange(300)}]"


def _regex(words: _Words) -> str:
    part = words.part()
    return words.rng.choice(
        [f"/{part[:3]}.*{part[-1]}/", f"/[{part[0]}-z]{part[1:]}.?/", f"/({part}|{words.part()})s*/"]
    )


def _holes(words: _Words) -> str:
    part = words.part()
    return words.rng.choice([f"*{part}", f"{part[:2]}?{part[-1]}*"])


def _boosts(words: _Words) -> str:
    return f"{words.part()}^{words.rng.choice((0.5, 2, 7))} OR name:{words.part()}^3 OR {words.word()}"


KINDS: dict[str, Callable[[_Words], str]] = {
    "one name": lambda words: words.name(),
    "one word": lambda words: words.word(),
    "two words": lambda words: f"{words.part()} {words.part()}",
    "words of a sentence": lambda words: f"{words.part()} {words.word()} {words.word()} {words.part()}",
    "prefix": lambda words: words.name()[: words.rng.randint(2, 7)] + "*",
    "infix": lambda words: f"*{words.part()[:5]}*",
    "suffix and holes": _holes,
    "regular expression": _regex,
    "fuzzy": lambda words: f"{words.typo()}~{words.rng.randint(1, 2)}",
    "phrase": lambda words: words.phrase(words.rng.randint(2, 4)),
    "phrase with slop": lambda words: f"{words.phrase(words.rng.randint(2, 3))}~{words.rng.randint(1, 3)}",
    "AND, OR, NOT": lambda words: f"({words.part()} OR {words.word()}) AND NOT {words.word()}",
    "+ and -": lambda words: f"+{words.part()} {words.word()} -{words.word()}",
    "only NOT": lambda words: f"NOT {words.word()}",
    "fields": _field,
    "lines": _lines,
    "type alone": lambda words: f"type:{words.block().kind.value}",
    "boosts": _boosts,
    "messy": _messy,
    "everything": lambda words: query_tree.render(query_tree.Everything()),
    "words of a request": lambda words: as_words(" ".join(words.word() for _ in range(words.rng.randint(8, 30)))),
}  # fmt: skip
"""Functions that make a query, by kind."""
