"""The dictionary of a field in memory, for patterns that begin with a wildcard.

For `*middle*` an engine walks its whole dictionary with an automaton: 15 ms for the 67,000 identifiers of
transformers, nearly all of the time of the slowest queries. The same dictionary as one text is searched in 1 ms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from operator import methodcaller

from codenav.retrieval.reasons import glob

MAX_TERMS = 500_000
"""The most terms of a dictionary; a larger one stays with the engine (500,000 identifiers take about 10 MB)."""
MAX_EXPANDED = 2_000
"""The most terms that a pattern may match; one that matches more is left to the engine."""
_MIN_LITERAL = 2
"""Least length of a literal that all matches share; with a shorter one nearly every term would be looked at."""


class Terms:
    """The terms of one field."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._text = "\n" + "\n".join(terms) + "\n"

    def matching(self, wildcard: str) -> list[str] | None:
        """The terms that match a pattern of `*`, `?` and literals; None if there may be too many."""
        literal = max(re.split(r"[*?]+", wildcard), key=len)
        if len(literal) < _MIN_LITERAL or "\\" in wildcard or "\n" in literal:
            return None
        fits: Callable[[str], bool] = partial(glob, wildcard)
        if wildcard == f"*{literal}*":
            fits = bool
        elif wildcard == f"*{literal}":
            fits = methodcaller("endswith", literal)
        text, found = self._text, []
        at = text.find(literal)
        while at >= 0:
            end = text.index("\n", at)
            term = text[text.rindex("\n", 0, at) + 1 : end]
            if fits(term):
                found.append(term)
                if len(found) > MAX_EXPANDED:
                    return None
            at = text.find(literal, end)
        return found
