"""Open indexes with a dense stage: what an encoder finds beside what words find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from codenav.core.protocols import Encoder, Index
from codenav.retrieval.dense.block_vectors import BlockVectors
from codenav.retrieval.dense.files import Retriever
from codenav.retrieval.dense.fitting import Weights
from codenav.retrieval.dense.stage import UNTRAINED, DenseIndex
from codenav.retrieval.source_index import SourceIndex, as_index, vectors_dir

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
