"""The language of a script without an extension, by its first line."""

from __future__ import annotations

import os
import re
import stat
from functools import lru_cache

_INTERPRETER = re.compile(
    rb"#![ \t]*(?:\S*/)?(?:env[ \t]+(?:-\S+[ \t]+|\w+=\S*[ \t]+)*(?:\S*/)?)?(?P<name>[A-Za-z][A-Za-z-]*)[\d.]*(?=\s|\Z)"
)
"""The program in `#!/usr/bin/python3.11 -u` or `#!/usr/bin/env -S NODE_ENV=x node`, without its version."""

_LANGUAGES = {
    b"python": "python", b"pypy": "python", b"uv": "python", b"node": "javascript", b"nodejs": "javascript",
    b"bun": "typescript", b"deno": "typescript", b"ts-node": "typescript", b"tsx": "typescript", b"ruby": "ruby",
    b"jruby": "ruby", b"rake": "ruby", b"php": "php",
}  # fmt: skip

_BYTES = 200


def may_be_script(name: str) -> bool:
    """True for a file name without an extension; a hidden file is none."""
    return "." not in name.rpartition("/")[2]


def script_language(location: str, found: os.stat_result) -> str:
    """The language of a file by the `#!` that it begins with; empty if it is none, or cannot be read."""
    if not stat.S_ISREG(found.st_mode) or found.st_size < len("#!ruby"):
        return ""
    return _language(location, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


@lru_cache(maxsize=20_000)
def _language(location: str, *look: int) -> str:
    # Kept by what changes with a file: a source that is watched is walked every half second.
    try:
        with open(os.open(location, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb", buffering=0) as file:
            first = file.read(_BYTES)
    except OSError:
        return ""
    named = _INTERPRETER.match(first)
    return _LANGUAGES.get(named["name"].lower(), "") if named else ""
