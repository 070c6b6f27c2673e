"""What a sentence encoder makes of plain words: all-MiniLM-L6-v2, alone and summed with codenav.

It reads the whole sentence, which static vectors do not. A block costs some milliseconds, so only the first `AMONG`
of codenav and of BM25 over fields are encoded.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence

import numpy as np
import plain_packages
import plain_rivals
from encoder import Encoder

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.retrieval import documents
from codenav.retrieval.source_index import SourceIndex

AMONG, LONGEST = 200, 64
"""Blocks of each of the two that are encoded, and pieces of a text that are read."""
_ENCODED = frozenset({BlockKind.FUNCTION, BlockKind.METHOD, BlockKind.CLASS})
_WORDS = re.compile(r"[a-z0-9]+")
_encoder = functools.cache(lambda: Encoder(plain_packages.encoder()))


def rows(index: SourceIndex, blocks: Sequence[CodeBlock]) -> dict[str, Callable[[str, int], list[str]]]:
    """The rows of the table: the cosine of the encoder's vectors times codenav's prior, and its sum with codenav."""
    keys = [plain_packages.key(block) for block in blocks]
    places = {block.id: place for place, block in enumerate(blocks)}
    beside = plain_rivals.weighted_scores(blocks)
    vectors: dict[int, np.ndarray] = {}

    @functools.lru_cache(maxsize=1)
    def both(query: str) -> tuple[np.ndarray, np.ndarray]:
        ours, near = np.zeros(len(blocks), dtype=np.float32), np.zeros(len(blocks), dtype=np.float32)
        for hit in index.search(query, limit=AMONG):
            ours[places[hit.id]] = hit.score
        among = {*np.flatnonzero(ours), *np.argsort(-beside(query), kind="stable")[:AMONG]}
        asked = _vector(query)
        for place in among:
            block = blocks[place]
            if block.kind in _ENCODED:
                if place not in vectors:
                    vectors[place] = _vector(f"{block.qualname} {documents.summary(block.docstring)}")
                near[place] = max(float(vectors[place] @ asked), 0.0) * documents.prior(block)
        return ours, near

    def best(values: np.ndarray, limit: int) -> list[str]:
        found = (keys[place] for place in np.argsort(-values, kind="stable") if values[place] > 0)
        return list(dict.fromkeys(found))[:limit]

    scaled = plain_rivals.scaled
    return {
        "sentence encoder": lambda query, limit: best(both(query)[1], limit),
        "codenav + sentence encoder": lambda query, limit: best(sum(map(scaled, both(query))), limit),
    }


def _vector(text: str) -> np.ndarray:
    encoder = _encoder()
    pieces = [piece for word in _WORDS.findall(plain_rivals.words(text).lower()) for piece in encoder.pieces(word)]
    tokens = [encoder.ids["[CLS]"], *pieces[:LONGEST], encoder.ids["[SEP]"]]
    mean = encoder.states(np.array([tokens])).mean(axis=(0, 1))
    whole: np.ndarray = mean / np.linalg.norm(mean)
    return whole
