"""Named indexes: several sources under a name that the user chose (`name:NAME`), each list of sources in a file."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Sequence
from pathlib import Path

from codenav.core.config import home
from codenav.core.errors import NotFound, StorageFull, UsageError
from codenav.core.system.atomic_files import write_whole

PREFIX = "name:"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


def checked(spec: str) -> str:
    """Return `spec` (`name:NAME`) unchanged if the name is valid.

    Raises:
        UsageError: the name is not valid.
    """
    name = spec.removeprefix(PREFIX)
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name[:100]!r} is not a valid index name", hint="letters, digits, '.', '-' and '_', at most 40 of them"
        )
    return PREFIX + name


def define(spec: str, sources: Sequence[str]) -> None:
    """Save the sources of a named index; an earlier list under that name is replaced.

    Raises:
        UsageError: the name is not valid, or a source is a named index itself.
        StorageFull: no room, or no permission.
    """
    inner = [source for source in sources if source.startswith(PREFIX)]
    if inner:
        raise UsageError(f"{inner[0]} is a named index itself", hint="name its sources instead")
    path = _file(checked(spec))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps({"sources": list(sources)}, indent=1))
    except OSError as error:
        raise StorageFull(f"cannot write {path}: {error.strerror}", cause=error) from error


def sources_of(spec: str) -> list[str]:
    """The sources of a named index.

    Raises:
        NotFound: there is no index with that name.
        UsageError: its file cannot be read.
    """
    path = _file(checked(spec))
    try:
        sources = json.loads(path.read_text(encoding="utf-8"))["sources"]
        if not sources or not all(isinstance(one, str) and not one.startswith(PREFIX) for one in sources):
            raise ValueError
    except FileNotFoundError:
        known = sorted(item.stem for item in path.parent.glob("*.json")) if path.parent.is_dir() else []
        near = difflib.get_close_matches(spec.removeprefix(PREFIX), known, n=1)
        hint = f"did you mean {PREFIX}{near[0]}?" if near else f"codenav index SOURCE… --name {spec[len(PREFIX) :]}"
        raise NotFound(f"no index named {spec.removeprefix(PREFIX)}", hint=hint) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"cannot read {path}", hint="make it again: codenav index SOURCE… --name NAME") from error
    return list(sources)


def forget(spec: str) -> None:
    """Remove the list of a named index; do nothing if there is none."""
    _file(checked(spec)).unlink(missing_ok=True)


def _file(spec: str) -> Path:
    return home("data") / "named" / f"{spec.removeprefix(PREFIX)}.json"
