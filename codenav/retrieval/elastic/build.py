"""The build of an index: a copy of it is changed, and takes its place when it is complete."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from datetime import UTC, datetime

from codenav.core.blocks import Change, FileRemoval, FileSkip, IndexStats, Packed
from codenav.retrieval.builds import FileEntry, with_counts
from codenav.retrieval.elastic import lines
from codenav.retrieval.elastic.bulk import Sender
from codenav.retrieval.elastic.connection import Connection
from codenav.retrieval.elastic.indices import Current, Indices
from codenav.retrieval.elastic.lines import pack, removals
from codenav.retrieval.elastic.locks import Lock


class Build:
    """The work of one call of `apply`. Nothing is copied before the first change."""

    def __init__(
        self,
        connection: Connection,
        indices: Indices,
        *,
        source: str,
        old: Current | None,
        stats: IndexStats,
        files: Mapping[str, FileEntry],
    ) -> None:
        self._connection, self._indices, self._source = connection, indices, source
        self._old = old
        self._before = stats
        self._base = old if old and old.usable else None
        """The index that is copied: one of another format is not."""
        self._known = dict(files)
        self.files = dict(files)
        self._skips: list[FileSkip] = []
        self._dirty: set[str] = set()
        self._parsed: set[str] = set()
        self._sender: Sender | None = None
        self._fresh: str | None = None

    def take(self, change: Change) -> None:
        """Carry out one change."""
        if isinstance(change, FileSkip):
            self._skips.append(change)
            return
        known = self.files.get(change.path)
        if isinstance(change, FileRemoval):
            if known:
                self._replace(change.path, None, b"")
        elif change.blocks is None and known:
            self._dirty.add(change.path)
            self.files[change.path] = dataclasses.replace(known, state=change.state)
        else:
            packed = change.blocks if isinstance(change.blocks, Packed) else pack(change.blocks or ())
            self._replace(change.path, FileEntry(change.state, packed.kinds, packed.languages), packed.content)
            self._parsed.add(change.path)

    def finish(
        self, *, versions: Mapping[str, str] | None, started: float, lock: Lock | None
    ) -> tuple[str | None, IndexStats]:
        """Publish, unless nothing changed. Return the new index, if there is one, and the statistics."""
        before = self._before
        stats = dataclasses.replace(
            before,
            source=self._source,
            versions=dict(versions) if versions is not None else before.versions,
            skipped=tuple(self._skips),
            reused_files=sum(path not in self._parsed for path in self.files),
        )
        dirty = {path for path in self._dirty if self.files.get(path) != self._known.get(path)}
        changed = bool(dirty or self._parsed) or self._base is None or (
            (stats.skipped, dict(stats.versions), stats.source)
            != (before.skipped, dict(before.versions), before.source)
        )  # fmt: skip
        if not changed:
            self.abandon()
            return None, dataclasses.replace(stats, seconds=time.monotonic() - started)
        sender = self._write()
        # All of it, changed or not: one that stayed where it was would keep a segment whose blocks are all deleted, and
        # they would count in BM25 for longer than in the embedded engine.
        for part in lines.file_lines(self.files, self._dirty):
            sender.add(part)
        sender.add(lines.skip_lines(self._skips, len(before.skipped)))
        content = bool(self._parsed or self.files.keys() != self._known.keys())
        built = datetime.now(UTC).isoformat(timespec="seconds") if content or not before.built else before.built
        stats = dataclasses.replace(with_counts(self.files.values(), stats), built=built)
        stats = dataclasses.replace(stats, seconds=time.monotonic() - started)
        sender.add(lines.header_lines(stats))
        sender.drain()
        sender.close()
        if lock:
            lock.check()
        fresh = self._fresh or ""
        self._indices.publish(fresh, self._old, blocks=stats.blocks, first=self._base is None)
        self._fresh = None
        return fresh, stats

    def abandon(self) -> None:
        """Leave the old state, and remove what was written."""
        if self._sender:
            self._sender.close()
        if self._fresh:
            self._indices.abandon(self._fresh)

    def _replace(self, path: str, entry: FileEntry | None, documents: bytes) -> None:
        sender = self._write()
        if path in self._dirty or path in self._parsed:
            # A path that comes twice in one build: requests that are on their way at the same time have no order.
            sender.drain()
        known = self.files.get(path)
        if documents:
            sender.add(documents)
        left = entry.blocks if entry else 0
        if known and known.blocks > left:
            sender.add(removals(path, left, known.blocks))
        self._dirty.add(path)
        if entry:
            self.files[path] = entry
        else:
            del self.files[path]

    def _write(self) -> Sender:
        if self._sender is None:
            indices = self._indices
            self._fresh = indices.clone(self._base) if self._base else indices.create(self._source)
            self._sender = Sender(self._connection, indices.building)
        return self._sender
