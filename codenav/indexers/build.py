"""Incremental builds of an index: unchanged files are not read or parsed again."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from codenav.core.blocks import Change, FileChange, FileRemoval, FileSkip, FileState
from codenav.core.errors import CodeNavError, MissingExtra, UsageError
from codenav.core.protocols import WritableIndex
from codenav.indexers.code_blocks import NO_PARSER
from codenav.indexers.place import Place
from codenav.indexers.public_names import places_in
from codenav.indexers.read import Reading, Task
from codenav.indexers.sources import Source
from codenav.indexers.walk import Found
from codenav.indexers.workers import readings

RACY_SECONDS = 2.0
"""A file changed later than this long before a build is compared by content in the next one: two writes may have the
same time. 2 s is the coarsest clock of a file system in use (FAT)."""

TICK_SECONDS = 0.02
"""The same for the time that only the kernel sets, at its own ticks (CONFIG_HZ: 100 to 1000 a second)."""

UNSETTLED = -1
"""The time saved for such a file: it matches no file, so the real time is saved once that is old enough."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a build, in files."""

    done: int
    total: int
    path: str
    """The file just done, relative to the root of the source; empty for the files that were reused."""


@dataclass(frozen=True)
class BuildReport:
    """The report of a build."""

    files: int
    """Files in the index afterwards."""
    reused_files: int
    """Files that were not parsed again."""
    skipped: tuple[FileSkip, ...]
    """Files that were left out or cut, with reasons."""
    seconds: float


def build(
    source: Source,
    index: WritableIndex,
    *,
    progress: Callable[[Progress], None] | None = None,
    jobs: int | None = None,
    rebuild: bool = False,
) -> BuildReport:
    """Bring `index` up to date with `source`.

    A file with the same size, times, inode and name to import it by is not read. One with the same content and name is
    not parsed; only its state is saved. The rest is parsed by `jobs` processes (None: one
    per processor if there are many files, else none). Files that are gone or now left out are removed from the index.
    If nothing changed, nothing is written to the index. `rebuild`: every file is read and parsed, whatever the index
    says.

    Raises:
        UsageError: the source has no file that can be indexed, and the index has none to remove.
        MissingExtra: the same, and there are files in a language whose parser is not installed.
        StorageFull: the index cannot be written; its old state stays.
    """
    started = time.monotonic()
    run = _Run(source, index, progress, rebuild)
    with readings(run.tasks, pack=index.pack, jobs=jobs) as stream:
        changes = run.changes(stream)
        first = next(changes, None)
        if first is None and not run.known:
            raise _nothing(source, run.skips)
        if first is not None:
            index.apply(chain((first,), changes, run.all_skips()), versions=source.versions, started=started)
        elif set(run.skips) != set(run.earlier):
            index.apply(run.all_skips(), versions=source.versions, started=started)
    return BuildReport(
        files=len(index.files()),
        reused_files=run.reused,
        skipped=tuple(run.skips),
        seconds=time.monotonic() - started,
    )


class _Run:
    """A single build: the files to read, and the results so far."""

    def __init__(
        self, source: Source, index: WritableIndex, progress: Callable[[Progress], None] | None, rebuild: bool
    ) -> None:
        self._source = source
        self._progress = progress or (lambda step: None)
        self._rebuild = rebuild
        self.known = index.files()
        self.earlier = index.stats().skipped
        self._reasons = {skip.path: skip for skip in self.earlier}
        self.skips: list[FileSkip] = []
        self.tasks: list[Task] = []
        self.reused = 0
        self._settled_ns = time.time_ns() - int(RACY_SECONDS * 1e9)
        self._ticked_ns = time.time_ns() - int(TICK_SECONDS * 1e9)
        self._gone = self._plan()

    def _plan(self) -> set[str]:
        """Sort the source's files into those to skip, to reuse and to read; return the paths that are gone."""
        every = list(self._source.files())
        self.skips += [found for found in every if isinstance(found, FileSkip)]
        files = [(found, self._place(found)) for found in every if isinstance(found, Found)]
        gone = set(self.known) - {found.path for found, _ in files}
        same = not gone and all(self._is_same(found, place) for found, place in files)
        # If any file is new, others may be offered by another name.
        named = None if same else places_in(files)
        for found, place in files:
            state = None if self._rebuild else self.known.get(found.path)
            if named is not None:
                place = named[found.path]
                if state and (state.module, state.public) != (place.module, place.public_digest):
                    state = None
            if state and self._is_same(found, place):
                self._reuse(found.path)
                continue
            self.tasks.append(Task(found, place, state.digest if state else ""))
        return gone

    def _place(self, found: Found) -> Place:
        return Place(self._source.name_of(found.path), found.path, self._source.module_of(found.path))

    def _is_same(self, found: Found, place: Place) -> bool:
        """True for a file that need not be read: it looks as it did, and is imported by the same name."""
        state = None if self._rebuild else self.known.get(found.path)
        known = state and (state.size, state.mtime_ns, state.ctime_ns, state.inode) == found.look
        return bool(known and state and state.module == place.module)

    def _reuse(self, path: str) -> None:
        self.reused += 1
        if path in self._reasons:
            self.skips.append(self._reasons[path])

    def changes(self, stream: Iterator[Reading]) -> Iterator[Change]:
        """The changes to apply to the index, made as the files are read. `all_skips` completes them."""
        for path in sorted(self._gone):
            yield FileRemoval(path)
        done, total = self.reused, self.reused + len(self.tasks)
        self._progress(Progress(done, total, ""))
        for reading in stream:
            yield from self._change(reading)
            done += 1
            self._progress(Progress(done, total, reading.path))

    def _change(self, reading: Reading) -> Iterator[Change]:
        if reading.reason:
            self.skips.append(FileSkip(reading.path, reading.reason))
        known = self.known.get(reading.path)
        if reading.state is None:
            if known is not None:
                yield FileRemoval(reading.path)
            return
        state = self._settled_state(reading.state)
        if reading.blocks is None:
            self._reuse(reading.path)
        if reading.blocks is not None or state != known:
            yield FileChange(reading.path, state, reading.blocks)

    def _settled_state(self, state: FileState) -> FileState:
        settled = state.mtime_ns < self._settled_ns and state.ctime_ns < self._ticked_ns
        return state if settled else replace(state, mtime_ns=UNSETTLED)

    def all_skips(self) -> Iterator[FileSkip]:
        """The files that were left out or cut; complete only after `changes` has been consumed."""
        yield from self.skips


def _nothing(source: Source, skips: list[FileSkip]) -> CodeNavError:
    if source.tools:
        return UsageError(
            f"{source.name} describes no operation", hint=f"codenav tools show --on {shlex.quote(source.name)}"
        )
    missing = next((skip.reason for skip in skips if skip.reason.startswith(NO_PARSER)), "")
    if missing:
        return MissingExtra(f"the parser for {missing.removeprefix(NO_PARSER).partition(':')[0]}", "languages")
    left_out = f" ({len(skips)} left out, the first: {skips[0].path}: {skips[0].reason})" if skips else ""
    return UsageError(
        f"nothing to index in {source.spec}: it holds no source code and no document{left_out}",
        hint="name a folder, file, installed package or repository with files of a type in docs/indexing.md",
    )
