"""What is asked of a collection: how many there are, or which is highest or lowest."""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import replace

from codenav.actions import Action, Observation
from codenav.execution import Variable
from codenav.planner.calls import Caller, Result, short
from codenav.planner.goals import Goal
from codenav.planner.literals import Kind
from codenav.planner.words import Language

MAPPINGS = ("dict", "defaultdict", "Counter")
_NUMBERS = re.compile(r"\((?:-?\d+(?:\.\d+)?(?:, )?){2,4}\)")
_PAIR = re.compile(r"\(.*, [\w.]*\(?-?\d+(?:\.\d*)?(?:e[-+]?\d+)?\)?\)", re.DOTALL)
_SEVERAL = ("tuple", "list", "dict", "set", "frozenset")

Reducing = Generator[Action, Observation, Result]


def asked_of(goal: Goal, known: Language) -> frozenset[str]:
    """The words that ask it, of those that the clause is compared by."""
    kind = known.asks(goal.clause.bare)
    told = known.asked[kind] if kind else ()
    return frozenset(word for phrase in told for word in phrase.split() if word in goal.meaning.words)


def reduced(caller: Caller, result: Result, goal: Goal, known: Language) -> Reducing:
    """What the clause asks of a collection; the collection itself where it asks nothing, or where that has no one
    measure to go by."""
    kind = known.asks(goal.clause.bare)
    if not kind or result.echo or result.type in ("int", "float", "str", "bool", "NoneType", "complex"):
        return result
    if kind == "count" and result.type == "tuple" and _NUMBERS.fullmatch(result.repr):
        # `How many rows and columns?` are these.
        return result
    several = (literal for literal in goal.clause.literals if literal.kind is Kind.NUMBER)
    if kind != "count" and any(literal.after in known.asking for literal in several):
        # `the 3 most common`
        return result
    if kind == "count":
        return (yield from _counted(caller, result))
    if any(goal.meaning.qualities(call)[word] >= 0.6 for call in result.calls for word in asked_of(goal, known)):
        # `largest_component` has answered it.
        return result
    if result.opaque or result.as_text:
        # What an object can be gone through for is not what it shows, or is asked for.
        return result
    return (yield from _extreme(caller, result, {"most": "max", "least": "min"}[kind]))


def _counted(caller: Caller, result: Result) -> Reducing:
    for code in (f"len({result.name})", f"sum(1 for _ in {result.name})"):
        made, name, _ = yield from caller.assign(code, [])
        if made is not None:
            return _with(result, name, made, code)
    return result


def _extreme(caller: Caller, result: Result, extreme: str) -> Reducing:
    by_value = f"{extreme}({{0}}, key={{0}}.get)"
    code = (by_value if result.type in MAPPINGS else f"{extreme}({{0}})").format(result.name)
    made, name, _ = yield from caller.assign(code, [])
    if made is None:
        return result
    if result.type in MAPPINGS or short(made) not in _SEVERAL:
        return _with(result, name, made, code)
    if not _PAIR.fullmatch(made.repr):
        return result
    # Pairs are compared by what they begin with: by what each name has, where each is there once.
    paired = f"dict({result.name})"
    mapping, own, _ = yield from caller.assign(paired, [])
    once, _, _ = (yield from caller.assign(f"len({own}) == len({result.name})", [])) if mapping else (None, "", None)
    if mapping is None or once is None or once.repr != "True":
        return result
    code = by_value.format(own)
    made, name, _ = yield from caller.assign(code, [])
    return result if made is None else _with(_with(result, own, mapping, paired), name, made, code)


def _with(result: Result, name: str, made: Variable, code: str) -> Result:
    lines = (*result.lines, f"{name} = {code}")
    return replace(result, name=name, type=short(made), repr=made.repr, lines=lines)
