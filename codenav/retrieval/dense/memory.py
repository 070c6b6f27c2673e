"""The memory of training requests: callables by the requests that they answered, as a ridge regression.

A request is the stems of its words, weighted by how few requests have them; a callable's score is linear in these
(Hoerl and Kennard 1970). It knows only callables that were called in training, and knows them better than vectors do.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from codenav.retrieval.dense.words import Floats, Places, stems

PENALTY = 0.3
"""The ridge. Requests have length 1; a larger one forgets what only one request tells."""
MOST_REQUESTS = 3_000
"""Requests that are remembered: the last ones. The regression takes two seconds for as many."""


class Memory:
    """The memory of what answered requests."""

    def __init__(
        self, terms: Mapping[str, float], starts: Places, columns: Places, values: Floats, names: Sequence[str],
        shares: Floats,
    ) -> None:  # fmt: skip
        """`terms`: each with the logarithm of its rarity. The rows of requests are sparse: `columns` and `values` from
        one of `starts` to the next. `shares`: a row for each request, a column for each of `names`."""
        self.terms, self.starts, self.columns, self.values = dict(terms), starts, columns, values
        self.names, self.shares = list(names), shares
        self._column = {term: column for column, term in enumerate(self.terms)}
        self._rarity = np.array(list(self.terms.values()), dtype=np.float32)
        self._row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))

    @classmethod
    def of(cls, requests: Sequence[str], names: Sequence[str], gold: Sequence[Sequence[int]]) -> Memory:
        """Remember requests; `gold` are the places in `names` of what answered each."""
        requests, gold = requests[-MOST_REQUESTS:], gold[-MOST_REQUESTS:]
        counts = [Counter(stems(request)) for request in requests]
        spread = Counter(term for count in counts for term in count)
        terms = {term: math.log(1 + len(requests) / number) for term, number in sorted(spread.items())}
        used = sorted({place for places in gold for place in places})
        place_of = {place: at for at, place in enumerate(used)}
        empty = cls(
            terms, np.zeros(1, np.intp), np.zeros(0, np.intp), np.zeros(0, np.float32),
            [names[place] for place in used], np.zeros((0, len(used)), np.float32),
        )  # fmt: skip
        rows = [empty._request(count) for count in counts]
        dense = np.zeros((len(rows), len(terms)), dtype=np.float32)
        answered = np.zeros((len(rows), len(used)), dtype=np.float32)
        for at, (columns, values) in enumerate(rows):
            dense[at, columns] = values
            answered[at, [place_of[place] for place in gold[at]]] = 1
        like = dense @ dense.T
        like[np.diag_indices_from(like)] += PENALTY
        shares = np.linalg.solve(like.astype(np.float64), answered.astype(np.float64)).astype(np.float32)
        return cls(
            terms,
            np.cumsum([0, *(len(columns) for columns, _ in rows)]).astype(np.intp),
            np.concatenate([columns for columns, _ in rows]),
            np.concatenate([values for _, values in rows]),
            empty.names,
            shares,
        )

    def scores(self, request: str) -> Floats:
        """A score for each of `names`: about 1 for what always answered such requests, 0 for what never did."""
        columns, values = self._request(Counter(stems(request)))
        sought = np.zeros(len(self._rarity), dtype=np.float32)
        sought[columns] = values
        like = np.bincount(self._row, weights=sought[self.columns] * self.values, minlength=len(self.starts) - 1)
        found: Floats = np.maximum(like.astype(np.float32) @ self.shares, 0)
        return found

    def _request(self, counts: Counter[str]) -> tuple[Places, Floats]:
        """The columns of the known terms of a request, and their values: of length 1 with those of unknown ones."""
        rarest = float(self._rarity.max(initial=0))
        every = [(term, (1 + math.log(count)) * self.terms.get(term, rarest)) for term, count in counts.items()]
        length = math.sqrt(sum(value * value for _, value in every)) or 1.0
        known = [(self._column[term], value / length) for term, value in every if term in self._column]
        columns = np.array([column for column, _ in known], dtype=np.intp)
        return columns, np.array([value for _, value in known], dtype=np.float32)
