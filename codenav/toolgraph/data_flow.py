"""The flow of values between calls of tools, seen in their arguments and answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_TELLING = 4
"""Characters. A shorter value, `3` or `en`, occurs in an answer by chance."""
_MOST_VALUES = 20_000
"""The most values of an answer that are looked at."""
_PLAIN = re.compile(r"(?:\d{1,3}|true|false|none|null|asc|desc|json|name)", re.IGNORECASE)


class Exchange(NamedTuple):
    """A call: its arguments, and the answer that came."""

    arguments: Mapping[str, Any]
    answer: Any
    """JSON data, or text."""


def flows(exchanges: Sequence[Exchange], request: str) -> list[dict[str, int]]:
    """For each call, the calls whose answers its arguments are from: their places by the names of the parameters.

    An argument comes from the last answer before it that has its value: a whole value of JSON data, or words of a text.
    It must be one that hardly occurs by chance, and not stand in the request, which may be where it is from. A value of
    an earlier call's arguments that the answer only repeats does not count.
    """
    asked = request.casefold()
    known: list[frozenset[str]] = []
    seen: set[str] = set()
    found: list[dict[str, int]] = []
    for arguments, answer in exchanges:
        takes: dict[str, int] = {}
        own: set[str] = set()
        for name, value in arguments.items():
            for text in _values(value):
                own.add(text)
                if len(text) < _TELLING or _PLAIN.fullmatch(text) or text in asked or text in seen:
                    continue
                place = next((at for at in range(len(known) - 1, -1, -1) if text in known[at]), None)
                if place is not None:
                    takes[name] = place
        # What went in is from elsewhere, as long as no answer gave it.
        seen |= {text for text in own if not any(text in values for values in known)}
        known.append(frozenset(_values(answer, words=True)))
        found.append(takes)
    return found


def _values(data: Any, *, words: bool = False) -> Iterator[str]:
    """The texts and numbers in data; with `words` also the words of longer texts."""
    stack = [data]
    left = _MOST_VALUES
    while stack and left:
        one = stack.pop()
        left -= 1
        if isinstance(one, Mapping):
            stack += one.values()
        elif isinstance(one, list | tuple):
            stack += one
        elif isinstance(one, str):
            text = one.strip().casefold()
            yield text
            if words and not text.isalnum():
                yield from re.findall(r"[\w@.:/-]*\w", text[:100_000])
        elif isinstance(one, int | float) and not isinstance(one, bool):
            yield str(one)
