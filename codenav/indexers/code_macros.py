"""Blanking out of C and C++ macros in places where the grammar allows none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_NAME = rb"[A-Z][A-Z0-9_]{3,99}"
_ARGUMENTS = rb"(?:\((?:[^()\n]|\([^()\n]{0,200}\)){0,400}\))"
_MACROS = re.compile(
    rb"^[ \t]*(?:"
    # A line of its own: `NLOHMANN_JSON_NAMESPACE_BEGIN`, `Q_OBJECT`, `JSON_PRIVATE_UNLESS_TESTED:`.
    rb"(?P<line>" + _NAME + _ARGUMENTS + rb"?[ \t]*:?)(?=[ \t]*(?://[^\n]*|/\*[^\n]*)?\n(?!\s*\{))"
    # Before a declaration: `SQLITE_API int sqlite3_open(`.
    rb"|(?P<before>" + _NAME + _ARGUMENTS + rb"?)(?=[ \t]+[A-Za-z_][\w:<>*& \t]{0,200}[ *&]\w+\()"
    # In the head of a class: `class QT_EXPORT Widget`.
    rb"|(?:class|struct)[ \t]+(?P<head>" + _NAME + _ARGUMENTS + rb"?)(?=[ \t]+[A-Za-z_]\w*\b(?![ \t]*;)))",
    re.MULTILINE,
)


def without_macros(data: bytes) -> bytes:
    """The source with spaces in place of macros that stand for keywords or for nothing; all offsets stay the same."""
    return _MACROS.sub(_blank, data)


def _blank(found: re.Match[bytes]) -> bytes:
    start, end = found.span(found.lastgroup or 0)
    whole, at = found.group(), found.start()
    return whole[: start - at] + b" " * (end - start) + whole[end - at :]


def damage(root: Node) -> int:
    """The amount of a tree that could not be parsed: the bytes of errors, plus one for each error or missing token."""
    total = 0
    stack = [root]
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            total += node.end_byte - node.start_byte + 1
        elif node.has_error:
            stack += node.children
    return total
