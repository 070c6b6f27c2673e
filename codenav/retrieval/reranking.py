"""The second look at the first hits of plain words: by meaning, each name once, a class before most of its methods.

The words of the query and those that name and summarise a block are two means of static vectors, made on the spot:
an index holds none. Reranking the first 30 gives the same first ten as comparing with every block, on 150 queries.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial

from codenav.core.blocks import BlockKind, CodeBlock, Hit, SearchResult
from codenav.retrieval import analysis, documents, meaning
from codenav.retrieval.planning import Understood
from codenav.retrieval.reasons import why
from codenav.retrieval.stems import STOP

WINDOW = 30
"""The number of first hits that are looked at again."""
CLOSE = 6.0
"""The score of a cosine of 1, beside BM25 scores of 3 to 10 a word."""
NAME = 0.3
"""The share of the name alone in a cosine; the rest is that of the qualified name with the summary."""
METHODS = 2
"""Methods of a class that come before the class itself, where it matches too: so it is among the first three."""
DIGITS = 5
"""Significant digits of a score; what is equal in them is ordered by path, line and id."""


FoundHits = tuple[Sequence[Hit], int, Sequence[str]]
"""The hits of an engine, the number of all that match, and sentences on what it left out."""
NONE: FoundHits = ((), 0, ())


def search_result(
    query: str, asked: Understood, limit: int, *, near: bool, find: Callable[[int], FoundHits]
) -> SearchResult:
    """The result of a search of one index, looked at again where the query is of plain words."""
    hits, total, notes = find(max(limit, WINDOW) + WINDOW if asked.again and limit > 0 else limit)
    if asked.again:
        hits = again(asked, hits, near=near)[: max(limit, 0)]
    return SearchResult(
        query, hits=list(hits), total=total, read_as=asked.read.read_as, repairs=(*asked.read.repairs, *notes)
    )


def again(asked: Understood, hits: Sequence[Hit], *, near: bool) -> list[Hit]:
    """The hits of plain words, best first; beyond the first `WINDOW` as they are.

    `near`: by meaning too, where the words describe. Without operators, what is the same to a reader is there once.
    """
    first = hits[:WINDOW]
    blocks = [hit.block for hit in first]
    added = _closeness(asked.words, blocks) if near and asked.described else [0.0] * len(blocks)
    scores = [float(f"{hit.score + more:.{DIGITS}g}") for hit, more in zip(first, added, strict=True)]
    scores = _with_classes(blocks, scores)
    ranked = sorted(
        range(len(first)), key=lambda at: (-scores[at], first[at].path, blocks[at].lines.start, first[at].id)
    )
    kept: list[int] = []
    seen: set[tuple[str, str]] = set()
    for at in ranked:
        keys = _same(blocks[at])
        if not (asked.read.plain and seen & keys):
            kept.append(at)
        seen |= keys
    for at, before in zip(kept, sorted(kept), strict=True):
        first[at].score = scores[at]
        if before < at:
            first[at].why = partial(why, asked.read.tree, lifted=True)
    return [*(first[at] for at in kept), *hits[WINDOW:]]


def _with_classes(blocks: Sequence[CodeBlock], scores: Sequence[float]) -> list[float]:
    """The scores, with a class at least as good as the first of its methods that has to come after it."""
    methods: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for block, score in zip(blocks, scores, strict=True):
        if block.kind is BlockKind.METHOD:
            others = methods[block.path, block.qualname.rpartition(".")[0]]
            others[block.name] = max(score, others.get(block.name, score))
    lifted = []
    for block, score in zip(blocks, scores, strict=True):
        others = methods.get((block.path, block.qualname), {}) if block.kind is BlockKind.CLASS else {}
        lifted.append(max([score, *sorted(others.values(), reverse=True)[METHODS : METHODS + 1]]))
    return lifted


def _same(block: CodeBlock) -> set[tuple[str, str]]:
    """The properties that a block shares only with what is the same to a reader.

    Overloads share a file and a qualified name; copies, and methods of like classes, a name and a text or a summary.
    """
    said = documents.summary(block.docstring)
    return {(block.path, block.qualname), (block.name, block.text), *([(block.name, said)] if said else ())}


def _closeness(words: Sequence[str], blocks: Sequence[CodeBlock]) -> list[float]:
    names = [_telling(block.name) for block in blocks]
    wholes = [_telling(f"{block.qualname} {documents.summary(block.docstring)}") for block in blocks]
    close = meaning.closeness(words, [*names, *wholes])
    return [
        CLOSE * documents.prior(block) * (NAME * name + (1 - NAME) * whole)
        for block, name, whole in zip(blocks, close, close[len(blocks) :], strict=False)
    ]


def _telling(text: str) -> list[str]:
    return [part for part in analysis.parts(text).split() if part not in STOP]
