"""Digests of whole values, so that two sandboxes can be compared without sending what they hold."""

from __future__ import annotations

import functools
import hashlib
import time
from collections import deque
from typing import Any, Iterable, List, Mapping, Tuple

import guest_atoms
import guest_describe
import guest_parts
from guest_values import NOT_DATA, Reader, Unknown, shown_text

NAMES = 1000
"""Maximum number of variables in one answer."""
ALL_SECONDS, VALUE_SECONDS = 6.0, 3.0
"""Time for all variables, and for one."""
TELLING_TEXT, TELLING_INT, TELLING_LENGTH = 8, 1000, 5
"""Characters of a text, size of an int, items of a container from which equal ones are hardly chance."""

_clock = time.monotonic
PARTS = 20_000
"""Maximum parts of all variables; those of later ones are left out."""
PARTS_SECONDS = 0.5
"""Time for the parts of one variable."""
Item = Tuple[str, str, str, str, bool, str, List[str]]
"""A variable: name, type, digest, kind, True if it is telling, bounded repr, parts."""

FIRM, PART, SOFT, NONE = "firm", "part", "soft", "none"
"""The worth of a digest: firm; part (an equal one says little); soft (a different one says nothing); none."""


def own_names(space: Mapping[str, Any], first: Iterable[str]) -> list[str]:
    """The names that steps have bound to data: those in `first` ahead, then the newest."""
    names = [name for name in space if isinstance(name, str) and _is_own(name, space[name])]
    wanted = set(first)
    return ([name for name in names if name in wanted] + [name for name in reversed(names) if name not in wanted])[
        :NAMES
    ]


def _is_own(name: str, value: Any) -> bool:
    hidden = name.startswith("__") or name.startswith("_codenav")
    return not hidden and not issubclass(type(value), NOT_DATA)


def digests(space: Mapping[str, Any], names: Iterable[str], seconds: float = ALL_SECONDS) -> list[Item]:
    """An `Item` for each name."""
    until = _clock() + seconds
    describer = guest_describe.Describer()
    found: list[Item] = []
    total = pieces = 0
    for name in names:
        value = space.get(name)
        seconds = min(VALUE_SECONDS, until - _clock())
        read = guest_describe.timed(functools.partial(_digest, value), seconds)
        digest, kind, telling = read or ("", NONE, False)
        text = describer.repr(value)
        if total > guest_describe.ALL_CHARACTERS:
            text = guest_describe.cut(text, guest_describe.FEW_CHARACTERS)
        total += len(text)
        seconds = min(PARTS_SECONDS, until - _clock()) if digest and pieces < PARTS else 0.0
        parts = guest_describe.timed(functools.partial(guest_parts.parts, value), seconds) or []
        pieces += len(parts)
        found.append((name[:200], type(value).__name__[:200], digest, kind, telling, text, parts))
    return found


def _digest(value: Any) -> tuple[str, str, bool]:
    try:
        reader = Reader()
        token = reader.token(value)
        kind = PART if reader.partial else FIRM
    except Unknown:
        try:
            token, kind = Reader(deep=True).token(value), SOFT
        except Unknown:
            return "", NONE, False
    return _hash(token), kind, _telling(value)


def _hash(token: bytes) -> str:
    return hashlib.blake2b(token, digest_size=16).hexdigest()


def _telling(value: Any, depth: int = 3) -> bool:
    """True if an equal value is hardly there by chance."""
    if value is None or isinstance(value, bool) or depth == 0:
        return False
    if isinstance(value, int):
        return abs(value) >= TELLING_INT
    if isinstance(value, float):
        return len((f"{value:.6g}").replace(".", "").replace("-", "").strip("0")) > 3
    if isinstance(value, (str, bytes)):
        return len(value) >= TELLING_TEXT
    if isinstance(value, (list, tuple, set, frozenset, deque, dict)):
        inside = list(value.values() if isinstance(value, dict) else value)
        return len(inside) >= TELLING_LENGTH or any(_telling(item, depth - 1) for item in inside)
    size = getattr(value, "size", None)
    if isinstance(size, int):
        return size >= TELLING_LENGTH
    shown = shown_text(value)
    return shown is not None and len(shown) >= TELLING_TEXT


def answer(space: Mapping[str, Any], first: Iterable[str]) -> dict[str, Any]:
    """The answer to a `digests` request."""
    names = own_names(space, first)
    items = digests(space, names)
    atoms = guest_atoms.Atoms()
    atoms.add(space, names)
    return {"op": "digests", "items": items, **atoms.to_dict()}
