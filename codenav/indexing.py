"""Joins a source, the build and the store: what `codenav.index` returns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from codenav.blocks import BlockKind, CodeBlock, IndexStats, SearchResult, StoredIndex
from codenav.config import indexes_dir, load_config
from codenav.errors import NotFound, UsageError
from codenav.indexers.build import BuildReport, Progress, build
from codenav.indexers.sources import Source, resolve
from codenav.interpreter import Interpreter, find_interpreter
from codenav.protocols import Index
from codenav.retrieval import catalog
from codenav.retrieval.catalog import list_indexes
from codenav.retrieval.combined import CombinedIndex
from codenav.retrieval.embedded import EmbeddedIndex
from codenav.retrieval.generations import build_lock

Notice = Callable[[str], None]


class SourceIndex:
    """The open index of one source. Satisfies `protocols.Index`."""

    def __init__(self, source: Source, store: EmbeddedIndex, python: Interpreter) -> None:
        self.source = source
        self.python = python
        self.report: BuildReport | None = None
        """How the last build went; None where the index was only opened."""
        self._store = store

    def search(self, query: str, *, kinds: Collection[BlockKind] | None = None, limit: int = 100) -> SearchResult:
        """Blocks that match a query, best first. See `protocols.Index.search`."""
        return self._store.search(query, kinds=kinds, limit=limit)

    def get(self, id: str) -> CodeBlock | None:
        """The block with that id."""
        return self._store.get(id)

    def blocks(self) -> Iterator[CodeBlock]:
        """Every block, by path and first line."""
        return self._store.blocks()

    def stats(self) -> IndexStats:
        """What the index holds, and how the build went by which it was opened."""
        stats, report = self._store.stats(), self.report
        if report is None:
            return stats
        return replace(stats, reused_files=report.reused_files, seconds=report.seconds, skipped=report.skipped)

    def close(self) -> None:
        """Release files; safe to call twice."""
        self._store.close()

    def __enter__(self) -> SourceIndex:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        stats = self.stats()
        return f"<SourceIndex {self.source.name}: {stats.files} files, {stats.blocks} blocks>"


On = str | Path | SourceIndex
"""A code base: a source as typed on the command line, or an open index."""


def listed(on: On | Sequence[On]) -> list[On]:
    """One code base or several, as a list without repetitions.

    Raises:
        UsageError: none was named.
    """
    named = [on] if isinstance(on, str | Path | SourceIndex) else list(on)
    if not named:
        raise UsageError("no code base was named", hint="pass --on PATH or --on pkg:NAME")
    return list(dict.fromkeys(named))


def as_index(indexes: Sequence[SourceIndex]) -> Index:
    """One index, or several as one."""
    return indexes[0] if len(indexes) == 1 else CombinedIndex(indexes)


def import_paths_of(indexes: Sequence[SourceIndex]) -> list[Path]:
    """What must be importable where code runs."""
    return list(dict.fromkeys(path for index in indexes for path in index.source.import_paths))


def open_index(
    spec: str | Path,
    *,
    python: Interpreter,
    refresh: bool = True,
    progress: Callable[[Progress], None] | None = None,
    notice: Notice | None = None,
    wait: bool = False,
) -> SourceIndex:
    """The index of a source, built on first use and brought up to date where `refresh` is set.

    A build of the same index that runs in another process is waited for where `wait` is set or where there is no
    state to answer from; else the old state answers, and `notice` is told so.

    Raises:
        NotFound: no such source, or not `refresh` and never indexed.
        UsageError: the source holds nothing that can be indexed.
        StorageFull: the index cannot be written; an older state stays.
    """
    tell = notice or (lambda text: None)
    source = resolve(str(spec), python)
    folder = indexes_dir() / source.key
    store = EmbeddedIndex(folder, source=source.name)
    index = SourceIndex(source, store, python)
    if not refresh:
        if not store.exists:
            raise NotFound(store.notice or f"{spec} has not been indexed", hint=f"codenav index {spec}")
        return index
    if store.notice:
        tell(store.notice)
    with build_lock(folder, wait=False) as free:
        if free:
            index.report = build(source, store, progress=progress)
            return index
    if store.exists and not wait:
        tell(f"another process is building the index of {source.name}: answering from the state before it")
        return index
    tell(f"another process is building the index of {source.name}: waiting for it")
    with build_lock(folder, wait=True):
        index.report = build(source, store, progress=progress)
    return index


def stored_index(spec: str | Path, *, python: str | Path | None = None) -> StoredIndex:
    """What the catalogue says of the index of a source.

    A source that is gone itself (a deleted folder, an uninstalled package) is found by the name that
    `codenav sources list` shows, a package also without its version.

    Raises:
        NotFound: there is no such index.
    """
    entries = list_indexes(indexes_dir())
    named = [entry for entry in entries if str(spec) in (entry.source, entry.key)]
    try:
        key = resolve(str(spec), find_interpreter(python or load_config().python or None)).key
        named = [entry for entry in entries if entry.key == key] or named
    except UsageError as error:
        named = named or [entry for entry in entries if entry.source.startswith(f"{spec}@")]
        if not named:
            raise error from None
    if not named:
        raise NotFound(f"{spec} has not been indexed", hint=f"codenav index {spec}")
    return named[-1]


def remove_index(spec: str | Path, *, python: str | Path | None = None) -> str:
    """Remove the index of a source; returns the source's name. The source is found as by `stored_index`.

    Raises:
        NotFound: there is no such index.
        IndexUnavailable: another process is building it.
    """
    entry = stored_index(spec, python=python)
    catalog.remove_index(indexes_dir(), entry.key)
    return entry.source
