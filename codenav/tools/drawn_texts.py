"""Texts that a regular expression matches, for examples."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

LONGEST = 1000
"""Characters of a text."""
_GROWTH = (0, 1, 2, 3, 5, 8, 15, 30, 63)
"""Repeats beyond the fewest that are tried."""
_LETTERS = "abcxyzABC1234567890-_. /:@#$%&+=,;!?'\"()[]{}<>|\\^~*`\n"
_CLASSES: dict[str, Callable[[str], bool]] = {
    "DIGIT": str.isdigit, "SPACE": str.isspace, "WORD": lambda letter: letter.isalnum() or letter == "_",
}  # fmt: skip


def texts_of(pattern: str, least: int = 0) -> Iterator[str]:
    """Texts that a pattern may match, of at least so many characters as far as it can grow.

    Assertions are not heeded, so each text is to be checked. Nothing for a pattern that cannot be read.
    """
    parse: Any = getattr(re, "_parser", None)
    try:
        tree = parse.parse(pattern)
    except (re.error, AttributeError, RecursionError, OverflowError):
        return
    for more in dict.fromkeys((*_GROWTH, least)):
        for branch in (0, 1, 2):
            try:
                text = _Writer(more, branch).of(tree)
            except (_Unwritable, RecursionError):
                continue
            if len(text) <= LONGEST:
                yield text


class _Unwritable(Exception):
    pass


class _Writer:
    """A writer of the text of a parsed expression, that repeats so much more than it must and takes one branch."""

    def __init__(self, more: int, branch: int) -> None:
        self._more, self._branch = more, branch
        self._groups: dict[Any, str] = {}

    def of(self, tree: Any) -> str:
        return "".join(self._node(str(kind), value) for kind, value in tree)

    def _node(self, kind: str, value: Any) -> str:
        match kind:
            case "LITERAL":
                return chr(int(value))
            case "NOT_LITERAL":
                return self._letter([("NEGATE", None), ("LITERAL", value)])
            case "ANY":
                return "a"
            case "IN":
                return self._letter([(str(name), item) for name, item in value])
            case "BRANCH":
                return self.of(value[1][self._branch % len(value[1])])
            case "SUBPATTERN":
                text = self._groups[value[0]] = self.of(value[3])
                return text
            case "ATOMIC_GROUP":
                return self.of(value)
            case "GROUPREF":
                return str(self._groups.get(value, ""))
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                fewest, most, inner = value
                text, count = self.of(inner), int(min(fewest + self._more, int(most)))
                if len(text) * count > LONGEST:
                    raise _Unwritable
                return text * count
            case "AT" | "ASSERT" | "ASSERT_NOT":
                return ""
        raise _Unwritable

    def _letter(self, items: list[tuple[str, Any]]) -> str:
        """A character of a class; in a negated one, of those that are usual."""
        if items[0][0] == "NEGATE":
            found = next((letter for letter in _LETTERS if not any(_has(item, letter) for item in items[1:])), None)
        else:
            kind, value = item = items[self._branch % len(items)]
            if kind in ("LITERAL", "RANGE"):
                return chr(value if kind == "LITERAL" else value[0])
            found = next((letter for letter in _LETTERS if _has(item, letter)), None)
        if found is None:
            raise _Unwritable
        return found


def _has(item: tuple[str, Any], letter: str) -> bool:
    kind, value = item
    if kind == "LITERAL":
        return ord(letter) == int(value)
    if kind == "RANGE":
        return bool(value[0] <= ord(letter) <= value[1])
    name = str(value).removeprefix("CATEGORY_")
    return _CLASSES[name.removeprefix("NOT_")](letter) != name.startswith("NOT_")
