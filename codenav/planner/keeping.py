"""Runs in the sandbox: keeps what files hold, and puts it back where a tried call has changed or removed it.

Its text is one step of code, so it imports nothing of codenav.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

MARK = "codenav-files:"
"""Before the names of those that were put back."""
ROOM = 64 * 1024 * 1024
"""Bytes of all that is kept; the largest files are left out."""
_held: dict[str, bytes] = {}


def keep(names: list[str]) -> None:
    """Remember what files hold by now."""
    room = ROOM
    _held.clear()
    for size, name in sorted((os.path.getsize(name), name) for name in names if os.path.isfile(name)):
        data = _read(name) if size <= room else None
        if data is not None:
            _held[name] = data
            room -= len(data)
    print(f"{len(_held)} of {len(names)} files, {ROOM - room:,} bytes")


def put_back() -> None:
    """Write again what has changed since then; the names of those files are printed."""
    changed = [name for name, before in _held.items() if _read(name) != before]
    for name in changed:
        with contextlib.suppress(OSError), open(name, "wb") as file:
            file.write(_held[name])
    print(MARK + json.dumps(changed))


def _read(name: str) -> Any:
    try:
        with open(name, "rb") as file:
            return file.read()
    except OSError:
        return None
