"""Stems of plain words: what people type beside what code is named and described with.

Snowball's English stemmer (Porter, "Snowball: A language for stemming algorithms", 2001), on the parts of identifiers.
"""

from __future__ import annotations

import threading
from typing import Any

from codenav.retrieval import analysis

_WORDS = """
a about above after again all also am an and any are as at be because been before being below between both but
by can could did do does doing done down during each few for from further had has have having he her here hers
him his how i if in into is it its itself just me more most my no nor not of off on once only or other our out
over own same she should so some such than that the their them then there these they this those through to too
under until up very was we were what when where whether which while who whom why will with would you your
"""
STOP = frozenset(_WORDS.split())
"""English words that say nothing of what is looked for: those of Snowball's list that are no contractions."""
LONGEST = 40
"""The most letters of a word that is stemmed; a longer one is no English."""


class _Stemmer(threading.local):
    """A stemmer for each thread, as PyStemmer wants it."""

    def __init__(self) -> None:
        import Stemmer

        self.engine: Any = Stemmer.Stemmer("english")


_stemmer = _Stemmer()


class _Cache(dict[str, str]):
    """A cache from the part of an identifier to its stem; to "" for a stop word."""

    def __missing__(self, part: str) -> str:
        if len(self) > 200_000:
            self.clear()
        self[part] = value = "" if part in STOP else stem(part)
        return value


_cache = _Cache()


def stem(part: str) -> str:
    """The stem of one part of an identifier, in lower case."""
    stemmed: str = _stemmer.engine.stemWord(part) if len(part) <= LONGEST else part
    return stemmed


def stems(text: str) -> list[str]:
    """The stems of what the identifiers of a text are made of, each once, in order; stop words are left out."""
    return of_parts(analysis.parts(text)) if text else []


def of_parts(parts: str) -> list[str]:
    """The same for the field of parts of a text."""
    found = dict.fromkeys(map(_cache.__getitem__, parts.split()))
    found.pop("", None)
    found.pop(analysis.SENTINEL, None)
    return list(found)
