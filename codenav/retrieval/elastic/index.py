"""An index in Elasticsearch, as its users see it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

from codenav.core.blocks import BlockKind, Change, CodeBlock, FileState, Frequencies, IndexStats, SearchResult
from codenav.core.errors import IndexUnavailable
from codenav.retrieval import planning, reranking
from codenav.retrieval.builds import FileEntry
from codenav.retrieval.combined import scaled_plan
from codenav.retrieval.elastic.build import Build
from codenav.retrieval.elastic.connection import Connection
from codenav.retrieval.elastic.indices import Current, Indices
from codenav.retrieval.elastic.lines import pack
from codenav.retrieval.elastic.locks import Lock
from codenav.retrieval.elastic.reader import FIRST_TEXTS, IndexReplaced, Reader

STORE = "elasticsearch"
_Result = TypeVar("_Result")
WriteLock = Callable[[], AbstractContextManager[Lock | None]]


class ElasticsearchIndex:
    """Blocks of one source behind an alias of a cluster.

    It shows the state that was current when it was opened, or its own last one. That is kept over one more build;
    after the second one the newest state answers.
    """

    def __init__(
        self, connection: Connection, indices: Indices, *, source: str, lock: WriteLock, near: bool = True
    ) -> None:
        """`near`: words are also compared by meaning."""
        self._near = near
        self.source = source
        self.notice = ""
        """A notice for the user of this index; empty where there is nothing to know."""
        self._connection, self._indices, self._write_lock = connection, indices, lock
        self._lock = threading.Lock()
        self._closed = False
        self._reader: Reader | None = None
        self._stats = IndexStats(source, STORE)
        self._files: dict[str, FileEntry] | None = None
        self._load()

    pack = staticmethod(pack)

    def __repr__(self) -> str:
        return f"ElasticsearchIndex({self._indices.alias!r}, source={self.source!r})"

    @property
    def exists(self) -> bool:
        """True if there is a state to search."""
        return self._reader is not None

    def search(
        self,
        query: str,
        *,
        kinds: Collection[BlockKind] | None = None,
        limit: int = 100,
        frequencies: Frequencies | None = None,
    ) -> SearchResult:
        """The blocks that match a query, best first; equal scores by path, first line and id.

        `frequencies`: see `protocols.ScaledIndex.search`.

        Raises:
            QueryTooLarge: the query has over 64 KB.
            IndexUnavailable: the index was closed, or the cluster does not answer.
        """
        asked = planning.understand(query, kinds, near=self._near)
        first = reranking.WINDOW if asked.again else FIRST_TEXTS

        def find(count: int) -> reranking.FoundHits:
            def ask(reader: Reader) -> reranking.FoundHits:
                what = asked.plan
                if frequencies:
                    what = scaled_plan(what, reader.frequencies(asked.terms), frequencies)
                found = reader.search(what, count, described=asked.described)
                return reader.hits(found, asked.read.tree, self._texts, first=first), found.total, found.notes

            return self._read(ask, reranking.NONE)

        return reranking.search_result(query, asked, limit, near=self._near, find=find)

    def frequencies(self, query: str) -> Frequencies:
        """The statistics by which the words of a query are scored. Raises as `search`."""
        terms = planning.understand(query, near=self._near).terms
        return self._read(lambda reader: reader.frequencies(terms), Frequencies(0, {}, {}))

    def get(self, id: str) -> CodeBlock | None:
        """The block with that id. Raises as `search`."""
        return self._texts([id]).get(id)

    def blocks(self) -> Iterator[CodeBlock]:
        """Every block, by path and first line.

        Raises:
            IndexUnavailable: the cluster does not answer, or the index was replaced before the last block was read.
        """
        none: Iterator[CodeBlock] = iter(())
        try:
            yield from self._read(_all, none)
        except IndexReplaced as error:
            raise IndexUnavailable(
                f"the index of {self.source} was rebuilt while it was read", hint="read it again"
            ) from error

    def stats(self) -> IndexStats:
        """The contents of the index in numbers, and the facts of its last build."""
        return self._stats

    def files(self) -> Mapping[str, FileState]:
        """The state of each file as the index remembers it. Raises as `search`."""
        return {path: entry.state for path, entry in self._entries().items()}

    def close(self) -> None:
        """Answer nothing any more; the connection belongs to the store."""
        self._closed = True

    def apply(
        self, changes: Iterable[Change], *, versions: Mapping[str, str] | None = None, started: float | None = None
    ) -> None:
        """Replace and remove blocks per file, atomically. See `protocols.WritableIndex.apply`.

        Raises:
            StorageFull: a disk of the cluster is full.
            IndexUnavailable: the cluster does not answer, refuses us, or another process took over.
        """
        started = time.monotonic() if started is None else started
        self._open()
        with self._write_lock() as lock:
            old = self._load()
            self._indices.sweep()
            build = Build(
                self._connection, self._indices, source=self.source, old=old, stats=self._stats, files=self._entries()
            )
            try:
                for change in changes:
                    build.take(change)
                fresh, stats = build.finish(versions=versions, started=started, lock=lock)
            except BaseException:
                build.abandon()
                raise
        self.notice = ""
        with self._lock:
            if fresh:
                self._reader = Reader(self._connection, fresh)
            self._stats, self._files = stats, build.files

    def _texts(self, ids: Sequence[str]) -> dict[str, CodeBlock]:
        return self._read(lambda reader: reader.load(ids), {})

    def _entries(self) -> dict[str, FileEntry]:
        if self._files is None:
            nothing: dict[str, FileEntry] = {}
            self._files = self._read(lambda reader: reader.files(), nothing)
        return self._files

    def _open(self) -> Reader | None:
        if self._closed:
            raise IndexUnavailable(f"the index of {self.source} was closed", hint="open it again")
        return self._reader

    def _read(self, ask: Callable[[Reader], _Result], nothing: _Result) -> _Result:
        """Ask the current index, or the one that replaced it meanwhile."""
        for _ in range(10):
            reader = self._open()
            if reader is None:
                return nothing
            try:
                return ask(reader)
            except IndexReplaced:
                self._load()
        raise IndexUnavailable(f"the index of {self.source} changes faster than it can be read", hint="try again")

    def _load(self) -> Current | None:
        """Load the index that answers now."""
        while True:
            current = self._indices.current()
            reader = Reader(self._connection, current.name) if current and current.usable else None
            try:
                stats = reader.stats() if reader else IndexStats(self.source, STORE)
            except IndexReplaced:
                continue
            with self._lock:
                if reader is None or self._reader is None or reader.index != self._reader.index:
                    self._reader, self._stats, self._files = reader, stats, None
            if current and not current.usable:
                self.notice = f"the index of {self.source} is built anew: it was made by another version of codenav"
            return current


def _all(reader: Reader) -> Iterator[CodeBlock]:
    reader.check()
    return reader.blocks()
