"""Drafts that every weaver knows."""

from __future__ import annotations

from .drafts import Draft

_STRAIGHT = "1 2 3 4"
_DRAFTS = {
    "tabby": ("1 2", "1 2", "1 2"),
    "straight twill": (_STRAIGHT, "12 23 34 41", _STRAIGHT),
    "broken twill": (_STRAIGHT, "12 23 34 41", "1 2 4 3"),
    "rosepath": ("1 2 3 4 3 2", "12 23 34 41", "1 2 3 4 3 2"),
    "goose eye": ("1 2 3 4 1 4 3 2", "12 23 34 41", "1 2 3 4 1 4 3 2"),
    "monk's belt": ("1 2 1 2 1 2 3 4 3 4", "12 34 13 24", "1 1 1 2 2"),
    "five-end satin": ("1 2 3 4 5", "1 3 5 2 4", "1 2 3 4 5"),
    "huck lace": ("1 2 1 2 1 4 3 4 3 4", "13 24 1 4", "1 2 3 2 1 2 1 4 1 2"),
}


def names() -> list[str]:
    """The names of all drafts, sorted."""
    return sorted(_DRAFTS)


def draft(name: str) -> Draft:
    """A draft by its name.

    Raises:
        KeyError: there is none of this name.
    """
    return Draft.parse(*_DRAFTS[name])


def for_loom(shafts: int) -> list[str]:
    """The names of the drafts that a loom with so many shafts can weave."""
    return [name for name in names() if draft(name).shafts <= shafts]
