"""Near words by meaning, from static vectors of words that are shipped with the package; no model runs.

A vector is 256 whole numbers of a byte, so the product of two is a whole number below 2**24 that float32 holds exactly:
the same words come out on every machine, whatever its order of summation.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from codenav.retrieval.stems import stem

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

DATA = Path(__file__).parent / "data"
DIGITS = 3
"""Digits of a cosine; words of the same cosine are in alphabetical order."""
LEAST_PIECE = 3
"""Letters of the shortest known word that an unknown one is cut into: `foldername` is folder, name."""

_TRIED = 12
"""Words compared whole for each that is asked for: a word has three or four inflections at most."""
_FIRST = 64
"""The dimensions by which these are found among all: the first are those in which words differ most."""
_WORD = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9]{2,100}")
_loading = threading.Lock()


@functools.lru_cache(maxsize=4096)
def neighbours(word: str, count: int = 16) -> tuple[tuple[str, float], ...]:
    """The words nearest to a word, each with its cosine, best first; of inflections the nearest, and none of the word.

    An unknown word is cut into known ones, longest first from the left. Nothing is near to a word that cannot be cut,
    of digits alone, of one letter, or with anything but ASCII letters and digits.
    """
    if not _WORD.fullmatch(word) or count < 1:
        return ()
    word = word.lower()
    vectors = _vectors()
    vector = vectors.of(word)
    return () if vector is None else vectors.nearest(vector, word, count)


def closeness(words: Sequence[str], texts: Sequence[Sequence[str]]) -> list[float]:
    """The cosines between the mean vector of some words and those of texts, each a list of words in lower case.

    A word weighs the more the fewer packages use it: log(1 + most / its number), the most being that of any word.
    0 where either holds no known word, and where they point apart.
    """
    return _vectors().closeness(words, texts)


def weighted(word: str) -> npt.NDArray[np.float32] | None:
    """The vector of a word with the length of its weight (see `closeness`); None if it is unknown and cannot be cut."""
    return _vectors().weighted(word.lower())


class _Vectors:
    """The vocabulary and its vectors: first the words that are offered as near ones, then those that are only known."""

    def __init__(self) -> None:
        import numpy

        self._np = numpy
        offered, known = (DATA / "words.txt").read_text(encoding="ascii").split("\n\n")
        self._offered = offered.split()[::2]
        listed = [*offered.split(), *known.split()]
        self._rows = {word: row for row, word in enumerate(listed[::2])}
        packages = numpy.array(listed[1::2], dtype=numpy.float64)
        self._weights = numpy.log(1 + packages.max() / packages).astype(numpy.float32)
        self._bytes: npt.NDArray[np.int8] = numpy.load(DATA / "word_vectors.npy")
        self._near = self._bytes[: len(self._offered), :_FIRST].astype(numpy.float32)
        self._sizes = numpy.sqrt(numpy.einsum("ij,ij->i", self._bytes, self._bytes, dtype=numpy.float64))
        self._cut = functools.lru_cache(maxsize=100_000)(self._rows_of)

    def of(self, word: str) -> npt.NDArray[np.float32] | None:
        """The vector of a word, or the mean of those that it is cut into; None if it cannot be cut."""
        rows = self._cut(word)
        if not rows:
            return None
        vectors = self._bytes[rows].astype(self._np.float32)
        whole: npt.NDArray[np.float32] = vectors[0]
        if len(rows) == 1:
            return whole
        mean = sum(vector / self._np.sqrt(float(vector @ vector)) for vector in vectors.astype(self._np.float64))
        whole = self._np.rint(mean * (127 / abs(mean).max())).astype(self._np.float32)
        return whole

    def weighted(self, word: str) -> npt.NDArray[np.float32] | None:
        """See the function."""
        vector = self.of(word)
        if vector is None:
            return None
        length = float(self._weights[self._cut(word)].mean()) / self._np.sqrt(float(vector @ vector))
        found: npt.NDArray[np.float32] = (vector * length).astype(self._np.float32)
        return found

    def closeness(self, words: Sequence[str], texts: Sequence[Sequence[str]]) -> list[float]:
        """See the function."""
        np = self._np
        each = [[row for word in text for row in self._cut(word)] for text in (words, *texts)]
        rows = np.array([row for some in each for row in some], dtype=np.intp)
        vectors = self._bytes[rows] * (self._weights[rows] / self._sizes[rows].astype(np.float32))[:, None]
        means = np.zeros((len(each), vectors.shape[1]), dtype=np.float32)
        filled = [at for at, some in enumerate(each) if some]
        if not filled or not each[0]:
            return [0.0] * len(texts)
        ends = np.cumsum([len(each[at]) for at in filled])
        means[filled] = np.add.reduceat(vectors, [0, *ends[:-1]])
        sizes = np.sqrt(np.einsum("ij,ij->i", means, means))
        cosines = (means[1:] @ means[0]) / np.maximum(sizes[1:] * sizes[0], 1e-9)
        return [max(round(float(cosine), DIGITS), 0.0) for cosine in cosines]

    def nearest(self, vector: npt.NDArray[np.float32], word: str, count: int) -> tuple[tuple[str, float], ...]:
        """The offered words nearest to a vector."""
        np = self._np
        rough = self._near @ vector[:_FIRST] / self._sizes[: len(self._offered)]
        among = (
            np.argpartition(-rough, _TRIED * count)[: _TRIED * count]
            if len(rough) > _TRIED * count
            else range(len(rough))
        )
        among = np.sort(among)
        products = self._bytes[among].astype(np.float32) @ vector
        cosines = np.round(products / (self._sizes[among] * np.sqrt(float(vector @ vector))), DIGITS)
        found: dict[str, tuple[str, float]] = {}
        for at in np.argsort(-cosines, kind="stable"):
            near = self._offered[among[at]]
            found.setdefault(stem(near), (near, float(cosines[at])))
        found.pop(stem(word), None)
        return tuple(found.values())[:count]

    def _rows_of(self, word: str) -> list[int]:
        """The row of a word, or those of the words that it is cut into; none if it cannot be cut."""
        if word in self._rows:
            return [self._rows[word]]
        rows: list[int] = []
        start = 0
        while start < len(word):
            ends = range(len(word), start + LEAST_PIECE - 1, -1)
            end = next((end for end in ends if word[start:end] in self._rows), None)
            if end is None:
                return []
            rows.append(self._rows[word[start:end]])
            start = end
        return rows


@functools.cache
def _loaded() -> _Vectors:
    return _Vectors()


def _vectors() -> _Vectors:
    with _loading:
        return _loaded()
