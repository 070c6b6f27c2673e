"""How sure the planner is of its answer: the chance, what else it might be, and what of the request went unused."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from codenav.actions import Action, Guess, Observation
from codenav.planner.calls import Caller, Result
from codenav.planner.goals import Goal, Seen
from codenav.planner.judging import is_barred, log_odds
from codenav.planner.reading import Clause
from codenav.planner.reducing import reduced
from codenav.planner.unused import unused_pieces
from codenav.planner.words import Language

OTHERS, WIDTH = 3, 60
"""Next best answers that are told, and characters of each."""
LEAST = 0.005
"""A chance that is told as 0 % is not told."""
_NUMBER = re.compile(r"(?:np|numpy)\.\w+\((.*)\)")


@dataclass(frozen=True)
class Claim:
    """A result that was claimed for a clause."""

    goal: Goal
    chosen: Result
    """As it was judged."""
    result: Result
    """What was made of it: the highest of a collection."""
    chance: float
    """`judging.certainty`."""


def guessed(
    caller: Caller,
    request: str,
    clauses: Sequence[Clause],
    claims: Sequence[Claim],
    results: Sequence[Result],
    shown: Sequence[Result],
    known: Language,
) -> Generator[Action, Observation, Guess | None]:
    """How sure the answer is that shows some of the `results`; None where none of them was claimed.

    The chance is that of the last clause's result, since the model that gives it was fitted to whole requests. Where
    several results are shown it is that of the least likely one, whose next best answers are the ones that are told.
    """
    least = min([one for one in claims if any(one.result is other for other in shown)] or claims[-1:],
                key=lambda one: one.chance, default=None)  # fmt: skip
    if least is None:
        return None
    others = yield from _others(caller, least, known)
    reduced_ = [one.goal.clause for one in claims if one.result.lines != one.chosen.lines]
    return Guess(least.chance, others, tuple(unused_pieces(request, clauses, results, reduced_, known)))


def _others(
    caller: Caller, claim: Claim, known: Language
) -> Generator[Action, Observation, tuple[tuple[str, float], ...]]:
    """The next best answers that differ from the claimed one and from each other, each in one line with its chance."""
    found: dict[str, float] = {}
    taken = one_line(claim.result)
    for other, chance in list(chances(claim))[: 2 * OTHERS]:
        told = one_line((yield from reduced(caller, other, claim.goal, known)))
        if told != taken and len(found) < OTHERS:
            found.setdefault(told, chance)
    return tuple(found.items())


def chances(claim: Claim) -> Iterator[tuple[Result, float]]:
    """The other results that might have been claimed, likeliest first, each with its chance.

    That is its share in a softmax of the log odds of all different results, on the scale on which the claimed one has
    its own chance; together they have at most what that leaves.
    """
    goal, best = claim.goal, Seen.of(claim.chosen)
    rivals: dict[str, tuple[float, Result]] = {}
    for result, worth in goal.judged.values():
        seen = Seen.of(result)
        told = not (result.nothing or result.echo or (result.opaque and not result.as_text))
        if told and seen.is_rival(best) and worth > rivals.get(seen.shown, (0.0, result))[0]:
            rivals[seen.shown] = worth, result
    odds = [(math.exp(log_odds(worth)), result) for worth, result in rivals.values() if not is_barred(result, goal)]
    own = math.exp(log_odds(goal.worths[best]))
    total = sum(one for one, _ in odds)
    scale = min(claim.chance / own, (1 - claim.chance) / total) if total else 0.0
    for one, result in sorted(odds, key=lambda pair: -pair[0]):
        if one * scale >= LEAST:
            yield result, one * scale


def one_line(result: Result) -> str:
    """What a result says, as it would be printed, shortened to one line."""
    shown = result.printed if result.printed and result.repr == "None" else result.repr
    plain = _NUMBER.fullmatch(shown)
    shown = plain[1] if plain else shown
    if result.type == "str":
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            shown = str(ast.literal_eval(shown))
    line = " ".join(shown.split())
    return line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"
