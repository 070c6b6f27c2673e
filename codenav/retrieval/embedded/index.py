"""The embedded index, which needs no server: tantivy files in a folder."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from codenav.core.blocks import (
    BlockKind,
    Change,
    CodeBlock,
    FileChange,
    FileRemoval,
    FileSkip,
    FileState,
    Frequencies,
    IndexStats,
    Packed,
    SearchResult,
)
from codenav.core.errors import IndexUnavailable
from codenav.retrieval import builds, planning, reranking
from codenav.retrieval.builds import FileEntry
from codenav.retrieval.combined import scaled_plan
from codenav.retrieval.embedded import engine, generations, rows
from codenav.retrieval.embedded.generations import Manifest


class EmbeddedIndex:
    """The index of one source in a folder. It shows the state that was current when it was opened, or its own last one.

    An index that is damaged or in another format counts as absent, and `notice` says so: a build rewrites it.
    """

    def __init__(self, folder: Path, *, source: str, near: bool = True) -> None:
        """`near`: words are also compared by meaning."""
        self._near = near
        self.folder = folder
        self.source = source
        self.notice = ""
        """A notice for the user about this index, or ""."""
        self._lock = threading.Lock()
        self._reader: engine.Reader | None = None
        self._closed = False
        self._state = self._load()

    pack = staticmethod(rows.pack)

    def __repr__(self) -> str:
        return f"EmbeddedIndex({str(self.folder)!r}, source={self.source!r})"

    @property
    def exists(self) -> bool:
        """True if the index has a state to search."""
        return self._state is not None

    def search(
        self,
        query: str,
        *,
        kinds: Collection[BlockKind] | None = None,
        limit: int = 100,
        frequencies: Frequencies | None = None,
    ) -> SearchResult:
        """Blocks that match a query, best first; equal scores by path, first line and id.

        `frequencies`: see `protocols.ScaledIndex.search`.

        Raises:
            QueryTooLarge: the query has over 64 KB.
            IndexUnavailable: the index was closed, or its files are damaged.
        """
        asked = planning.understand(query, kinds, near=self._near)
        reader = self._open()

        def find(count: int) -> reranking.FoundHits:
            if reader is None:
                return reranking.NONE
            what = asked.plan
            if frequencies:
                what = scaled_plan(what, reader.frequencies(asked.terms), frequencies)
            ranking = reader.search(what, count, described=asked.described)
            notes = [f"the pattern {it[:60]} is too big for this index and matched nothing" for it in ranking.refused]
            return reader.hits(ranking.found, asked.read.tree), ranking.total, notes

        with translated_damage(self.folder):
            return reranking.search_result(query, asked, limit, near=self._near, find=find)

    def frequencies(self, query: str) -> Frequencies:
        """The statistics by which the words of a query are scored. Raises as `search`."""
        reader = self._open()
        if reader is None:
            return Frequencies(0, {}, {})
        with translated_damage(self.folder):
            return reader.frequencies(planning.understand(query, near=self._near).terms)

    def get(self, id: str) -> CodeBlock | None:
        """The block with that id.

        Raises:
            IndexUnavailable: the index was closed, or its files are damaged.
        """
        reader = self._open()
        with translated_damage(self.folder):
            return reader.find(id) if reader else None

    def blocks(self) -> Iterator[CodeBlock]:
        """Every block, by path and first line.

        Raises:
            IndexUnavailable: the index was closed, or its files are damaged.
        """
        reader = self._open()
        with translated_damage(self.folder):
            yield from reader.blocks() if reader else ()

    def stats(self) -> IndexStats:
        """The statistics of the index; all zero if it does not exist."""
        return self._state[1].stats() if self._state else IndexStats(self.source, "embedded")

    def files(self) -> Mapping[str, FileState]:
        """The state of each file, as saved in the index."""
        return {path: entry.state for path, entry in self._state[1].files.items()} if self._state else {}

    def close(self) -> None:
        """Release the files; safe to call twice. Hits that were found before can still load their blocks."""
        self._closed = True
        self._reader = None

    def apply(
        self, changes: Iterable[Change], *, versions: Mapping[str, str] | None = None, started: float | None = None
    ) -> None:
        """Write a new generation beside the current one, and make it the current one.

        If `changes` raises or the process dies, the old state stays; files already written are removed, by the next
        call at the latest. If nothing changes, nothing is written; `stats` still describes this build.

        `started`: see `protocols.WritableIndex.apply`.

        Raises:
            StorageFull: no space, or no permission to write.
            IndexUnavailable: the engine's files are damaged.
        """
        started = time.monotonic() if started is None else started
        with generations.locked(self.folder, ".write.lock", wait=True):
            state = self._load()
            with generations.storing():
                generations.sweep(self.folder, state[0] if state else None, *self._previous(state))
            build = _Build(self.folder, self.source, state)
            try:
                for change in changes:
                    build.take(change)
                with generations.storing():
                    build.finish(versions=versions, started=started)
            except BaseException:
                build.abandon()
                raise
        self._reader = None
        self.notice = ""
        self._state = (build.place, build.manifest)

    def _previous(self, state: tuple[Path, Manifest] | None) -> list[Path]:
        """The generation before the current one: a reader may be about to open it."""
        older = [place for _, place in generations.generations(self.folder) if state and place.name != state[0].name]
        return [place for place in older if (place / generations.MANIFEST).exists()][-1:]

    def _load(self) -> tuple[Path, Manifest] | None:
        try:
            state = generations.current(self.folder)
            if state and state[1].engine != engine.version():
                raise generations.Unusable("it was made by another version of the search engine")
        except generations.Unusable as error:
            self.notice = f"the index of {self.source} is built anew: {error}"
            return None
        return state

    def _open(self) -> engine.Reader | None:
        with self._lock:
            if self._closed:
                raise IndexUnavailable(f"the index of {self.source} was closed", hint="open it again")
            if self._reader is None and self._state:
                self._reader = self._read()
            return self._reader

    def _read(self) -> engine.Reader | None:
        """Open the current generation, or its successor if two newer ones have replaced it meanwhile."""
        while self._state:
            place, manifest = self._state
            try:
                return engine.Reader(place, {entry.number: path for path, entry in manifest.files.items()})
            except (ValueError, OSError, IndexUnavailable) as error:
                self._state = self._load()
                if self._state and self._state[0] == place:
                    raise damaged(self.folder, error) from error
        return None


class _Build:
    """The work of one call of `apply`; nothing is copied before the first block changes."""

    def __init__(self, folder: Path, source: str, state: tuple[Path, Manifest] | None) -> None:
        self.folder = folder
        self.old = state[0] if state else None
        before = state[1] if state else Manifest(source, engine.version())
        self.manifest = dataclasses.replace(before, source=source, files=dict(before.files))
        self.before = before
        self.skipped: list[FileSkip] = []
        self.parsed: set[str] = set()
        self.writer: engine.Writer | None = None
        self.fresh: Path | None = None

    @property
    def place(self) -> Path:
        """The folder of the resulting generation."""
        place = self.fresh or self.old
        if place is None:
            raise IndexUnavailable("nothing was written")
        return place

    def take(self, change: Change) -> None:
        """Apply one change."""
        if isinstance(change, FileSkip):
            self.skipped.append(change)
            return
        known = self.manifest.files.get(change.path)
        if isinstance(change, FileRemoval):
            if known:
                self._write().remove(known.number)
                del self.manifest.files[change.path]
        elif change.blocks is None and known:
            self.manifest.files[change.path] = dataclasses.replace(known, state=change.state)
        else:
            self._replace(change, known)

    def _replace(self, change: FileChange, known: FileEntry | None) -> None:
        blocks = change.blocks or ()
        packed = blocks if isinstance(blocks, Packed) else rows.pack(blocks)
        number = self.manifest.next_number
        self.manifest.next_number += 1
        writer = self._write()
        if known:
            writer.remove(known.number)
        with generations.storing():
            writer.add(packed.content, file=number)
        self.manifest.files[change.path] = FileEntry(change.state, packed.kinds, packed.languages, number)
        self.parsed.add(change.path)

    def _write(self) -> engine.Writer:
        if self.writer is None:
            with generations.storing():
                self.fresh = generations.clone(self.old, self.folder)
                self.writer = engine.Writer(self.fresh, fresh=self.old is None)
        return self.writer

    def finish(self, *, versions: Mapping[str, str] | None, started: float) -> None:
        """Commit and publish, or do nothing if nothing changed."""
        manifest = self.manifest
        manifest.skipped = self.skipped
        manifest.versions = dict(versions) if versions is not None else manifest.versions
        if self.old is None:
            self._write()
        changed = (manifest.files, manifest.skipped, manifest.versions, manifest.source) != (
            self.before.files, self.before.skipped, self.before.versions, self.before.source,
        )  # fmt: skip
        manifest.reused = sum(path not in self.parsed for path in manifest.files)
        if self.writer:
            self.writer.commit()
            self.writer = None
            self._forget()
        manifest.seconds = time.monotonic() - started
        if self.fresh:
            manifest.built = datetime.now(UTC).isoformat(timespec="seconds")
            generations.publish(self.folder, self.place, manifest)
            generations.sweep(self.folder, self.old, self.fresh)
        elif changed:
            generations.save(self.place, manifest)

    def _forget(self) -> None:
        """Drop deleted blocks when it is time for that, by writing again what is left."""
        manifest = self.manifest
        sizes, deleted = engine.sizes(self.place)
        anew = deleted > builds.MAX_DELETED * (sum(sizes) + deleted)
        if anew or builds.crowded(sizes):
            first = 0 if anew else manifest.first_build
            again = {entry.number: path for path, entry in manifest.files.items() if entry.number >= first}
            reader = engine.Reader(self.place, again)
            if anew:
                self.fresh = generations.clone(None, self.folder)
            writer = engine.Writer(self.place, fresh=anew)
            for number in again if not anew else ():
                writer.remove(number)
            for block in reader.blocks():
                writer.add(rows.pack([block]).content, file=manifest.files[block.path].number)
            writer.commit()
        if anew or self.old is None:
            manifest.first_build = manifest.next_number

    def abandon(self) -> None:
        """Remove everything written; the old state stays."""
        self.writer = None
        with contextlib.suppress(OSError):
            generations.sweep(self.folder, self.old)


def damaged(folder: Path, error: BaseException) -> IndexUnavailable:
    """The error for files that the engine cannot read."""
    return IndexUnavailable(
        f"the index in {folder} is damaged: {str(error)[:200]}", hint="codenav sources remove SOURCE"
    )


@contextlib.contextmanager
def translated_damage(folder: Path) -> Iterator[None]:
    """Raise IndexUnavailable for any error of the engine while reading: its files are damaged.

    Raises:
        IndexUnavailable: the engine cannot read its files.
    """
    try:
        yield
    except (ValueError, OSError) as error:
        raise damaged(folder, error) from error
