"""The vectors of words: those that ship with codenav, and beside them those that training changed or added."""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from codenav.retrieval import analysis, meaning
from codenav.retrieval.stems import STOP, stem

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.intp]

DIMENSIONS = 256
STEM = "#"
"""The mark before a stem: inflections share its vector besides having their own. No word has this character."""
LENGTH = 3.0
"""The weight of a word that gives its vector the length 1. Weights are 0.7 to 7, by how few packages use a word: with
vectors of about this length a step of training is neither lost nor the end of what was known."""
MOST_TOKENS = 2_000
"""Words of one text that are read."""


def tokens(text: str) -> list[str]:
    """The words of a text as vectors know them: parts of identifiers without stop words, each with its stem."""
    words = [part for part in analysis.parts(text).split() if part not in STOP and part != analysis.SENTINEL]
    return [token for word in words[:MOST_TOKENS] for token in (word, STEM + stem(word))]


def stems(text: str) -> list[str]:
    """The stems of the words of a text, without the words."""
    return [token for token in tokens(text) if token.startswith(STEM)]


class WordVectors:
    """A table of vectors by token, which grows with the words that are asked for."""

    def __init__(self, trained: Sequence[str] = (), vectors: Floats | None = None) -> None:
        """`trained`: tokens with vectors of their own, the rows of `vectors`; others are as shipped."""
        self._places = {token: place for place, token in enumerate(trained, 1)}
        self._rows: Floats = np.zeros((max(1024, 2 * len(trained)), DIMENSIONS), dtype=np.float32)
        if vectors is not None:
            self._rows[1 : len(trained) + 1] = vectors
        self._size = len(trained) + 1

    @property
    def rows(self) -> Floats:
        """The vectors so far. The first is zero: that of all tokens of which nothing is known."""
        return self._rows[: self._size]

    @property
    def tokens(self) -> list[str]:
        """The tokens of the rows after the first."""
        names = [""] * (self._size - 1)
        for token, place in self._places.items():
            if place:
                names[place - 1] = token
        return names

    def places(self, text: str, *, new: bool = False) -> Places:
        """The rows of the words of a text, in order. `new`: words of which nothing is known get a row of zeros each."""
        return np.array([self._place(token, new) for token in tokens(text)], dtype=np.intp)

    def encode(self, texts: Iterable[Places]) -> Floats:
        """The sums of vectors for texts, each of length 1, or of zeros."""
        return encoded(self._rows, texts)

    def _place(self, token: str, new: bool) -> int:
        place = self._places.get(token)
        if place is None or (new and not place):
            vector = None if token.startswith(STEM) else shipped(token)
            if vector is None and not new:
                # Remembered too: unknown words come again, and cutting them into known ones takes a while.
                self._places[token] = 0
                return 0
            place = self._places[token] = self._size
            if place == len(self._rows):
                self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
            if vector is not None:
                self._rows[place] = vector
            self._size += 1
        return place


def shipped(word: str) -> Floats | None:
    """The shipped vector of a word with the length of its weight, or that of the known words it is made of."""
    known = meaning.weighted(word)
    return None if known is None else known / LENGTH


def encoded(rows: Floats, texts: Iterable[Places]) -> Floats:
    """The sums of rows for texts, each of length 1, or of zeros."""
    each = list(texts)
    found: Floats = np.zeros((len(each), rows.shape[1]), dtype=np.float32)
    filled = [number for number, places in enumerate(each) if len(places)]
    if filled:
        ends = np.cumsum([len(each[number]) for number in filled])
        found[filled] = np.add.reduceat(rows[np.concatenate([each[number] for number in filled])], [0, *ends[:-1]])
    return unit(found)[0]


@functools.cache
def base() -> str:
    """The hash of the shipped vectors: what was trained from others does not go together with these."""
    hashed = hashlib.blake2b(digest_size=8)
    for name in ("words.txt", "word_vectors.npy"):
        hashed.update((meaning.DATA / name).read_bytes())
    return hashed.hexdigest()


def unit(rows: Floats) -> tuple[Floats, Floats]:
    """Rows of length 1, and the lengths that they had; rows of zeros stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    lengths[lengths == 0] = 1
    return rows / lengths, lengths


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
