"""A ranking signal: what was changed lately comes first. One file, and one line where the session is made.

codenav.Session(on=".", selection=codenav.ToolSelection(rankers=[Recent(".")]))
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from codenav import Hit

DAYS = 7.0
"""Age of a change at which it counts half."""
PLACES = 5.0
"""Places that a change of today moves a hit up."""


class Recent:
    """Moves each hit up by the age of the last change of its file."""

    def __init__(self, root: str | Path) -> None:
        self._root = Path(root)

    def rank(self, request: str, query: str, calls: Sequence[str], hits: Sequence[Hit]) -> Sequence[Hit]:
        places = {hit.id: place - PLACES * self._freshness(hit) for place, hit in enumerate(hits)}
        return sorted(hits, key=lambda hit: places[hit.id])

    def _freshness(self, hit: Hit) -> float:
        try:
            changed = (self._root / hit.block.path).stat().st_mtime
        except OSError:
            return 0.0
        return float(0.5 ** (max(0.0, time.time() - changed) / 86_400 / DAYS))
