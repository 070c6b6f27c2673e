"""Texts as sums of the vectors of their words: an `Encoder` that needs no server and no package but numpy."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from codenav.retrieval.dense.words import DIMENSIONS, Floats, WordVectors, base, encoded

_BATCH = 2_000
"""Texts whose words are in memory at a time."""


class StaticEncoder:
    """An implementation of `protocols.Encoder` by static vectors, as shipped or trained."""

    def __init__(self, vectors: WordVectors | None = None, *, name: str = "") -> None:
        """`vectors`: trained ones, of which `name` tells which; without them those that ship."""
        self._vectors = vectors or WordVectors()
        self._name = name or f"words:{base()}"
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The name under which vectors are kept."""
        return self._name

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        """A row of length 1 for each text, or of zeros for a text without a known word."""
        found = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for start in range(0, len(texts), _BATCH):
            with self._lock:
                places = [self._vectors.places(text) for text in texts[start : start + _BATCH]]
                rows = self._vectors.rows
            found[start : start + _BATCH] = encoded(rows, places)
        return found

    def __repr__(self) -> str:
        return f"<StaticEncoder {self._name}>"
