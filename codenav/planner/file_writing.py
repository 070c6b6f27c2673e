"""Files that a request asks to be written: results put into new ones, and calls that would spoil what is there."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from codenav.actions import CodeObservation, Try
from codenav.planner.calls import Making
from codenav.planner.goal import Goal
from codenav.planner.language import likeness
from codenav.planner.values import OPENING, Value
from codenav.planner.write_guard import SPOILING
from codenav.signatures.callables import CallableSignature
from codenav.signatures.names import parts, words_in

_IN_PLACE = (SPOILING - {"create", "touch", "dump", "export"}) | {"change", "update", "edit", "modify"}
"""Words of a clause that ask for a file to be changed: `Change DB_PORT in the file app.env`, but not `Make a …`."""
_SPOILERS = SPOILING | words_in("writer saver dumper exporter remover deleter")
"""Words in the names of callables that may write to files or remove them."""
_SETTING = words_in("add set register unregister remove delete clear reset install patch")
"""First words in the names of functions that change what others of the package do."""


def spoils(item: CallableSignature, used: Collection[Value], goal: Goal) -> bool:
    """True if a call may spoil a file that is there or change the package itself, though nobody asked for that."""
    name = parts(item.name)
    if item.kind == "function" and name[:1] and name[0] in _SETTING:
        return not goal.meaning.nearest(name[0])
    spoiling = [part for part in name if part in _SPOILERS or part.endswith("writer")]
    return any(value.is_there for value in used) and bool(spoiling) and not any(map(goal.meaning.nearest, spoiling))


def overwrites(goal: Goal) -> bool:
    """True if a clause asks for a change of what is there.

    It says so in one of its own words, and names no new file for that.
    """
    new = any(value.literal is not None and value.literal.is_new_file for value in goal.wanted)
    return not new and any(likeness(word, asked) == 1.0 for word in goal.meaning.words for asked in _IN_PLACE)


def saved(goal: Goal) -> Making:
    """Write a text or bytes from before to the file that is named; None where something else is asked for."""
    before = goal.earlier[0] if goal.earlier else None
    target = goal.clause.saved_to
    if before is None or target is None or before.type not in ("str", "bytes"):
        return None
    method = "write_text" if before.type == "str" else "write_bytes"
    lines = (*OPENING, f"Path({target.code}).{method}({before.name})")
    observed = yield Try("\n".join(lines))
    if not isinstance(observed, CodeObservation) or not observed.execution.ok:
        return None
    fit = replace(before.fit, lines=(*before.lines, *lines))
    return replace(before, fit=fit, files=tuple(observed.execution.files))
