"""The request of an episode, and the facts in its record that only its caller knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from codenav import __version__
from codenav.core.errors import UsageError
from codenav.core.events import RunStarted
from codenav.core.limits import Limits


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
    parent: str = ""
    """Id of the episode that this one goes on from."""
    restored: Sequence[str] = ()
    """What became of each of its variables."""
    folder: Path | None = None
    """Folder of the record, not part of the record itself. None if nothing is recorded."""

    def head(self, request: str, *, model: str, description: str, prompt: str, limits: Limits) -> RunStarted:
        """Return the head of the record of an episode that starts now."""
        return RunStarted(
            id=self.id,
            request=request,
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            model=model,
            sources=self.sources,
            description=description,
            prompt=prompt,
            sandbox=self.sandbox,
            work_dir=self.work_dir,
            limits=limits,
            codenav=__version__,
            parent=self.parent,
            restored=self.restored,
        )


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
