"""The order of hits by words, by meaning, and by what training requests were answered with.

The score of a hit is the weighted sum of its score by words, the best hit's being 1, of the cosine of its vector with
the query's, and of the memory. What words did not find is brought; what they named stays first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import numpy as np

from codenav.core.blocks import BlockKind, Hit, Moved, Vote, named
from codenav.core.errors import Cancelled, CodeNavError
from codenav.core.protocols import Encoder
from codenav.retrieval import requests
from codenav.retrieval.dense.block_vectors import BlockVectors
from codenav.retrieval.dense.files import Retriever
from codenav.retrieval.dense.fitting import Weights
from codenav.retrieval.dense.memory import Memory
from codenav.retrieval.dense.words import Floats
from codenav.retrieval.reasons import MEANING
from codenav.retrieval.source_index import SourceIndex, vectors_dir

CANDIDATES = 100
"""The most hits that meaning brings."""
UNTRAINED = Weights(1.0, 0.3, 0.0)
"""The weights of an encoder that was trained on nothing here: of 0.05 to 1 the best for all-MiniLM-L6-v2 on twelve sets
of tools, each judged by the others."""
DIGITS = 3
"""Digits of a cosine, so that the order is the same whatever order a machine sums in."""

Tell = Callable[[str], None]


class DenseRanker:
    """A `protocols.Ranker` and `protocols.Bringing` by an encoder and the vectors of the blocks of an index.

    The hits of a query that names or filters keep their order, as do all if the encoder fails.
    """

    why = MEANING

    def __init__(
        self,
        encoder: Encoder,
        vectors: Callable[[int], BlockVectors],
        *,
        weights: Weights = UNTRAINED,
        memory: Memory | None = None,
        kinds: Collection[BlockKind] | None = None,
        tell: Tell = lambda text: None,
    ) -> None:
        """`vectors` is called at the first search that needs them, with the numbers that a vector has. Blocks of these
        `kinds` are brought. `tell` gets a line if the encoder fails."""
        self._encoder, self._load, self._weights, self._memory = encoder, vectors, weights, memory
        self._kinds, self._tell = kinds, tell
        self._loaded: BlockVectors | None = None
        self._places: dict[str, int] = {}
        self._remembered: list[tuple[int, list[int]]] = []
        self._last: tuple[str, tuple[Floats, Floats] | None] = ("", None)
        """The text that was scored last, with its scores."""
        self._lock = threading.Lock()

    def brings(
        self, request: str, query: str, calls: Sequence[str], known: Collection[str]
    ) -> Mapping[str, Sequence[Vote]]:
        """The blocks that are nearest by meaning and memory. See `protocols.Bringing`."""
        found: dict[str, Sequence[Vote]] = {}
        scores = self._scores(request, query, again=True)
        if scores is None or self._loaded is None:
            return found
        cosines, remembered = scores
        near = self._weights.meaning * np.maximum(cosines, 0) + self._weights.memory * remembered
        for place in np.argsort(-near, kind="stable")[: 2 * CANDIDATES]:
            if near[place] <= 0 or len(found) >= CANDIDATES:
                break
            block = self._loaded.blocks[place]
            if block.id not in known and (self._kinds is None or block.kind in self._kinds):
                found[block.id] = _votes(self._weights, float(cosines[place]), float(remembered[place]))
        return found

    def rank(self, request: str, query: str, calls: Sequence[str], hits: Sequence[Hit]) -> Sequence[Hit]:
        """The hits by the sum of their scores, which they have afterwards. See `protocols.Ranker`."""
        scores = self._scores(request, query)
        if scores is None or self._loaded is None:
            return hits
        # What is named by just these words stays first.
        kept = named([hit.score for hit in hits if hit.score > 0])
        first, rest = hits[:kept], hits[kept:]
        best = max((hit.score for hit in rest), default=0.0) or 1.0
        shares: list[tuple[float, float, float]] = []
        paths = []
        for hit in rest:
            place = self._places.get(hit.id)
            known = (float(scores[0][place]), float(scores[1][place])) if place is not None else (0.0, 0.0)
            shares.append((max(hit.score, 0.0) / best, *known))
            # That of a hit that was brought is not known before its block is loaded.
            paths.append(hit.path if place is None else self._loaded.blocks[place].path)
        totals = self._weights.sum(np.maximum(np.array(shares, dtype=np.float32).reshape(-1, 3), 0))
        order = sorted(range(len(rest)), key=lambda at: (-round(float(totals[at]), 5), paths[at], rest[at].id))
        for new, at in enumerate(order):
            rest[at].score = best * float(totals[at])
            if new != at:
                rest[at].moved = Moved(kept + at + 1, _votes(self._weights, *shares[at][1:]))
        return [*first, *(rest[at] for at in order)]

    def _scores(self, request: str, query: str, *, again: bool = False) -> tuple[Floats, Floats] | None:
        """Cosine and memory of each block; None if the query names or filters, or if they cannot be had.

        `again`: they are tried again for a text for which they could not be had.
        """
        if not requests.describes(request, query):
            return None
        text = request if query == requests.as_words(request) else query
        last, scores = self._last
        if text != last or (again and scores is None):
            try:
                scores = self._scored(text)
            except Cancelled:
                raise
            except Exception as error:
                # A search never fails because of what ranks it, whatever an encoder of one's own may raise.
                self._tell(f"the search goes by words alone: {str(error) or type(error).__name__}")
                scores = None
            self._last = text, scores
        return scores

    def _scored(self, text: str) -> tuple[Floats, Floats]:
        vector = self._encoder.encode([text], query=True)[0]
        with self._lock:
            if self._loaded is None:
                self._loaded = self._opened(len(vector))
            blocks = self._loaded
        remembered = np.zeros(len(blocks), dtype=np.float32)
        if not len(blocks):
            return remembered, remembered
        if vector.shape != blocks.vectors.shape[1:]:
            raise CodeNavError(f"{self._encoder.name} made vectors of {len(vector)} numbers, then others")
        cosines = np.round(blocks.vectors @ vector, DIGITS) * blocks.worths
        if self._memory and self._remembered:
            answered = self._memory.scores(text)
            for column, places in self._remembered:
                remembered[places] = answered[column]
        return cosines, remembered

    def _opened(self, dimensions: int) -> BlockVectors:
        """Load the vectors, and find the blocks that the memory knows."""
        loaded = self._load(dimensions)
        self._places = {block.id: place for place, block in enumerate(loaded.blocks)}
        by_name: dict[str, list[int]] = {}
        for place, block in enumerate(loaded.blocks):
            if block.name:
                by_name.setdefault(block.name, []).append(place)
        names = self._memory.names if self._memory else ()
        self._remembered = [(column, by_name[name]) for column, name in enumerate(names) if name in by_name]
        if self._memory and not self._remembered:
            # It was trained on other callables: its weights were fitted where a memory had something to say.
            self._weights = UNTRAINED
        return loaded


def _votes(weights: Weights, cosine: float, memory: float) -> tuple[Vote, ...]:
    votes = [
        Vote("dense", weights.meaning * cosine, f"meaning {cosine:.2f}"),
        Vote("trained", weights.memory * memory, f"requests like this {memory:.2f}"),
    ]
    return tuple(sorted((vote for vote in votes if vote.weight > 0), key=lambda vote: -vote.weight))


def dense_ranker(
    indexes: Sequence[SourceIndex],
    encoder: Encoder,
    *,
    retriever: Retriever | None = None,
    weights: Weights | None = None,
    kinds: Collection[BlockKind] | None = None,
    tell: Tell = lambda text: None,
) -> DenseRanker:
    """The ranker of some indexes by an encoder. Nothing is encoded before the first search in plain words.

    `retriever`: the trained one that `encoder` is of, for its weights and its memory. `weights`: those of an encoder
    that was tuned. `tell` gets a line if the encoder fails, or if vectors cannot be kept.
    """
    return DenseRanker(
        encoder,
        partial(_vectors, indexes, encoder, tell),
        weights=weights or (retriever and retriever.weights) or UNTRAINED,
        memory=retriever.memory if retriever else None,
        kinds=kinds,
        tell=tell,
    )


def _vectors(indexes: Sequence[SourceIndex], encoder: Encoder, tell: Tell, dimensions: int) -> BlockVectors:
    return BlockVectors.joined(
        [
            BlockVectors.of(
                index,
                encoder,
                vectors_dir() / index.source.key,
                state=f"{index.fingerprint()}{':strict' if index.strict else ''}",
                dimensions=dimensions,
                tell=tell,
            )
            for index in indexes
        ]
    )
