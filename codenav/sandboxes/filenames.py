"""Names of files that come from inside or go in: which ones are plain, and which ones stay where they are."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Collection, Sequence

from codenav.secrets.files import secret_part
from codenav.system.terminal_text import neutral

REPOSITORIES = (".git", ".hg", ".svn", ".jj", ".bzr", ".sl", "_darcs")
"""Folders, or files, of version control. Their settings name programs, which its next command starts."""
MOST_FOLDERS = 100
"""Above a file."""
MOST_LISTED = 20
"""Names on one line."""

_PART = re.compile(r"\.codenav-[0-9a-f]{1,64}\.part", re.IGNORECASE)
_MAKES_REPOSITORY = frozenset({"head", "commondir"})
"""Without one of these git takes no folder for a repository."""
_OF_REPOSITORY = frozenset({"config", "objects", "refs", "commondir"})


class Unwanted(Exception):
    """A file from inside that is not written, and why."""


def checked_name(name: str) -> list[str]:
    """The components of a name from inside.

    Raises:
        Unwanted: it is absolute, climbs, or holds characters that a terminal would act on.
    """
    if neutral(name) != name or "\n" in name or "\t" in name:
        raise Unwanted("control characters in its name")
    try:
        length = len(os.fsencode(name))
    except UnicodeEncodeError:
        raise Unwanted("its name cannot be written on this system") from None
    parts = name.split("/")
    if length > 4000 or any(part in ("", ".", "..") for part in parts):
        raise Unwanted("not a plain relative name")
    if len(parts) > MOST_FOLDERS:
        raise Unwanted(f"below more than {MOST_FOLDERS} folders")
    return parts


def is_plain(name: str) -> bool:
    """Whether `checked_name` takes it."""
    try:
        checked_name(name)
    except Unwanted:
        return False
    return True


def name_to_write(name: str) -> list[str]:
    """The components of the name of a file that may be written to a folder of the host.

    Raises:
        Unwanted: it is not plain, is part of a repository, would make its folder one, is that of a secret, which was
            not copied in and would be overwritten, or is a name of our own.
    """
    parts = checked_name(name)
    for part in parts:
        if is_repository(part):
            raise Unwanted("what belongs to version control does not leave the sandbox")
        if is_part(part):
            raise Unwanted("a name that codenav keeps for itself")
    if secret_part(name):
        raise Unwanted("secrets go neither in nor out")
    if _as_seen(parts[-1]) in _MAKES_REPOSITORY:
        raise Unwanted("it could make its folder a git repository")
    return parts


def is_repository(name: str) -> bool:
    """Whether a component is a repository's folder, also for a file system that takes other spellings for the same."""
    return _as_seen(name) in (*REPOSITORIES, "git~1")


def looks_like_repository(names: Collection[str]) -> bool:
    """Whether a folder that holds these is a bare repository, or nearly one: git takes such a folder for its own."""
    seen = {_as_seen(name) for name in names}
    return "head" in seen and bool(seen & _OF_REPOSITORY)


def is_part(name: str) -> bool:
    """Whether a component is a file of ours that is just being written; see `part_name`."""
    return _PART.fullmatch(name) is not None


def part_name(token: str) -> str:
    """Under which a file is written before it takes its own name; `token` in hexadecimal digits."""
    return f".codenav-{token}.part"


def listed(names: Sequence[str], count: int = 0) -> str:
    """The first names on one line, and how many more there are; `count` of all, where not all names are known."""
    more = max(count, len(names)) - MOST_LISTED
    shown = ", ".join(on_a_line(name) for name in names[:MOST_LISTED])
    return f"{shown} and {more} more" if more > 0 else shown


def on_a_line(name: str) -> str:
    """A name, or a reason, from inside for a line of a notice, which it cannot end."""
    return neutral(name).replace("\n", "\\n").replace("\t", "\\t")[:200]


def _as_seen(name: str) -> str:
    """As file systems see it that fold case, drop dots and blanks at the end, or ignore invisible characters."""
    if not name.isascii():
        name = "".join(char for char in unicodedata.normalize("NFKC", name) if unicodedata.category(char) != "Cf")
    return name.partition(":")[0].rstrip(". ").casefold()
