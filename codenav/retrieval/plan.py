"""Search plans: the fields to match, and the score of each match.

A plan contains only operations that every engine does in the same way, so a store translates it one to one, and
ranking is decided here. All scores are BM25 with k1 = 1.2 and b = 0.75 (the only values in tantivy), or constants.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Match:
    """Blocks whose field contains the token. Scored."""

    field: str
    token: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """Blocks whose field contains at least two tokens side by side, `slop` positions apart in total. Scored."""

    field: str
    tokens: tuple[str, ...]
    slop: int = 0


@dataclass(frozen=True, slots=True)
class Pattern:
    """Blocks whose field contains a token that the regular expression matches as a whole. Scores 1."""

    field: str
    regex: str
    wildcard: str = ""
    """The same as a pattern of `*`, `?` and literals; empty if there is none."""


@dataclass(frozen=True, slots=True)
class Near:
    """Blocks whose field contains a token within `distance` edits; a swap of neighbours is one edit. Scores 1."""

    field: str
    token: str
    distance: int


@dataclass(frozen=True, slots=True)
class Between:
    """Blocks with a number in a range, both ends included; None for an open end. Scores 1."""

    field: str
    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class Everything:
    """Every block. Scores 1."""


@dataclass(frozen=True, slots=True)
class Join:
    """Blocks that match all required and no excluded parts; optional parts add to the score.

    Without `required` at least one of `optional` must match; with neither, no block matches.
    """

    required: tuple[Plan, ...] = ()
    optional: tuple[Plan, ...] = ()
    excluded: tuple[Plan, ...] = ()


@dataclass(frozen=True, slots=True)
class Best:
    """Blocks that match any part. Scores the highest of the parts, and a share of the others."""

    parts: tuple[Plan, ...]
    share: float = 0.0
    """The share of the other parts' scores that is added, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Weighted:
    """A part with its score multiplied by a factor."""

    part: Plan
    factor: float


@dataclass(frozen=True, slots=True)
class Constant:
    """A part with the same score for every match."""

    part: Plan
    score: float


Plan = Match | Sequence | Pattern | Near | Between | Everything | Join | Best | Weighted | Constant


def leaves(what: Plan, *, scored: bool = False) -> Iterator[Plan]:
    """The clauses of a plan: all that is neither a join nor a factor; `scored`: those alone whose own score counts."""
    match what:
        case Weighted(part):
            yield from leaves(part, scored=scored)
        case Constant(part):
            yield from () if scored else leaves(part)
        case Join(required, optional, excluded):
            for part in (*required, *optional, *(() if scored else excluded)):
                yield from leaves(part, scored=scored)
        case Best(parts):
            for part in parts:
                yield from leaves(part, scored=scored)
        case _:
            yield what
