"""Expressions in formatted strings, found without a syntax tree."""

from __future__ import annotations

import re
from collections.abc import Iterator

STRING = "\x01"
"""The character that strings are filled with; source that contains it is irregular."""

_FIELD_MARK = re.compile(r"\{\{|\}\}|\\[{N]|[{}]")
_EXPRESSION_MARK = re.compile(r"[bBrRuU]?(?:'[^'\\\n{}#]*'|\"[^\"\\\n{}#]*\")|['\"\\#]|[{}()\[\]:]|\blambda\b")


class Irregular(Exception):
    """Raised for source that the regular expressions could misread."""


def expressions(token: str) -> Iterator[tuple[int, int, str]]:
    """Start and end of each expression in the braces of a string, and its text without strings.

    Raises:
        Irregular: it holds strings in its strings, or comments.
    """
    depths: list[int] = []
    at, begin, plain = 0, 0, True
    masked: list[str] = []
    while mark := (_FIELD_MARK if plain else _EXPRESSION_MARK).search(token, at):
        kind, start, at = mark.group(), mark.start(), mark.end()
        if plain:
            if kind in ("\\{", "\\N"):
                raise Irregular
            if kind == "}}" and depths:
                # The end of a field, and of the one whose format it belongs to.
                kind, at = "}", at - 1
            if kind == "{":
                depths.append(0)
                begin, plain = at, False
                masked = []
            elif kind == "}":
                if not depths:
                    raise Irregular
                depths.pop()
            continue
        if len(kind) > 1 and kind != "lambda":
            masked += token[begin + sum(map(len, masked)) : start], STRING * len(kind)
        elif kind in "'\"\\#" or kind == "lambda":
            raise Irregular
        elif kind in "([{":
            depths[-1] += 1
        elif depths[-1] and kind in ")]}":
            depths[-1] -= 1
        elif kind in ":}" and not depths[-1]:
            masked.append(token[begin + sum(map(len, masked)) : start])
            yield begin, start, "".join(masked)
            plain = True
            if kind == "}":
                depths.pop()
    if depths:
        raise Irregular
