"""What is not done unless a clause asks for it: files written over, packages changed."""

from __future__ import annotations

import re
from collections.abc import Collection

from codenav.planner.goals import Goal
from codenav.planner.guard import SPOILING
from codenav.planner.literals import Kind
from codenav.planner.words import likeness
from codenav.planner.writing import Value
from codenav.signatures.callables import CallableSignature
from codenav.signatures.names import parts

_SPOILERS = re.compile(r"writer|saver|dumper|exporter|remover|deleter|\w+writer")
"""Names of classes that write to files or remove them."""
IN_PLACE = (SPOILING - {"create", "touch", "dump", "export"}) | {"change", "update", "edit", "modify"}
"""Words of a clause that ask for a file to be changed: `Change DB_PORT in the file app.env`, but not `Make a …`."""
SETTING = frozenset(("add", "set", "register", "unregister", "remove", "delete", "clear", "reset", "install", "patch"))
"""First words in the names of functions that change what others of the package do."""


def spoils(item: CallableSignature, used: Collection[Value], goal: Goal) -> bool:
    """Whether a call may spoil a file that is there or change the package itself, though nobody asked for that."""
    name = parts(item.name)
    if item.kind == "function" and name[:1] and name[0] in SETTING:
        return not goal.meaning.nearest(name[0])
    if not any(value.literal is not None and value.literal.there for value in used):
        return False
    spoiling = [part for part in name if part in SPOILING or _SPOILERS.fullmatch(part)]
    return bool(spoiling) and not any(map(goal.meaning.nearest, spoiling))


def overwrites(goal: Goal) -> bool:
    """Whether a clause asks for a change of what is there: it says so in one of its own words, and names no new file
    for that."""
    literals = [value.literal for value in goal.wanted if value.literal is not None]
    new = any(literal.kind is Kind.FILE and not literal.there for literal in literals)
    return not new and any(likeness(word, asked) == 1.0 for word in goal.meaning.words for asked in IN_PLACE)
