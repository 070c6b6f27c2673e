"""The module-level verbs: `codenav.index`, `.search`, `.run`, `.load_episode`, `.sandbox`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Unpack

from codenav.blocks import BlockKind, SearchResult
from codenav.config import StoreKeywords, episodes_dir, load_config, spelled
from codenav.episodes.record import EpisodeResult
from codenav.episodes.store import EpisodeStore
from codenav.errors import UsageError
from codenav.execution import Mount, Resources
from codenav.indexers.build import Progress
from codenav.indexing import Notice, On, SourceIndex, as_index, define, listed, open_index
from codenav.interpreter import find_interpreter
from codenav.limits import Limits
from codenav.protocols import CallHandler, Model, Sandbox
from codenav.stores import open_store


@spelled
def index(
    source: str | Path | Sequence[str | Path],
    *,
    name: str | None = None,
    python: str | Path | None = None,
    refresh: bool = True,
    progress: Callable[[Progress], None] | None = None,
    notice: Notice | None = None,
    **store: Unpack[StoreKeywords],
) -> SourceIndex:
    """Build or refresh the index of a source, and open it.

    `source` is a directory, a file, `git:URL@REV`, or `pkg:NAME` for a distribution that is installed in `python` (an
    interpreter or a virtual environment; default: the active one, else codenav's own). Several sources make one index
    under a `name`; from then on `name:NAME` is a source too.

    `store` and further keywords are those of `StoreOptions`; default: the configured ones.

    Raises:
        NotFound: no such source (the hint names close ones), or not `refresh` and never indexed.
        UsageError: the source holds nothing that can be indexed, or several sources have no name.
        Unavailable: a repository cannot be fetched, or the store cannot be reached.
        StorageFull: the index cannot be written; an older state stays.
    """
    config = load_config()
    interpreter = find_interpreter(python or config.python or None)
    specs = [source] if isinstance(source, str | Path) else list(source)
    if not specs or (len(specs) > 1 and name is None):
        raise UsageError("several sources in one index need a name", hint="name=… , or an index for each source")
    with ExitStack() as opening:
        opened = open_store(config.store_options(**store))
        opening.callback(opened.close)
        spec = specs[0] if name is None else define(name, specs, python=interpreter, notice=notice)
        found = open_index(
            spec,
            python=interpreter,
            store=opened,
            refresh=refresh,
            progress=progress,
            notice=notice,
            wait=refresh,
        )
        found.own(opened)
        opening.pop_all()
    return found


@spelled
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
    **store: Unpack[StoreKeywords],
) -> SearchResult:
    """Blocks of one or several sources that match a query, best first; indexes them on first use.

    Each hit carries its `source`. `store` and further keywords: as `index`. What this opens stays open as long as a
    hit is, whose block is loaded when it is looked at.

    Raises:
        QueryTooLarge: the query has over 64 KB.
        UsageError: an unknown kind, or a negative limit.
        NotFound, Unavailable, StorageFull: as `index`.
    """
    if limit < 0:
        raise UsageError(f"the limit is negative: {limit}")
    wanted = None if kinds is None else {_kind(kind) for kind in kinds}
    config = load_config()
    interpreter = find_interpreter(python or config.python or None)
    opened = open_store(config.store_options(**store))
    indexes = [
        item
        if isinstance(item, SourceIndex)
        else open_index(item, python=interpreter, store=opened, refresh=refresh, progress=progress, notice=notice)
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
    mounts: Sequence[str | Path | Mount] = (),
    image: str = "",
    runtime: str = "",
    gpus: str = "",
    snapshots: bool = True,
    calls: CallHandler | None = None,
    warm: int = 0,
) -> Sandbox:
    """Start a sandbox by itself: `with codenav.sandbox("bubblewrap") as box: box.run("x = 1")`.

    `on` names code bases that the code can import; they need not be indexed. Without `snapshots` no frozen twin is
    made before a step, and one that ends its process costs the replay of all. `calls` answers what the code calls the
    host for, `calls(name, arguments)`; without it each call is refused. `warm` keeps so many others like this
    one started, and takes one of those for the next call with the same keywords, until all sandboxes of such calls
    are closed. The other keywords are those of `Session`.

    Raises:
        SandboxUnavailable: the backend does not work here.
        NotFound, UsageError: something named is not usable.
    """
    from codenav.workbench import Workbench, checked_work_dir

    bench = Workbench.of(
        backend,
        on=listed(on) if on else [],
        python=python,
        env=env,
        network=network,
        resources=resources,
        mounts=mounts,
        image=image,
        runtime=runtime,
        gpus=gpus,
        snapshots=snapshots,
        calls=calls,
    )
    if warm < 0:
        raise UsageError(f"the number of warm sandboxes is negative: {warm}")
    return bench.start(checked_work_dir(work_dir), warm=warm)


def _kind(value: BlockKind | str) -> BlockKind:
    try:
        return BlockKind(value)
    except ValueError:
        known = ", ".join(kind.value for kind in BlockKind)
        raise UsageError(f"unknown kind of block: {value!r}", hint=f"one of {known}") from None
