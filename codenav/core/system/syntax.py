"""The syntax trees of code that other people wrote."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Sequence


def parsed(code: str) -> ast.Module | None:
    """The syntax tree of code; None where this Python cannot read it. Tells nobody of an invalid escape."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def statements(code: str) -> Sequence[ast.stmt]:
    """The statements of code; none where this Python cannot read it."""
    tree = parsed(code)
    return tree.body if tree else ()
