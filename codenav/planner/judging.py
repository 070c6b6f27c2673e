"""What a clause may ask for, and how good a result is for it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence

from codenav.planner.calls import Result
from codenav.planner.finding import UNASKED, Described
from codenav.planner.goals import Goal, shape
from codenav.planner.survey import Callable_
from codenav.planner.words import Language
from codenav.planner.writing import Value, fit

SURE, GOOD, ENOUGH = 0.8, 0.7, 0.6
"""How good a result has to be for nothing else to be tried, for nothing to be made for other calls, and to be claimed
at all."""
UNUSED, LONGER, SILENT, ODD, ELSEWHERE = 0.6, 0.08, 0.5, 0.3, 0.3
"""Taken off a result for each literal that did not go into it, for each further call, where it says nothing of itself,
where it is empty, just what went in, or of no type that the question has, and where it leaves out what "it" means."""
EXPORTED = 0.1
"""Added for what the package itself offers, not a module in it."""
NAMED, GUESSED = 0.1, 0.2
"""Added for each literal that went to the parameter that the word beside it names, and taken off for each that went to
one which may be left out, for its type alone."""
NEXT_TO = 0.6
"""What a word counts that stands right beside a literal which was used: `10 vertices`, `rate 0.05`."""
_IS_EXPORTED = re.compile(r"from \w+ import")
ROOM, SAID, NO_ROOM = 0.15, 0.4, 0.2
"""Added for a place for the literals and for a name that is the word before one, as in `at 3`; taken off where there is
none."""


def ranked(targets: Iterable[Callable_], goal: Goal) -> list[tuple[float, Callable_]]:
    """What a clause may ask for, likeliest first."""
    told = []
    for item in targets:
        if item.kind == "object":
            continue
        score = goal.meaning.score(item) + EXPORTED * bool(_IS_EXPORTED.match(item.import_line))
        if score > 0:
            told.append((score + room_for(item, list(goal.wanted)), item))
    return sorted(told, key=lambda pair: -pair[0])


def room_for(item: Callable_, literals: Sequence[Value]) -> float:
    """Whether it has a place for the literals, and whether its name is the word before one: `at 3`."""
    if item.kind in ("property", "value") and literals:
        return -NO_ROOM
    if not literals:
        return -0.1 * len([one for one in item.required if one.type in ("str", "int", "float")])
    taken = sum(any(fit(value, one) or one.kind.startswith("VAR_") for one in item.parameters) for value in literals)
    room = min(taken, len(item.parameters)) if not any(p.kind.startswith("VAR_") for p in item.parameters) else taken
    said = any(value.literal is not None and value.literal.before[:1] == (item.name,) for value in literals)
    return ROOM * room / len(literals) + SAID * said


def judged(result: Result, goal: Goal, known: Language) -> float:
    """How good a result is for the clause: about 1 where its calls stand for every word and every literal."""
    meaning, last = goal.meaning, result.calls[-1]
    met = _met(result)
    score = meaning.share(result.calls, met) + NAMED * result.named - GUESSED * result.guessed
    score += meaning.prior(Described.item(last)) + EXPORTED * bool(_IS_EXPORTED.match(last.import_line))
    score -= UNUSED * len(goal.wanted - result.used) + LONGER * (len(result.calls) - 1)
    score -= UNASKED * meaning.unasked(Described.item(last))
    score -= SILENT * (result.opaque and goal.last and not result.files)
    score -= 2 * SILENT * (result.nothing and result.repr == "None")
    if goal.last and last.kind == "class" and not known.making & set(goal.meaning.words) and not _tells(result):
        # An object that only holds what went in is no answer to a question.
        score -= 2 * ODD
    score -= ODD * (result.nothing and result.repr != "None") + 2 * ODD * result.echo
    score -= ODD * any(call.name.startswith("_") for call in result.calls)
    whether, type_ = goal.clause.asks_whether, result.type
    if (type_ in ("bool", "bool_")) != whether:
        score -= ODD * (2 if whether else 1)
    if known.asks(goal.clause.text) == "count" and type_ in ("bool", "str"):
        score -= ODD
    if (criterion := _criterion(goal, known)) and criterion in meaning.left(result.calls, met):
        score -= 2 * ODD
    if goal.earlier and not any(value.literal is None and not value.words for value in result.used):
        score -= ELSEWHERE * (2 if goal.clause.refers_back else not goal.wanted)
    return score


def doubt(result: Result, goal: Goal) -> str:
    """Why the best result is not claimed."""
    call = shape(result.calls[-1]).partition("(")[0]
    if unused := goal.wanted - result.used:
        return f"no call that fits takes {min(value.code for value in unused)}"
    if goal.clause.asks_whether and result.type not in ("bool", "bool_"):
        return f"{call} does not answer yes or no"
    if result.nothing or result.opaque or result.echo:
        return f"{call} gives {result.repr}"
    left = ", ".join(goal.meaning.left(result.calls)) or "too much"
    return f"{call} leaves {left} unexplained"


def _criterion(goal: Goal, known: Language) -> str:
    """By what the highest or lowest is meant: `the highest betweenness`; empty where nothing says it."""
    if known.asks(goal.clause.text) not in ("most", "least"):
        return ""
    words = goal.clause.words
    return next((after for word, after in itertools.pairwise(words) if word in known.asking), "")


def _met(result: Result) -> dict[str, float]:
    """Words that what went into a result stands for."""
    found: dict[str, float] = {}
    for value in result.used:
        if value.literal is not None:
            found |= dict.fromkeys((*value.literal.before[:1], value.literal.after), NEXT_TO)
    return found | {word: 1.0 for value in result.used for word in value.words}


def _tells(result: Result) -> bool:
    """Whether a value shows anything that did not go into it."""
    given = " ".join(value.code for value in result.used)
    shown = re.findall(r"\d+(?:\.\d+)?|'[^']+'", result.repr)
    return any(piece.strip("'") not in given for piece in shown)
