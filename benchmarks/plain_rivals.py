"""Rivals of search in plain words, over the same blocks: BM25 of `bm25s`, and its sum with static vectors."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence

import plain_packages

from codenav.core.blocks import BlockKind, CodeBlock

sys.path.append(str(plain_packages.rivals()))

import bm25s
import numpy as np
import Stemmer

try:
    import plain_vectors
except ModuleNotFoundError as missing:
    print(f"no row for static vectors: {missing}", file=sys.stderr)
    plain_vectors = None

Ask = Callable[[str, int], list[str]]
"""The best blocks for a query and a number of them, each as `path::qualname`."""

_SEAMS = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORDS = re.compile(r"[a-z0-9]+")
_SLIGHT = {BlockKind.ASSIGNMENT, BlockKind.IMPORT, BlockKind.CONDITIONAL}
TESTS, SLIGHT, PRIVATE = 0.3, 0.5, 0.8
"""Factors for the scores of blocks in tests and of vendored code, of statements, and of private names."""
WHOLE = 0.7
"""The part of the vector of qualified name and docstring; the rest is that of the name alone."""


def words(text: str) -> str:
    """The text with identifiers split: `get_appDir` as `get app Dir`."""
    return _SEAMS.sub(" ", text)


def bm25(blocks: Sequence[CodeBlock]) -> Ask:
    """BM25 over name, docstring and source."""
    scores = _bm25([f"{block.name} {block.docstring} {block.text}" for block in blocks])
    return _asking(blocks, scores)


def weighted(blocks: Sequence[CodeBlock]) -> Ask:
    """BM25 over fields of different weight; tests, statements and private names count less."""
    return _asking(blocks, weighted_scores(blocks))


def weighted_scores(blocks: Sequence[CodeBlock]) -> Callable[[str], np.ndarray]:
    """The scores of all blocks for a query, by the same."""
    scores, factors = _bm25([_document(block) for block in blocks]), _factors(blocks)
    return lambda query: scores(query) * factors


def summed(blocks: Sequence[CodeBlock]) -> Ask:
    """The same BM25 and the cosine of static vectors, each divided by its best, summed."""
    told = [f"{words(block.qualname)} {_first_paragraph(block)}" for block in blocks]
    near = _cosines(told), _cosines([words(block.name) for block in blocks])
    scores, factors = _bm25([_document(block) for block in blocks]), _factors(blocks)

    def both(query: str) -> np.ndarray:
        alike = WHOLE * near[0](query) + (1 - WHOLE) * near[1](query)
        return (scaled(scores(query)) + scaled(alike)) * factors

    return _asking(blocks, both)


def _first_paragraph(block: CodeBlock) -> str:
    return words(block.docstring.strip().split("\n\n")[0])


def scaled(values: np.ndarray) -> np.ndarray:
    """Scores of which the best is 1."""
    return values / values.max() if values.max() > 0 else values


def _cosines(texts: Sequence[str]) -> Callable[[str], np.ndarray]:
    encoder, vectors = plain_vectors.load()

    def vector(text: str) -> np.ndarray:
        places = [place for word in _WORDS.findall(text.lower()) for place in encoder.pieces(word)]
        whole = vectors[places].sum(0) if places else np.zeros(vectors.shape[1], dtype=np.float32)
        return whole / (np.linalg.norm(whole) or 1)

    matrix = np.stack([vector(text) for text in texts])
    return lambda query: matrix @ vector(query)


def _document(block: CodeBlock) -> str:
    parts = [block.name] * 4 + [block.qualname] + [block.docstring] * 3 + [block.signature, block.text[:1500]]
    return " ".join(parts)


def _factors(blocks: Sequence[CodeBlock]) -> np.ndarray:
    factors = np.ones(len(blocks), dtype=np.float32)
    for place, block in enumerate(blocks):
        factors[place] *= TESTS if plain_packages.ASIDE.search(block.path) else 1
        factors[place] *= SLIGHT if block.kind in _SLIGHT else 1
        private = any(part.startswith("_") and not part.endswith("__") for part in block.qualname.split("."))
        factors[place] *= PRIVATE if private else 1
    return factors


def _bm25(documents: Sequence[str]) -> Callable[[str], np.ndarray]:
    stemmer = Stemmer.Stemmer("english")
    retriever = bm25s.BM25()
    tokens = bm25s.tokenize([words(text) for text in documents], stopwords="en", stemmer=stemmer, show_progress=False)
    retriever.index(tokens, show_progress=False)

    def scores(query: str) -> np.ndarray:
        asked = bm25s.tokenize(words(query), stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False)[0]
        known = [token for token in asked if token in retriever.vocab_dict]
        return retriever.get_scores(known) if known else np.zeros(len(documents), dtype=np.float32)

    return scores


def _asking(blocks: Sequence[CodeBlock], scores: Callable[[str], np.ndarray]) -> Ask:
    keys = [plain_packages.key(block) for block in blocks]

    def ask(query: str, limit: int) -> list[str]:
        values = scores(query)
        return [keys[place] for place in np.argsort(-values, kind="stable")[:limit] if values[place] > 0]

    return ask


RIVALS: dict[str, Callable[[Sequence[CodeBlock]], Ask]] = {
    "BM25 of bm25s": bm25,
    "BM25, fields weighted": weighted,
    **({"BM25 + static": summed} if plain_vectors else {}),
}
"""The rows of the tables."""
