"""Things that a process shares with its frozen twin: noted before the fork, put right as far as can be when it wakes.

A twin that wakes finds its files read on, its databases written to by another process, its threads and children gone.
What cannot be put right it names by kind, with the letters of `guest_notice.KINDS`.
"""

from __future__ import annotations

import functools
import os
import stat
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import guest_revived
from guest_describe import guarded

_SQLITE = b"SQLite format 3\0"
_BESIDE = ("-journal", "-wal", "-shm")
_fstat, _lseek = os.fstat, os.lseek


class File(NamedTuple):
    """An open file or folder, as it was."""

    position: int
    size: int
    changed: int


class Outside:
    """The shared things at the moment of a fork. Descriptors of the guest itself are its `own`, which are left out."""

    def __init__(self, own: Iterable[int]) -> None:
        self._pid = os.getpid()
        shuffled = sys.modules.get("random")
        self._random = guarded(shuffled.getstate) if shuffled else None
        self._files: dict[int, File] = {}
        self._connections: set[int] = set()
        self._threads = len(sys._current_frames()) > 1
        self._children = _has_children(several=self._threads)
        self._look(set(own))

    def _look(self, own: set[int]) -> None:
        for name in os.listdir("/proc/self/fd"):
            number = int(name)
            if number <= 2 or number in own:
                continue
            try:
                found = _fstat(number)
                kind = stat.S_IFMT(found.st_mode)
                if kind in (stat.S_IFREG, stat.S_IFDIR):
                    self._files[number] = File(_lseek(number, 0, os.SEEK_CUR), found.st_size, found.st_mtime_ns)
                elif kind in (stat.S_IFIFO, stat.S_IFSOCK) and not guest_revived.is_dead(found.st_ino):
                    self._connections.add(number)
            except OSError:
                continue

    # In the twin, when it wakes

    def put_right(self, space: dict[str, Any]) -> str:
        """Bring back what can be, and return the kinds of what cannot, as letters of `guest_notice.KINDS`."""
        kinds: set[str] = set()
        if self._random is not None:
            # Python seeds it anew in every forked process.
            guarded(lambda: sys.modules["random"].setstate(self._random))
        found = guest_revived.Found(space, threads=self._threads, children=self._children)
        self._guard(kinds, lambda: self._close_databases(kinds, found))
        for number in self._files:
            self._guard(kinds, functools.partial(self._put_back, kinds, number))
        self._guard(kinds, lambda: self._revive(kinds, found))
        return "".join(sorted(kinds))

    @staticmethod
    def _guard(kinds: set[str], work: Callable[[], None]) -> None:
        """Do some work without failing: hostile and odd objects must not keep a twin from waking."""
        try:
            work()
        except BaseException:
            kinds.add("q")

    def _put_back(self, kinds: set[str], number: int) -> None:
        try:
            before, now = self._files[number], _fstat(number)
        except OSError:
            # The file was of a database, which has closed it.
            return
        position = _lseek(number, 0, os.SEEK_CUR)
        if position != before.position:
            _lseek(number, before.position, os.SEEK_SET)
        if not stat.S_ISREG(now.st_mode):
            return
        if now.st_size > before.size and position > before.size and _is_written(number):
            # The text that a writer has buffered goes where it belongs, and no rest of longer text stays behind it.
            os.ftruncate(number, before.size)
            kinds.add("x")
        elif now.st_size != before.size or now.st_mtime_ns != before.changed:
            kinds.add("f")

    def _close_databases(self, kinds: set[str], found: guest_revived.Found) -> None:
        """Close SQLite, which does not survive a fork: its cache is not what the file holds, and its locks are gone.

        Its files are taken away from it before it is closed: it must neither commit, nor roll back, nor remove what
        the next one that opens the file needs for that.
        """
        if "_sqlite3" not in sys.modules:
            return
        closing = guest_revived.connections(found)
        paths = {path + end for _, path in closing for end in ("", *_BESIDE)}
        taken = []
        for number in self._files:
            path, deleted = os.readlink(f"/proc/self/fd/{number}"), " (deleted)"
            path = path[: -len(deleted)] if path.endswith(deleted) else path
            if (
                path in paths
                or path.endswith(_BESIDE)
                or guarded(functools.partial(os.pread, number, 16, 0)) == _SQLITE
            ):
                taken.append(number)
        guest_revived.replace_by_dead(taken)
        for number in taken:
            del self._files[number]
        guest_revived.close_connections(closing, found)
        if taken or closing:
            kinds.add("b")

    def _revive(self, kinds: set[str], found: guest_revived.Found) -> None:
        revived = guest_revived.Revived(self._pid, found)
        for kind, there in (
            ("t", self._threads),
            ("c", self._children),
            ("n", self._connections - revived.descriptors),
            ("e", revived.broken),
            ("m", _shares_memory()),
        ):
            if there:
                kinds.add(kind)


def _has_children(*, several: bool) -> bool:
    """True if user code has children, or the kernel does not say. With `several`, those of all threads."""
    for task in os.listdir("/proc/self/task") if several else [str(os.getpid())]:
        try:
            with open(f"/proc/self/task/{task}/children", "rb", buffering=0) as file:
                if file.read(1):
                    return True
        except OSError:
            return True
    return False


def _shares_memory() -> bool:
    """True if memory is written to for other processes too, but for semaphores, and SQLite's of a database in WAL mode."""
    with open("/proc/self/maps", "rb") as file:
        shared = [line.rstrip() for line in file if b" rw-s " in line]
    return any(b"/dev/shm/sem." not in line and not line.endswith(b"-shm") for line in shared)


def _is_written(number: int) -> bool:
    """True if a descriptor is open for writing."""
    with open(f"/proc/self/fdinfo/{number}", "rb") as file:
        for line in file:
            if line.startswith(b"flags:"):
                return bool(int(line.split()[1], 8) & os.O_ACCMODE)
    return False
