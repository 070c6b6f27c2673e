"""Words in the names of code: identifiers cut into words, words cut to their stems."""

from __future__ import annotations

import re
from functools import lru_cache

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ENDINGS = (
    "ization", "isation", "izing", "ising", "ized", "ised", "ize", "ise", "ations", "ation", "ingly", "ings", "ing",
    "ions", "ion", "edly", "ies", "ied", "ed", "es", "er", "or", "ly", "s", "e", "y",
)  # fmt: skip
"""Endings that are cut off a word, the longest that leaves three letters: `encode`, `encoding`, `encoder` are one."""
_WHOLE = frozenset(("setting", "settings", "bearing", "bearings", "meeting", "meetings"))
"""Words that are no forms of the verbs that they come from."""


@lru_cache(maxsize=10_000)
def stem(word: str) -> str:
    """A word without its ending."""
    word = word.lower()
    if word in _WHOLE:
        return word.removesuffix("s")
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            cut = word[: -len(ending)]
            return cut[:-1] if len(cut) > 3 and cut[-1] == cut[-2] and cut[-1] not in "ls" else cut
    return word


def parts(identifier: str) -> list[str]:
    """The words in an identifier: `loadHTTPModel_v2` → load, http, model, v, 2."""
    return [part.lower() for part in _PART.findall(identifier)]


def words_in(text: str) -> frozenset[str]:
    """The words between white space: a list of words that is easy to read."""
    return frozenset(text.split())
