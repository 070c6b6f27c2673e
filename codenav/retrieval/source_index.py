"""Indexes of sources, which join a source, its build and a store; `codenav.index` returns one."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from codenav.core.blocks import BlockKind, CodeBlock, Frequencies, IndexStats, SearchResult, StoredIndex
from codenav.core.config import home, load_config
from codenav.core.errors import NotFound, StorageFull, UsageError
from codenav.core.protocols import Index, ScaledIndex, Store, WritableIndex
from codenav.core.system.closing import Closing
from codenav.core.system.interpreter import Interpreter, find_interpreter
from codenav.indexers import index_groups as named
from codenav.indexers import repository
from codenav.indexers.build import BuildReport, Progress, build
from codenav.indexers.git import LOOK_AGAIN, forget
from codenav.indexers.sources import Source, key_of, lasting, resolve, together
from codenav.retrieval.combined import CombinedIndex
from codenav.retrieval.stores import open_store
from codenav.retrieval.tool_weights import ToolWeights
from codenav.tools import layout, places

Notify = Callable[[str], None]


class SourceIndex(Closing):
    """The open index of one source, or of several under a name. Implements `protocols.Index`."""

    def __init__(self, source: Source, opened: WritableIndex, *, report: BuildReport | None = None) -> None:
        self.source = source
        self.report = report
        """The report of the build that opened the index; None if it was opened without a build."""
        self.strict = False
        """Tools that a check found wanting are left out."""
        self._opened = opened
        self._weights = ToolWeights.of(source)
        self._owned: Store | None = None

    def search(
        self,
        query: str,
        *,
        kinds: Collection[BlockKind] | None = None,
        limit: int = 100,
        frequencies: Frequencies | None = None,
    ) -> SearchResult:
        """Blocks that match a query, best first. See `protocols.ScaledIndex.search`."""
        search = partial(self._opened.search, query, kinds=kinds)
        if frequencies and isinstance(self._opened, ScaledIndex):
            search = partial(self._opened.search, query, kinds=kinds, frequencies=frequencies)
        if self._weights:
            return self._weights.search(lambda limit: search(limit=limit), limit, strict=self.strict)
        return search(limit=limit)

    @property
    def whole(self) -> WritableIndex:
        """The index in its store, with all blocks: also those of tools that are left out."""
        return self._opened

    def frequencies(self, query: str) -> Frequencies | None:
        """The statistics by which the words of a query are scored; None if the store does not tell."""
        return self._opened.frequencies(query) if isinstance(self._opened, ScaledIndex) else None

    def get(self, id: str) -> CodeBlock | None:
        """The block with that id, unless it is of a tool that is left out."""
        block = self._opened.get(id)
        if block is None or self._weights is None:
            return block
        return next(self._weights.blocks([block], strict=self.strict), None)

    def blocks(self) -> Iterator[CodeBlock]:
        """Every block, by path and first line."""
        blocks = self._opened.blocks()
        return self._weights.blocks(blocks, strict=self.strict) if self._weights else blocks

    def stats(self) -> IndexStats:
        """The statistics of the index, and of the build that opened it."""
        stats, report = self._opened.stats(), self.report
        if report is None:
            return stats
        return replace(stats, reused_files=report.reused_files, seconds=report.seconds, skipped=report.skipped)

    def remark(self) -> str:
        """A sentence on its tools that checks found wanting; empty if there are none."""
        return self._weights.remark() if self._weights else ""

    def facts(self) -> dict[str, Any]:
        """The facts for the record of a run: `source`, `files`, `blocks`, `versions`, `import_paths`, `fingerprint`."""
        stats = self.stats()
        return {
            "source": stats.source,
            "files": stats.files,
            "blocks": stats.blocks,
            "versions": dict(stats.versions),
            "import_paths": [str(path) for path in self.source.import_paths],
            "fingerprint": self.fingerprint(),
        }

    def fingerprint(self) -> str:
        """A hash of the files in the index, which changes exactly when one of them does."""
        files = sorted(self._opened.files().items())
        text = "\n".join(f"{path}\0{state.digest}" for path, state in files)
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def close(self) -> None:
        """Release files and connections; safe to call twice."""
        self._opened.close()
        if self._owned:
            self._owned.close()

    def own(self, store: Store | None) -> None:
        """Close that store too when this index is closed."""
        self._owned = store

    def __repr__(self) -> str:
        stats = self.stats()
        return f"<SourceIndex {self.source.name}: {stats.files} files, {stats.blocks} blocks>"


On = str | Path | SourceIndex
"""A code base: a source as typed on the command line, or an open index."""


def listed(on: On | Sequence[On]) -> list[On]:
    """The code bases as a list without repetitions.

    Raises:
        UsageError: no code base was named.
    """
    named = [on] if isinstance(on, str | Path | SourceIndex) else list(on)
    if not named:
        raise UsageError("no code base was named", hint="pass --on PATH or --on pkg:NAME")
    return list(dict.fromkeys(named))


def as_index(indexes: Sequence[SourceIndex]) -> Index:
    """The only index, or several combined into one."""
    return indexes[0] if len(indexes) == 1 else CombinedIndex(indexes)


def open_index(
    spec: str | Path,
    *,
    python: Interpreter,
    store: Store | None = None,
    refresh: bool = True,
    rebuild: bool = False,
    progress: Callable[[Progress], None] | None = None,
    notice: Notify | None = None,
    wait: bool = False,
    allow_private: bool = False,
) -> SourceIndex:
    """Open the index of a source, built on first use and brought up to date if `refresh` is set.

    `rebuild`: every file is read and parsed, also those that look unchanged.

    `store`: stays open when the index is closed; None opens the configured one, which is closed with the index.

    If another process is building the same index, this waits for it if `wait` is set or there is no older state;
    otherwise the older state is used, with a `notice`. It is also used if the index cannot be written and `wait` is
    not set. A branch of a repository, and a server of tools, is asked again if `wait` is set, else at most every
    `git.LOOK_AGAIN` seconds. `allow_private`: specifications of tools may refer to private addresses.

    Raises:
        NotFound: no such source, or `refresh` is not set and it was never indexed.
        UsageError: the source contains nothing that can be indexed.
        Unavailable: a repository cannot be fetched.
        IndexUnavailable: the store cannot be reached.
        StorageFull: the index cannot be written, and `wait` is set or there is no older state; an older state stays.
    """
    tell = notice or (lambda text: None)
    max_age = 0.0 if wait else LOOK_AGAIN
    with ExitStack() as failing:
        own: Store | None = None
        if store is None:
            own = store = open_store(load_config().store_options())
            failing.callback(own.close)
        source = resolve(
            str(spec), python, max_age=max_age if refresh else None, notice=tell, allow_private=allow_private
        )
        index = _current(source, store, progress, tell, rebuild, wait) if refresh else _as_it_is(source, store)
        index.own(own)
        failing.pop_all()
    return index


def _as_it_is(source: Source, store: Store) -> SourceIndex:
    """Open an index without a build."""
    opened = store.open(source.key, source=source.name)
    if not opened.exists:
        opened.close()
        notice = opened.notice.replace("is built anew", "has to be built anew")
        raise NotFound(notice or f"{source.name} has not been indexed", hint=f"codenav index {source.name}")
    return SourceIndex(source, opened)


def _current(
    source: Source, store: Store, progress: Callable[[Progress], None] | None, tell: Notify, rebuild: bool, wait: bool
) -> SourceIndex:
    """Open an index and bring it up to date, or take its older state where that cannot be done now."""
    full: StorageFull | None = None
    try:
        with store.build_lock(source.key, wait=False) as free:
            if free:
                return _built(source, store, progress, tell, rebuild)
    except StorageFull as error:
        if wait:
            raise
        full = error
    opened = store.open(source.key, source=source.name)
    if opened.exists and not wait:
        tell(f"{full or f'another process is building the index of {source.name}'}: answering from the state before it")
        return SourceIndex(source, opened)
    opened.close()
    if full:
        raise full
    tell(f"another process is building the index of {source.name}: waiting for it")
    with store.build_lock(source.key, wait=True):
        return _built(source, store, progress, tell, rebuild)


def open_indexes(
    on: Sequence[On],
    *,
    python: Interpreter,
    store: Store,
    opening: ExitStack,
    refresh: bool = True,
    progress: Callable[[Progress], None] | None = None,
    notice: Notify | None = None,
    allow_private: bool = False,
) -> list[SourceIndex]:
    """The indexes of code bases. Those that this opens are closed by `opening`; an index that came in stays open.

    Raises:
        NotFound, UsageError, Unavailable, IndexUnavailable, StorageFull: as `open_index`.
    """
    indexes = []
    for item in on:
        if not isinstance(item, SourceIndex):
            item = open_index(
                item,
                python=python,
                store=store,
                refresh=refresh,
                progress=progress,
                notice=notice,
                allow_private=allow_private,
            )
            opening.callback(item.close)
        indexes.append(item)
    return indexes


def _built(
    source: Source, store: Store, progress: Callable[[Progress], None] | None, tell: Notify, rebuild: bool
) -> SourceIndex:
    """Open the index and bring it up to date; its lock is held by the caller."""
    opened = store.open(source.key, source=source.name)
    try:
        if opened.notice:
            tell(opened.notice)
        report = build(source, opened, progress=progress, rebuild=rebuild)
        index = SourceIndex(source, opened, report=report)
        for remark in filter(None, (index.remark(), source.notice)) if report.reused_files < report.files else ():
            tell(remark)
        return index
    except BaseException:
        opened.close()
        raise


def define(
    name: str,
    specs: Sequence[str | Path],
    *,
    python: Interpreter,
    notice: Notify | None = None,
    allow_private: bool = False,
) -> str:
    """Save several sources under a name, for one index of all of them; return the source `name:NAME`.

    Raises:
        UsageError: the name is not valid, or a source is named twice.
        NotFound, Unavailable: a source does not exist or cannot be fetched.
        StorageFull: the list cannot be written.
    """
    spec = named.checked(f"{named.PREFIX}{name}")
    sources = [resolve(str(one), python, max_age=0.0, notice=notice, allow_private=allow_private) for one in specs]
    together(spec, sources)
    named.define(spec, [lasting(source) for source in sources])
    return spec


def parts_of(source: str) -> list[str]:
    """The sources of a named index; empty for any other source, and if the list is gone."""
    if source.startswith(named.PREFIX):
        with suppress(UsageError):
            return named.sources_of(source)
    return []


def stored_index(spec: str | Path, *, python: str | Path | None = None, store: Store | None = None) -> StoredIndex:
    """The entry in the catalogue for the index of a source.

    A source that no longer exists (a deleted folder, an uninstalled package) is found by its name in
    `codenav sources list`, a package also without its version.

    Raises:
        NotFound: there is no such index.
        IndexUnavailable: the store cannot be reached.
    """
    entries = (store or open_store(load_config().store_options())).list()
    names = (str(spec), os.path.abspath(spec))
    found = [entry for entry in entries if entry.source in names or entry.key == str(spec)]
    try:
        key = key_of(str(spec), find_interpreter(python or load_config().sandbox.python))
        found = [entry for entry in entries if entry.key == key] or found
    except UsageError as error:
        found = found or [entry for entry in entries if entry.source.startswith(f"{spec}@")]
        if not found:
            raise error from None
    if not found:
        raise NotFound(f"{spec} has not been indexed", hint="codenav sources list")
    return found[-1]


def vectors_dir() -> Path:
    """The folder of the vectors of blocks, which has a folder for each source, by the key of its index."""
    return home("cache") / "vectors"


def remove_index(spec: str | Path, *, python: str | Path | None = None, store: Store | None = None) -> str:
    """Remove the index of a source, found as by `stored_index`; return the source's name.

    The files that codenav itself keeps for the source are removed too: the vectors of its blocks, those of a
    repository, the states of a specification of tools, the list of a named index.

    Raises:
        NotFound: there is no such index.
        IndexUnavailable: another process is building it, or the store cannot be reached.
    """
    store = store or open_store(load_config().store_options())
    entry = stored_index(spec, python=python, store=store)
    store.remove(entry.key)
    shutil.rmtree(vectors_dir() / entry.key, ignore_errors=True)
    for name in dict.fromkeys((entry.source, str(spec))):
        if name.startswith("git:"):
            with suppress(UsageError):
                forget(repository.parse(name))
        elif places.is_tools(name):
            with suppress(UsageError):
                layout.forget(places.parse(name))
        elif name.startswith(named.PREFIX):
            with suppress(UsageError):
                named.forget(name)
    return entry.source
