"""The form of a kind of object that lives on between two steps: how it is made, spoilt, and found after it.

A kind is a name, the code that makes it, what the dying step does to it (`>`), a look at it by the next step (`?`), and
the output of that look (`=`). All kinds of a group are alive in one session at the same time.
"""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of object."""

    name: str
    make: str
    spoil: str
    look: str
    found: str


def kinds(text: str) -> tuple[Kind, ...]:
    """The kinds of a group; each begins with a line that is not indented."""
    found = []
    for part in text.strip("\n").split("\n\n"):
        name, *lines = part.splitlines()
        code = {mark: [line[4:] for line in lines if line[:4].strip() == mark] for mark in ("", ">", "?", "=")}
        found.append(Kind(name, *("\n".join(code[mark]) for mark in ("", ">", "?", "="))))
    return tuple(found)
