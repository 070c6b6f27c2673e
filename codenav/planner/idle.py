"""Values that went into a call and changed nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from codenav.planner.calls import Making, Result
from codenav.planner.filled import Filled
from codenav.planner.goals import Goal
from codenav.planner.writing import Value, beside


def without_idle(
    done: Result | None,
    filled: Filled,
    goal: Goal,
    values: Sequence[Value],
    again: Callable[[Filled, Sequence[Value]], Making],
) -> Making:
    """The result as one that leaves a literal out, where no word names its parameter and the call gives the same
    without it: the weight `'33'` of edges that have no such weight. `again` makes the call otherwise."""
    if done is None or done.files or done.changed or done.printed or done.opaque or done.as_text:
        return done
    for parameter, value in filled.pairs:
        sure = parameter.required or value not in goal.wanted or beside(value, parameter) == 1.0
        if sure or value.code == parameter.default:
            continue
        less = replace(
            filled,
            given=tuple(pair for pair in filled.given if pair[0] is not parameter),
            used=tuple(one for one in filled.used if one not in (value, *value.members)),
            pairs=tuple(pair for pair in filled.pairs if pair[0] is not parameter),
        )
        others = [one for one in values if one is not value]
        plain = yield from again(less, others)
        if plain is not None and (plain.type, plain.repr) == (done.type, done.repr):
            done = replace(done, used=done.used - {value, *value.members}, guessed=max(0, done.guessed - 1))
    return done
