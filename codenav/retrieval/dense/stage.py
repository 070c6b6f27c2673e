"""The dense stage: an index whose hits are found by words and by meaning, and by what training requests were answered
with.

The score of a hit is the weighted sum of its score by words, the best hit's being 1, of the cosine of its vector with
the query's, and of the memory. What words did not find comes in; what they named comes first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from codenav.core.blocks import BlockKind, CodeBlock, Hit, IndexStats, Moved, SearchResult, Vote, named
from codenav.core.errors import Cancelled, CodeNavError
from codenav.core.protocols import Encoder, Index
from codenav.retrieval import planning, requests
from codenav.retrieval.dense.block_vectors import BlockVectors
from codenav.retrieval.dense.files import Retriever
from codenav.retrieval.dense.fitting import Weights
from codenav.retrieval.dense.memory import Memory
from codenav.retrieval.dense.words import Floats
from codenav.retrieval.reasons import MEANING
from codenav.retrieval.source_index import SourceIndex, as_index, vectors_dir

CANDIDATES = 100
"""Hits of the first stage that are scored anew at least, and the most that meaning brings in."""
UNTRAINED = Weights(1.0, 0.3, 0.0)
"""The weights of an encoder that was trained on nothing here: of 0.05 to 1 the best for all-MiniLM-L6-v2 on twelve sets
of tools, each judged by the others."""
DIGITS = 3
"""Digits of a cosine, so that the order is the same whatever order a machine sums in."""


class DenseIndex:
    """An implementation of `protocols.Index` over another and the vectors of its blocks.

    A query that names or filters is answered by the index beneath alone, as is any if the encoder fails.
    """

    def __init__(
        self,
        index: Index,
        encoder: Encoder,
        vectors: Callable[[int], BlockVectors],
        *,
        weights: Weights = UNTRAINED,
        memory: Memory | None = None,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`vectors` is called at the first search that needs them, with the numbers that a vector has. `tell` gets a
        line, once, if they cannot be had."""
        self.index = index
        self._encoder, self._load, self._weights, self._memory, self._tell = encoder, vectors, weights, memory, tell
        self._loaded: BlockVectors | None = None
        self._places: dict[str, int] = {}
        self._remembered: list[tuple[int, list[int]]] = []
        self._told = False
        self._lock = threading.Lock()

    def search(self, query: str, *, kinds: Collection[BlockKind] | None = None, limit: int = 100) -> SearchResult:
        """Blocks that match a query, best first. See `protocols.Index.search`."""
        asked = planning.understand(query, kinds)
        if limit <= 0 or not (asked.read.plain and asked.described):
            return self.index.search(query, kinds=kinds, limit=limit)
        return self._both(query, self.index.search(query, kinds=kinds, limit=max(limit, CANDIDATES)), kinds, limit)

    def answering(self, request: str, *, kinds: Collection[BlockKind] | None = None, limit: int = 100) -> SearchResult:
        """Blocks for a request, best first. See `requests.search`."""
        found = requests.search(self.index, request, kinds=kinds, limit=max(limit, CANDIDATES) if limit > 0 else limit)
        return self._both(request, found, kinds, limit) if limit > 0 else found

    def get(self, id: str) -> CodeBlock | None:
        """The block with that id."""
        return self.index.get(id)

    def blocks(self) -> Iterator[CodeBlock]:
        """Every block, by path and first line."""
        return self.index.blocks()

    def stats(self) -> IndexStats:
        """The statistics of the index."""
        return self.index.stats()

    def close(self) -> None:
        """Close the index beneath."""
        self.index.close()

    def _both(self, text: str, found: SearchResult, kinds: Collection[BlockKind] | None, limit: int) -> SearchResult:
        """The hits by words, with those by meaning and memory."""
        try:
            scored = self._scored(text)
        except Cancelled:
            raise
        except Exception as error:
            # A search never fails because of what ranks it, whatever an encoder of one's own may raise.
            if not self._told:
                self._tell(f"the search goes by words alone: {str(error) or type(error).__name__}")
                self._told = True
            return replace(found, hits=list(found.hits[:limit]))
        return self._fused(found, *scored, kinds, limit)

    def _scored(self, query: str) -> tuple[BlockVectors, Floats, Floats]:
        """The vectors with cosine and memory of each block."""
        vector = self._encoder.encode([query], query=True)[0]
        with self._lock:
            if self._loaded is None:
                loaded = self._load(len(vector))
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
                self._loaded = loaded
        blocks = self._loaded
        remembered = np.zeros(len(blocks), dtype=np.float32)
        if not len(blocks):
            return blocks, remembered, remembered
        if vector.shape != blocks.vectors.shape[1:]:
            raise CodeNavError(f"{self._encoder.name} made vectors of {len(vector)} numbers, then others")
        cosines = np.round(blocks.vectors @ vector, DIGITS) * blocks.worths
        if self._memory and self._remembered:
            scores = self._memory.scores(query)
            for column, places in self._remembered:
                remembered[places] = scores[column]
        return blocks, cosines, remembered

    def _fused(
        self, found: SearchResult, blocks: BlockVectors, cosines: Floats, remembered: Floats,
        kinds: Collection[BlockKind] | None, limit: int,
    ) -> SearchResult:  # fmt: skip
        # What is named by just these words stays first.
        kept = named([hit.score for hit in found.hits])
        hits = list(found.hits[kept:])
        best = max((hit.score for hit in hits), default=0.0) or 1.0
        shares: list[tuple[float, float, float]] = []
        for hit in hits:
            place = self._places.get(hit.id)
            known = (float(cosines[place]), float(remembered[place])) if place is not None else (0.0, 0.0)
            shares.append((max(hit.score, 0.0) / best, *known))
        first = {hit.id for hit in found.hits}
        weights = self._weights
        brought = weights.meaning * np.maximum(cosines, 0) + weights.memory * remembered
        for place in np.argsort(-brought, kind="stable")[: 2 * CANDIDATES]:
            if brought[place] <= 0 or len(hits) >= len(found.hits) - kept + CANDIDATES:
                break
            block = blocks.blocks[place]
            if block.id in first or (kinds is not None and block.kind not in kinds):
                continue
            load = partial(self._block, block.id)
            hits.append(Hit(block.id, kind=block.kind, path=block.path, score=0.0, why=MEANING, load=load))
            shares.append((0.0, float(cosines[place]), float(remembered[place])))
        table = np.array(shares, dtype=np.float32).reshape(-1, 3)
        totals = weights.sum(np.maximum(table, 0))
        order = sorted(range(len(hits)), key=lambda at: (-round(float(totals[at]), 5), hits[at].path, hits[at].id))
        old = {id(hit): place for place, hit in enumerate(found.hits, 1)}
        for new, at in enumerate(order, kept + 1):
            hit, (_, cosine, memory) = hits[at], shares[at]
            hit.score = best * float(totals[at])
            if old.get(id(hit), new) != new:
                hit.moved = Moved(old[id(hit)], _votes(weights, cosine, memory))
        ranked = [*found.hits[:kept], *(hits[at] for at in order)]
        return replace(found, hits=ranked[:limit], total=found.total + len(hits) + kept - len(found.hits))

    def _block(self, id: str) -> CodeBlock:
        block = self.index.get(id)
        if block is None:
            raise CodeNavError(f"block {id} has left the index since it was found", hint="search again")
        return block


def _votes(weights: Weights, cosine: float, memory: float) -> tuple[Vote, ...]:
    votes = [
        Vote("dense", weights.meaning * cosine, f"meaning {cosine:.2f}"),
        Vote("trained", weights.memory * memory, f"requests like this {memory:.2f}"),
    ]
    return tuple(sorted((vote for vote in votes if vote.weight > 0), key=lambda vote: -vote.weight))


Tell = Callable[[str], None]


def dense_index(
    indexes: Sequence[SourceIndex],
    encoder: Encoder,
    *,
    retriever: Retriever | None = None,
    weights: Weights | None = None,
    tell: Tell = lambda text: None,
) -> Index:
    """The indexes as one with a dense stage. Nothing is encoded before the first search in plain words.

    `retriever`: the trained one that `encoder` is of, for its weights and its memory. `weights`: those of an encoder
    that was tuned. `tell` gets a line if the encoder fails, or if vectors cannot be kept.
    """
    return DenseIndex(
        as_index(indexes),
        encoder,
        partial(_vectors, indexes, encoder, tell),
        weights=weights or (retriever and retriever.weights) or UNTRAINED,
        memory=retriever.memory if retriever else None,
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
