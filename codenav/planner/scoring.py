"""Scoring: the likelihood that a callable is meant, and that a result is right."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources

from codenav.planner.binding_search import may_choose
from codenav.planner.calls import Result
from codenav.planner.features import (
    criterion,
    draws_nothing,
    features,
    is_main,
    makes_files,
    meets_criterion,
    met_beside,
    unused,
)
from codenav.planner.goal import Goal, Seen, shape
from codenav.planner.values import Value, fit, is_in_name
from codenav.planner.votes import Votes
from codenav.signatures.callables import CallableSignature

SURE, GOOD, ENOUGH = 0.95, 0.8, 0.45
"""The likelihood of a result from which nothing else is tried, from which nothing is made for other calls, and from
which, beside all others, it is claimed at all."""
CRITERION = 4.0
"""Added to the log odds of a result that has to do with what is to be highest or lowest, and taken off one that has
not, or not with what is to be counted: too rare in requests for a weight to be fitted."""
MADE = 4.0
"""Added to the log odds of a result that made the file which was to be made, and taken off one that did not."""
LEAST = 0.2
"""The least likelihood of the best result by itself, however far it is ahead."""
EXPLAINED = 0.3
"""The least part of a clause that has to be explained."""
MANY = 20
"""The number of results that counts as many."""
UNLIKELY = -0.3
"""The score of a callable up to which it is not tried at all."""
FORM, NUMBERED, EXPORTED, WANTED = 0.15, 0.3, 0.1, 0.4
"""Score added for what takes the form that a clause asks for, `as YAML`; for its number in the name, `xxh32`; for
what the package itself offers; for a name that says what is to be counted, highest or lowest."""
ROOM, SAID, NO_ROOM = 0.15, 0.4, 0.2
"""Score added for a place for the literals and for a name that is the word before one, as in `at 3`; taken off where
there is none."""


def ranked(
    targets: Iterable[CallableSignature], goal: Goal, votes: Votes | None = None
) -> list[tuple[float, CallableSignature]]:
    """The callables that a clause may ask for with their scores, likeliest first.

    `votes` are for what follows the calls of the clauses before; the best score without them is their unit.
    """
    told, wanted, targets = [], criterion(goal.clause), list(targets)
    classes = {item.name: item for item in targets if item.kind == "class"}
    for item in targets:
        if item.kind == "object":
            continue
        score = goal.meaning.score(item) + EXPORTED * bool(re.match(r"from \w+ import", item.import_line))
        if wanted in goal.meaning.words:
            score += WANTED * goal.meaning.in_name(item)[wanted]
        score += FORM * chooses(item, goal.values)
        score += NUMBERED * any(is_in_name(value, item) for value in goal.wanted)
        if score > UNLIKELY:
            told.append((score + room_for(item, list(goal.wanted), classes.get(item.owner)), item))
    if votes is not None and told:
        unit = max(0.0, *(score for score, _ in told))
        told = [(score + unit * votes.follows(item, goal.earlier), item) for score, item in told]
    return sorted(told, key=lambda pair: -pair[0])


def chooses(item: CallableSignature, values: Iterable[Value]) -> bool:
    """True if a word after `as`, `in` or `to` may be what one of its parameters chooses: `as YAML`."""
    return any(may_choose(value, one) for value in values if value.is_word for one in item.parameters)


def room_for(item: CallableSignature, literals: Sequence[Value], owner: CallableSignature | None = None) -> float:
    """The score added where it, or its class, takes the literals, and where its name is the word before one: `at 3`."""
    if literals and owner is not None:
        taken = sum(any(fit(value, one) for one in owner.parameters) for value in literals)
        return max(room_for(item, literals), ROOM * min(taken, len(owner.parameters)) / len(literals))
    if item.kind in ("property", "value") and literals:
        return -NO_ROOM
    if not literals:
        return -0.1 * len([one for one in item.required if one.type in ("str", "int", "float")])
    star = any(one.kind.startswith("VAR_") for one in item.parameters)
    taken = len(literals) if star else sum(any(fit(value, one) for one in item.parameters) for value in literals)
    room = taken if star else min(taken, len(item.parameters))
    said = any(value.literal is not None and value.literal.before[:1] == (item.name,) for value in literals)
    return ROOM * room / len(literals) + SAID * said


@cache
def _weights() -> Mapping[str, Mapping[str, float]]:
    text = resources.files("codenav.planner").joinpath("weights.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, float]] = json.loads(text)
    return found


def score(result: Result, goal: Goal) -> float:
    """The likelihood that a result is what the clause asks for, 0 to 1; each result is scored once for a clause.

    A logistic model over `features`; `benchmarks/planner_weights.py` fits its weights to requests whose answers are
    known.
    """
    if id(result) in goal.scored:
        return goal.scored[id(result)][1]
    weights = _weights()["evidence"]
    total = weights["bias"] + sum(weights[name] * value for name, value in features(result, goal).items())
    worth = _logistic(total + CRITERION * meets_criterion(result, goal) + MADE * makes_files(result, goal))
    seen = Seen.of(result)
    goal.worths[seen] = max(worth, goal.worths.get(seen, 0.0))
    goal.scored[id(result)] = result, worth
    return worth


def is_sure(result: Result, goal: Goal) -> bool:
    """True if nothing else has to be tried; a result that leaves a literal out is never claimed."""
    return score(result, goal) >= SURE and not unused(result, goal)


def certainty(result: Result, goal: Goal) -> float:
    """The chance that the best result is right, 0 to 1, by how many others are as likely, and how many there are."""
    worth = score(result, goal)
    if worth < LEAST or is_barred(result, goal):
        return 0.0
    weights = _weights()["claim"]
    own = log_odds(worth)
    rivals = crowd(Seen.of(result), own, ((seen, log_odds(other)) for seen, other in goal.worths.items()))
    tried = len({seen.shown for seen in goal.worths}) / MANY
    return _logistic(weights["bias"] + weights["worth"] * own + weights["crowd"] * rivals + weights["tried"] * tried)


def is_barred(result: Result, goal: Goal) -> bool:
    """True if a result is never claimed.

    With something left out, or next to nothing said by what was called, none of the fitted requests was right.
    """
    share = goal.meaning.share(result.calls, met_beside(result))
    return bool(
        unused(result, goal)
        or makes_files(result, goal) < 0
        or (share < EXPLAINED and not any(map(is_main, result.calls)))
        or draws_nothing(result, goal)
    )


def crowd(best: Seen, own: float, others: Iterable[tuple[Seen, float]]) -> float:
    """The number of different answers that are as likely as the best, on a logarithmic scale; 0 for none.

    It is minus the logarithm of the best one's share in a softmax of the log odds, in which what shows the same is one.
    """
    odds = {best.shown: own}
    for seen, other in others:
        if seen.is_rival(best):
            odds[seen.shown] = max(other, odds.get(seen.shown, other))
    return math.log(sum(math.exp(other - own) for other in odds.values()))


def _logistic(score: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, score))))


def log_odds(chance: float) -> float:
    """The logarithm of the odds of a chance."""
    return math.log(max(chance, 1e-9) / max(1 - chance, 1e-9))


def doubt(result: Result, goal: Goal) -> str:
    """The reason why the best result is not claimed."""
    call = shape(result.calls[-1]).partition("(")[0]
    left = ", ".join(goal.meaning.left(result.calls)) or "too much"
    if left_out := unused(result, goal):
        return f"no call that fits takes {min(value.code for value in left_out)}"
    if goal.clause.asks_whether and result.type not in ("bool", "bool_"):
        return f"{call} does not answer yes or no"
    if draws_nothing(result, goal):
        return f"{call} gives a {result.type} and no picture, and leaves {left} unexplained"
    if result.nothing or result.opaque or result.echo:
        return f"{call} gives {result.repr}"
    return f"{call} leaves {left} unexplained"
