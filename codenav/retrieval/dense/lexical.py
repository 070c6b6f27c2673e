"""BM25 over a few thousand texts in memory: where training takes its hard negatives from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from codenav.retrieval.dense.words import Floats, stems

K1, B = 1.2, 0.75


class Lexical:
    """The stems of texts, each weighted as BM25 does (Robertson et al. 1994; Lucene's form)."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.size = len(texts)
        counts = [Counter(stems(text)) for text in texts]
        lengths = [count.total() for count in counts]
        mean = sum(lengths) / max(len(lengths), 1) or 1.0
        found: dict[str, tuple[list[int], list[float]]] = {}
        for place, (count, length) in enumerate(zip(counts, lengths, strict=True)):
            for term, number in count.items():
                places, values = found.setdefault(term, ([], []))
                places.append(place)
                values.append(number / (number + K1 * (1 - B + B * length / mean)))
        self._terms = {
            term: (
                np.array(places, dtype=np.intp),
                np.array(values, dtype=np.float32)
                * math.log(1 + (self.size - len(places) + 0.5) / (len(places) + 0.5)),
            )
            for term, (places, values) in found.items()
        }

    def scores(self, request: str) -> Floats:
        """The score of each text."""
        found: Floats = np.zeros(self.size, dtype=np.float32)
        for term, number in Counter(stems(request)).items():
            if term in self._terms:
                places, values = self._terms[term]
                found[places] += number * values
        return found

    def best(self, request: str, count: int) -> list[int]:
        """The places of the best texts; none that shares no word."""
        scores = self.scores(request)
        count = min(count, self.size)
        first = np.argpartition(-scores, count - 1)[:count] if count else np.zeros(0, dtype=np.intp)
        first = first[np.argsort(-scores[first], kind="stable")]
        return [int(place) for place in first if scores[place] > 0]
