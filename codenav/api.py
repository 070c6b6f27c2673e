"""The module-level verbs: `codenav.index`, `.search`, `.run`, `.load_episode`, `.sandbox`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from codenav.blocks import BlockKind, SearchResult
from codenav.config import episodes_dir, load_config
from codenav.episodes.record import EpisodeResult
from codenav.episodes.store import EpisodeStore
from codenav.errors import UsageError
from codenav.execution import Resources
from codenav.indexers.build import Progress
from codenav.indexers.sources import resolve
from codenav.indexing import Notice, On, SourceIndex, as_index, listed, open_index
from codenav.interpreter import find_interpreter
from codenav.limits import Limits
from codenav.protocols import Model, Sandbox


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
    interpreter = find_interpreter(python or load_config().python or None)
    return open_index(source, python=interpreter, refresh=refresh, progress=progress, notice=notice, wait=refresh)


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
    interpreter = find_interpreter(python or load_config().python or None)
    indexes = [
        item
        if isinstance(item, SourceIndex)
        else open_index(item, python=interpreter, refresh=refresh, progress=progress, notice=notice)
        for item in listed(on)
    ]
    return as_index(indexes).search(query, kinds=wanted, limit=limit)


def run(
    request: str,
    *,
    on: On | Sequence[On],
    model: str | Model | None = None,
    sandbox: str | None = None,
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
    on: On | Sequence[On] = (),
    python: str | Path | None = None,
    work_dir: str | Path | None = None,
    env: Sequence[str] | Mapping[str, str] = (),
    network: str = "",
    resources: Resources | None = None,
) -> Sandbox:
    """Start a sandbox by itself: `with codenav.sandbox("bubblewrap") as box: box.run("x = 1")`.

    `on` names code bases that the code can import; they need not be indexed. The other keywords are those of
    `Session`.

    Raises:
        SandboxUnavailable: the backend does not work here.
        NotFound, UsageError: something named is not usable.
    """
    from codenav.workbench import Workbench, checked_work_dir, choose_backend, values_of

    config = load_config()
    interpreter = find_interpreter(python or config.python or None)
    named = listed(on) if on else []
    sources = [item.source if isinstance(item, SourceIndex) else resolve(str(item), interpreter) for item in named]
    bench = Workbench(
        backend=choose_backend(backend),
        python=interpreter,
        import_paths=[path for source in sources for path in source.import_paths],
        network=network,
        env=values_of(env),
        resources=resources or Resources(step_seconds=config.code_timeout),
    )
    return bench.start(checked_work_dir(work_dir))


def _kind(value: BlockKind | str) -> BlockKind:
    try:
        return BlockKind(value)
    except ValueError:
        known = ", ".join(kind.value for kind in BlockKind)
        raise UsageError(f"unknown kind of block: {value!r}", hint=f"one of {known}") from None
