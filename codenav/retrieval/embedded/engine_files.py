"""The engine's own account of an index, read from its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def counted(place: Path) -> int:
    """The number of blocks in the index that count in BM25: the deleted ones too."""
    return sum(segment["max_doc"] for segment in _segments(place))


def sizes(place: Path) -> tuple[list[int], int]:
    """The blocks of each segment, and the number of all that are deleted but still count in BM25."""
    segments = _segments(place)
    gone = [(segment["deletes"] or {}).get("num_deleted_docs", 0) for segment in segments]
    return [segment["max_doc"] - deleted for segment, deleted in zip(segments, gone, strict=True)], sum(gone)


def _segments(place: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((place / "meta.json").read_text(encoding="utf-8"))["segments"]
    return found
