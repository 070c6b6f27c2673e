"""Checks of file names that cross the border of a sandbox: which are plain, and which must not be copied out."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Collection, Sequence

from codenav.core.secrets.files import secret_part
from codenav.core.system.terminal_text import neutral

REPOSITORIES = (".git", ".hg", ".svn", ".jj", ".bzr", ".sl", "_darcs")
"""Folders, or files, of version control. Their settings name programs that its next command starts."""
MOST_FOLDERS = 100
"""Most components of a name."""
MOST_LISTED = 20
"""Most names on one line."""

_PART = re.compile(r"\.codenav-[0-9a-f]{1,64}\.part", re.IGNORECASE)
_MAKES_REPOSITORY = frozenset({"head", "commondir"})
"""Names of which git needs one to take a folder for a repository."""
_OF_REPOSITORY = frozenset({"config", "objects", "refs", "commondir"})


class Unwanted(Exception):
    """A file from inside that is not written. The message is the reason."""


def checked_name(name: str) -> list[str]:
    """Split a name from inside into its components.

    Raises:
        Unwanted: it is not a plain relative name, is too long, or contains characters that a terminal would act on.
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
    """True if `checked_name` accepts the name."""
    try:
        checked_name(name)
    except Unwanted:
        return False
    return True


def name_to_write(name: str) -> list[str]:
    """Split the name of a file that is to be written to a folder of the host.

    Raises:
        Unwanted: the name is not plain, belongs to a repository or would turn its folder into one, is reserved by
            codenav, or is that of a secret: secrets were not copied in, and would be overwritten.
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
    """True if a component names a repository's folder, including other spellings that some file systems accept."""
    return _as_seen(name) in (*REPOSITORIES, "git~1")


def looks_like_repository(names: Collection[str]) -> bool:
    """True if a folder with these entries is nearly a bare repository. Git would take it for one of its own."""
    seen = {_as_seen(name) for name in names}
    return "head" in seen and bool(seen & _OF_REPOSITORY)


def is_part(name: str) -> bool:
    """True if a component is a file that codenav is writing. See `part_name`."""
    return _PART.fullmatch(name) is not None


def part_name(token: str) -> str:
    """Return the name of a file while it is being written. `token` consists of hexadecimal digits."""
    return f".codenav-{token}.part"


def name_list(names: Sequence[str], count: int = 0) -> str:
    """Return the first names on one line, with the number of others. `count` is the total if not all are known."""
    more = max(count, len(names)) - MOST_LISTED
    shown = ", ".join(on_a_line(name) for name in names[:MOST_LISTED])
    return f"{shown} and {more} more" if more > 0 else shown


def on_a_line(name: str) -> str:
    """Return a name or reason from inside in a form that cannot break out of its line in a notice."""
    return neutral(name).replace("\n", "\\n").replace("\t", "\\t")[:200]


def _as_seen(name: str) -> str:
    """Normalize a component for lenient file systems.

    They fold case, drop dots and blanks at the end, or ignore invisible characters.
    """
    if not name.isascii():
        name = "".join(char for char in unicodedata.normalize("NFKC", name) if unicodedata.category(char) != "Cf")
    return name.partition(":")[0].rstrip(". ").casefold()
