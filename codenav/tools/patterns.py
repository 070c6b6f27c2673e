"""Patterns of texts, in bounded time: the code chooses the text, and a specification may hold any pattern.

Python's own `re` keeps the whole process waiting where a pattern backtracks without end.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

BACKTRACKS = 100_000
"""Most steps back of one match; a text that needs more does not match."""


def matches(pattern: str, text: str) -> bool:
    """Return True if a pattern matches somewhere in a text; a pattern that cannot be read matches everything."""
    found = _compiled(pattern)
    return found is None or bool(found.is_valid(text))


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> Any:
    import jsonschema_rs

    options = jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACKS)
    try:
        return jsonschema_rs.validator_for({"pattern": pattern}, pattern_options=options)
    except ValueError:
        return None
