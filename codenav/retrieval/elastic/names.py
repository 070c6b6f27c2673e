"""The names of codenav's indexes in a cluster.

codenav-KEY               an alias: the state that answers
codenav-KEY-7             the index behind it; never changed once the alias points to it
codenav-KEY-6             the one before it, for readers that have it open; the next build removes it
codenav-KEY-8.building    an alias of its successor while that is written
codenav-locks             who builds what
"""

from __future__ import annotations

import hashlib
import re

PREFIX = "codenav-"
LOCKS = f"{PREFIX}locks"
BUILDING = ".building"
"""The end of the alias through which an index is written: a write that comes late makes no index of its own."""
_PLAIN = re.compile(r"(?!locks\Z)[a-z0-9][a-z0-9._-]{0,120}(?<![.])")


def alias_of(key: str) -> str:
    """The alias of the index with that key: lower case, legal, and another one for each key."""
    if _PLAIN.fullmatch(key):
        return PREFIX + key
    readable = re.sub(r"[^a-z0-9._-]+", "-", key.lower()).strip(".-")[:120].rstrip(".-") or "index"
    return f"{PREFIX}{readable}-{hashlib.blake2b(key.encode('utf-8', 'backslashreplace'), digest_size=6).hexdigest()}"


def numbered(alias: str, number: int) -> str:
    """The name of the index of that number behind an alias."""
    return f"{alias}-{number}"


def number_of(index: str, alias: str) -> int | None:
    """The number of an index behind an alias; None where it bears another kind of name. The inverse of `numbered`."""
    match = re.fullmatch(rf"{re.escape(alias)}-(\d{{1,9}})", index)
    return int(match[1]) if match else None
