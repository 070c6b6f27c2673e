"""Requests as queries: what a person asks for in sentences, read as words and nothing else.

A request of several sentences mostly asks for several things, and the words of one drown those of another. So each part
is searched for as well as the whole, and a block counts by the part that it answers best.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from codenav.core.blocks import BlockKind, Hit, SearchResult
from codenav.core.protocols import Index
from codenav.retrieval import analysis, descriptions, planning
from codenav.retrieval.query.repairs import normal

MOST_WORDS = 1_000
"""The most words of a request that are searched for; a query has at most 1,024."""
MOST_CHARACTERS = 16_000
"""The most characters of them: a query has at most 64 KB."""
PART = 0.6
"""The worth of being the best hit of a part, beside that of the whole; 0.3 to 1 are about as good on twelve sets of
requests for tools (benchmarks/retrieval.py)."""
PART_HITS = 50
"""The hits of a part that count."""
LEAST, MOST_PARTS = 3, 8
"""The fewest telling words of a part, shorter ones being joined to the one before, and the most parts."""

_JOINING = frozenset({"and", "or"})
"""Words that a query leaves out between others, and says so."""
_STATEMENTS = frozenset({"def", "class", "from", "import"})
"""Words that begin a statement of code in a query, though not with a capital. Case never counts in a word."""
_KNOWN = re.compile(r"\w+")
_SEAMS = re.compile(r"(?<=[.!?;:,])\s+|\n+|[—–。！？；，、]")
"""The ends of sentences, and what commas, dashes and lines divide."""


def as_words(request: str) -> str:
    """The query for the words of a request: quotes, colons, operators and names of fields mean nothing in it.

    It is read as plain words without any repair, as `query.parse` tells by `plain`; "" for a request without a word.
    """
    # Characters newer than this Python are Chinese to the analysis and nothing to a query.
    found = (word for run in analysis.words(normal(request)) for word in _KNOWN.findall(run))
    text = " ".join(_word(word) for word in found if word.lower() not in _JOINING)
    return " ".join(text[:MOST_CHARACTERS].split()[:MOST_WORDS])


def describes(request: str, query: str) -> bool:
    """True if a query is the words of the request, or plain words that describe something: more may answer these."""
    if query == as_words(request):
        return bool(query)
    asked = planning.understand(query)
    return asked.read.plain and asked.described


def _word(word: str) -> str:
    if word == "NOT":
        return word.lower()
    return word.upper() if word in _STATEMENTS else word[: analysis.MAX_TOKEN]


def parts(request: str) -> list[str]:
    """The queries for the sentences of a request and what commas divide in them; none if it is one part."""
    found: list[str] = []
    for piece in map(as_words, _SEAMS.split(request[: 2 * MOST_CHARACTERS])):
        if found and len(descriptions.telling(piece.split())) < LEAST:
            found[-1] = f"{found[-1]} {piece}".strip()
        elif piece:
            found.append(piece)
    while len(found) > MOST_PARTS:
        at = min(range(len(found) - 1), key=lambda at: len(found[at]) + len(found[at + 1]))
        found[at : at + 2] = [f"{found[at]} {found[at + 1]}"]
    return found if len(found) > 1 else []


def search(index: Index, request: str, *, kinds: Collection[BlockKind] | None = None, limit: int = 100) -> SearchResult:
    """Blocks for a request, best first: those that match its words, and those that match one of its parts.

    A score is that of all words together, and a share of the best such score by the place in the part that the block
    answers best. A request of one part is the same as a search for `as_words`.

    Raises:
        IndexUnavailable: the index cannot be read.
    """
    found = index.search(as_words(request), kinds=kinds, limit=limit)
    pieces = parts(request) if found.hits and limit > 0 else []
    if not pieces:
        return found
    hits: dict[str, Hit] = {hit.id: hit for hit in found.hits}
    answered: dict[str, float] = {}
    for piece in pieces:
        some = index.search(piece, kinds=kinds, limit=PART_HITS).hits
        for hit in some:
            hits.setdefault(hit.id, hit)
            answered[hit.id] = max(answered.get(hit.id, 0.0), hit.score / max(some[0].score, 1e-9))
    whole = {hit.id: hit.score for hit in found.hits}
    best = found.hits[0].score
    for id, hit in hits.items():
        hit.score = whole.get(id, 0.0) + PART * best * answered.get(id, 0.0)
    ranked = sorted(hits.values(), key=lambda hit: (-hit.score, -hit.weight))
    return replace(found, hits=ranked[:limit])
