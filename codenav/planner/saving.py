"""Texts and bytes that came out, written to the new files that a request names."""

from __future__ import annotations

from dataclasses import replace

from codenav.actions import CodeObservation, Try
from codenav.planner.calls import Making, Result
from codenav.planner.evidence import unused
from codenav.planner.goals import Goal
from codenav.planner.literals import TEXTS, Kind, Literal
from codenav.planner.writing import OPENING


def saved(goal: Goal) -> Making:
    """A text or bytes from before, written to the file that is named; None where something else is asked for."""
    before = goal.earlier[0] if goal.earlier else None
    target = goal.clause.saved_to
    if before is None or target is None or before.type not in ("str", "bytes"):
        return None
    return (yield from _put(before, target))


def written(goal: Goal) -> Making:
    """The best of the results that are just what a new file is to hold which the clause names, with that file."""
    new = {value for value in goal.wanted if value.literal and value.literal.kind is Kind.FILE}
    file = next((value.literal for value in new), None)
    if len(new) != 1 or file is None or file.there:
        return None
    types = ("bytes", "str") if file.text.rpartition(".")[2].lower() in TEXTS else ("bytes",)
    fit = [
        (worth, result)
        for result, worth in goal.judged.values()
        if result.type in types and unused(result, goal) == new and not (result.nothing or result.echo)
    ]
    if not fit:
        return None
    made = yield from _put(max(fit, key=lambda pair: pair[0])[1], file)
    return None if made is None else replace(made, used=made.used | new, kept=True)


def _put(result: Result, file: Literal) -> Making:
    method = "write_text" if result.type == "str" else "write_bytes"
    lines = (*OPENING, f"Path({file.code}).{method}({result.name})")
    observed = yield Try("\n".join(lines))
    if not isinstance(observed, CodeObservation) or not observed.execution.ok:
        return None
    return replace(result, lines=(*result.lines, *lines), files=tuple(observed.execution.files))
