"""The syntax trees of code that other people wrote."""

from __future__ import annotations

import ast
import warnings


def parsed(code: str) -> ast.Module | None:
    """The syntax tree of code; None where this Python cannot read it. Tells nobody of an invalid escape."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
