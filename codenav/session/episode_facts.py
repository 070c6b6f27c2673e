"""The request of an episode, and the facts in its record that only its caller knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codenav.core.errors import UsageError


@dataclass(frozen=True)
class EpisodeFacts:
    """The facts in a record that only the caller of an episode knows."""

    id: str = ""
    sources: Sequence[Mapping[str, Any]] = ()
    """Facts of each source: `source`, `files`, `blocks`, `versions`, `import_paths`."""
    sandbox: Mapping[str, Any] = field(default_factory=dict)
    """The result of `SandboxInfo.to_dict()`."""
    work_dir: str = ""
    """Path of the work folder on the host."""
    folder: Path | None = None
    """Folder of the record, not part of the record itself. None if nothing is recorded."""


def checked_request(request: str) -> str:
    """Return a request after checking that it is not empty.

    Raises:
        UsageError: it is empty.
    """
    if not request.strip():
        raise UsageError("the request is empty", hint="say what you want in one sentence")
    return request


def names_of(sources: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names and versions of the sources of a run, which an answer may mention."""
    versions = [f"{name} {version}" for source in sources for name, version in source["versions"].items()]
    return [*(str(source["source"]) for source in sources), *versions]
