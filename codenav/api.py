"""The module-level verbs: `codenav.index`, `.search`, `.run`, `.load_episode`, `.sandbox`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codenav.blocks import BlockKind, SearchResult
from codenav.config import episodes_dir, load_config
from codenav.episodes.record import EpisodeResult
from codenav.episodes.store import EpisodeStore
from codenav.errors import UsageError
from codenav.indexers.build import Progress
from codenav.indexing import Notice, On, SourceIndex, open_index
from codenav.interpreter import find_interpreter
from codenav.limits import Limits
from codenav.protocols import Model, Sandbox
from codenav.retrieval.combined import CombinedIndex

if TYPE_CHECKING:
    from codenav.session import SandboxOptions


def index(
    source: str | Path,
    *,
    python: str | Path | None = None,
    refresh: bool = True,
    progress: Callable[[Progress], None] | None = None,
    notice: Notice | None = None,
) -> SourceIndex:
    """Build or refresh the index of a source, and open it.

    `source` is a directory, a file, or `pkg:NAME` for a distribution that is installed in `python` (an interpreter
    or a virtual environment; default: the active one, else codenav's own).

    Raises:
        NotFound: no such source (the hint names close ones), or not `refresh` and never indexed.
        UsageError: the source holds nothing that can be indexed.
        StorageFull: the index cannot be written; an older state stays.
    """
    named = python or load_config().python or None
    return open_index(
        source, python=find_interpreter(named), refresh=refresh, progress=progress, notice=notice, wait=refresh
    )


def search(
    query: str,
    *,
    on: On | Sequence[On],
    kinds: Collection[BlockKind | str] | None = None,
    limit: int = 10,
    python: str | Path | None = None,
    refresh: bool = True,
    progress: Callable[[Progress], None] | None = None,
    notice: Notice | None = None,
) -> SearchResult:
    """Blocks of one or several sources that match a query, best first; indexes them on first use.

    Raises:
        QueryTooLarge: the query has over 64 KB.
        UsageError: an unknown kind, or a negative limit.
        NotFound, StorageFull: as `index`.
    """
    if limit < 0:
        raise UsageError(f"the limit is negative: {limit}")
    wanted = None if kinds is None else {_kind(kind) for kind in kinds}
    named = python or load_config().python or None
    interpreter = find_interpreter(named)
    sources = [on] if isinstance(on, str | Path | SourceIndex) else list(on)
    indexes = [
        item
        if isinstance(item, SourceIndex)
        else open_index(item, python=interpreter, refresh=refresh, progress=progress, notice=notice)
        for item in sources
    ]
    if not indexes:
        raise UsageError("no code base was named", hint="pass --on PATH or --on pkg:NAME")
    whole = indexes[0] if len(indexes) == 1 else CombinedIndex(indexes)
    return whole.search(query, kinds=wanted, limit=limit)


def run(
    request: str,
    *,
    on: On | Sequence[On],
    model: str | Model | None = None,
    sandbox: str | SandboxOptions = "",
    work_dir: str | Path | None = None,
    limits: Limits | None = None,
    **options: Any,
) -> EpisodeResult:
    """Run one request to its end and return the whole episode. Further keywords are those of `Session`.

    What goes wrong during the run is in the result (`status`, `reason`, `hint`, `exit_code`), not raised.

    Raises:
        ModelNotConfigured, NotFound, UsageError, SandboxUnavailable, StorageFull: before the run begins.
    """
    from codenav.session import Session

    with Session(on=on, model=model, sandbox=sandbox, work_dir=work_dir, limits=limits, **options) as session:
        return session.run(request)


def load_episode(name: str = "last") -> EpisodeResult:
    """A recorded episode: by its id, the beginning of one, or `last`.

    Raises:
        NotFound: there is none.
    """
    return EpisodeStore(episodes_dir()).load(name)


def sandbox(
    backend: str = "auto",
    *,
    python: str | Path | None = None,
    work_dir: str | Path | None = None,
    options: SandboxOptions | None = None,
) -> Sandbox:
    """Start a sandbox: `with codenav.sandbox("bubblewrap") as box: box.run("x = 1")`.

    Raises:
        SandboxUnavailable: the backend does not work here.
        NotFound, UsageError: `python` or `work_dir` is not usable.
    """
    from codenav.session import SandboxOptions, start_sandbox

    return start_sandbox(backend, python=python, work_dir=work_dir, options=options or SandboxOptions())


def _kind(value: BlockKind | str) -> BlockKind:
    try:
        return BlockKind(value)
    except ValueError:
        known = ", ".join(kind.value for kind in BlockKind)
        raise UsageError(f"unknown kind of block: {value!r}", hint=f"one of {known}") from None
