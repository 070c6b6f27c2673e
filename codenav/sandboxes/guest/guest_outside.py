"""State outside private memory that a process shares with its frozen twin: noted before the fork, put right after.

A twin that wakes finds its files read on, its shared memory written to, its children killed. `Outside` notes what was
there, and `put_right` brings back what can be; of the rest it returns the kinds, a letter each.
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

SHARED_BYTES = 1 << 20
"""Maximum bytes of shared memory copied before each fork, which takes 0.1 ms."""
_MAPPED = ("mmap", "_multiprocessing", "multiprocessing.heap")
"""Modules for shared memory: where none of them is loaded, Python code has none."""
_GPUS = (195, 226)
"""Major numbers of NVIDIA's devices and of the kernel's direct rendering."""
_SQLITE = b"SQLite format 3\0"
_BESIDE = ("-journal", "-wal", "-shm")

_fstat, _lseek = os.fstat, os.lseek


class File(NamedTuple):
    """An open file or folder, as it was."""

    position: int
    size: int
    changed: int
    links: int
    lock: bytes
    """The lock of `flock`: `READ`, `WRITE` or empty."""


class Outside:
    """The shared things at the moment of a fork. Descriptors of the guest itself are its `own`, which are left out."""

    def __init__(self, own: Iterable[int]) -> None:
        self.pid = os.getpid()
        shuffled = sys.modules.get("random")
        self._random = guarded(shuffled.getstate) if shuffled else None
        self._files: dict[int, File] = {}
        self._connections: set[int] = set()
        self._events: set[int] = set()
        self._gpu = False
        self._threads = len(sys._current_frames()) > 1
        self._children = _children(several=self._threads)
        self._fcntl: Any = sys.modules.get("fcntl")
        self._locks = self._fcntl is not None and _holds_locks(self.pid)
        self._shared: list[tuple[int, bytes]] = []
        self._mapped: set[int] = set()
        """Inodes of the memory in `_shared`: files among them are brought back with it."""
        self._large = False
        self._look(set(own))
        if any(name in sys.modules for name in _MAPPED):
            self._copy_shared()

    @property
    def spared(self) -> set[int]:
        """The connections that the twin keeps open.

        A helper of `multiprocessing` takes the end of its own for the end of the session, and removes the shared memory
        that has a name.
        """
        return {helper for helper, _ in guest_revived.trackers()}

    def _look(self, own: set[int]) -> None:
        for name in os.listdir("/proc/self/fd"):
            number = int(name)
            if number <= 2 or number in own:
                continue
            try:
                found = _fstat(number)
                kind = stat.S_IFMT(found.st_mode)
                if kind in (stat.S_IFREG, stat.S_IFDIR):
                    position = _lseek(number, 0, os.SEEK_CUR)
                    lock = _lock_of(number) if self._fcntl else b""
                    self._files[number] = File(position, found.st_size, found.st_mtime_ns, found.st_nlink, lock)
                elif kind in (stat.S_IFIFO, stat.S_IFSOCK):
                    if not guest_revived.is_dead(found.st_ino):
                        self._connections.add(number)
                elif not kind:
                    self._events.add(number)
                elif kind == stat.S_IFCHR and os.major(found.st_rdev) in _GPUS:
                    self._gpu = True
            except OSError:
                continue

    def _copy_shared(self) -> None:
        found = sorted(_shared_mappings(), key=lambda one: one[1] - one[0])
        if not found:
            return
        left = SHARED_BYTES
        memory = os.open("/proc/self/mem", os.O_RDONLY)
        try:
            for start, end, inode in found:
                left -= end - start
                if left < 0:
                    self._large = True
                    return
                try:
                    self._shared.append((start, os.pread(memory, end - start, start)))
                    self._mapped.add(inode)
                except OSError:
                    continue
        finally:
            os.close(memory)

    # In the twin, when it wakes

    def put_right(self, space: dict[str, Any]) -> str:
        """Bring back what can be, and return the kinds of what cannot, as letters of `guest_notice.KINDS`."""
        kinds: set[str] = set()
        if self._random is not None:
            # Python seeds it anew in every forked process.
            guarded(lambda: sys.modules["random"].setstate(self._random))
        children = self._children is None or bool(self._children)
        found = guest_revived.Found(space, threads=self._threads, children=children)
        self._guard(kinds, lambda: self._close_databases(kinds, found))
        for number in self._files:
            self._guard(kinds, functools.partial(self._put_back, kinds, number))
        self._guard(kinds, lambda: self._write_shared(kinds))
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
        if position != before.position and _lseek(number, before.position, os.SEEK_SET) != before.position:
            kinds.add("r")
        if self._fcntl and _lock_of(number) != before.lock:
            self._lock_again(kinds, number, before.lock)
        if not stat.S_ISREG(now.st_mode):
            return
        if now.st_nlink == 0 and before.links:
            kinds.add("u")
        if now.st_size > before.size and position > before.size and _is_written(number):
            # The text that a writer has buffered goes where it belongs, and no rest of longer text stays behind it.
            os.ftruncate(number, before.size)
            kinds.add("x")
        elif now.st_size != before.size or (now.st_mtime_ns != before.changed and now.st_ino not in self._mapped):
            kinds.add("f")

    def _lock_again(self, kinds: set[str], number: int, lock: bytes) -> None:
        fcntl = self._fcntl
        wanted = {b"READ": fcntl.LOCK_SH, b"WRITE": fcntl.LOCK_EX}.get(lock, fcntl.LOCK_UN)
        try:
            fcntl.flock(number, wanted | fcntl.LOCK_NB)
        except OSError:
            kinds.add("o")

    def _write_shared(self, kinds: set[str]) -> None:
        if self._large:
            kinds.add("m")
        if not self._shared:
            return
        memory = os.open("/proc/self/mem", os.O_RDWR)
        try:
            for start, data in self._shared:
                try:
                    if os.pread(memory, len(data), start) != data:
                        os.pwrite(memory, data, start)
                except OSError:
                    kinds.add("m")
        finally:
            os.close(memory)

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
        helpers = guest_revived.trackers()
        revived = guest_revived.Revived(self.pid, self._children, found)
        connections = self._connections - revived.descriptors - {number for number, _ in helpers}
        children = self._children if self._children is None else set(self._children) - {pid for _, pid in helpers}
        guest_revived.forget_trackers()
        for kind, there in (
            ("t", self._threads),
            ("c", children is None or children),
            ("n", connections),
            ("k", self._events - revived.descriptors),
            ("e", revived.broken),
            ("g", self._gpu),
            ("l", self._locks),
        ):
            if there:
                kinds.add(kind)


def _children(*, several: bool) -> dict[int, int | None] | None:
    """The children of user code and how they ended, as `Popen.returncode`; None where the kernel does not list them."""
    found: dict[int, int | None] = {}
    tasks = os.listdir("/proc/self/task") if several else [str(os.getpid())]
    for task in tasks:
        try:
            listed = os.open(f"/proc/self/task/{task}/children", os.O_RDONLY)
        except OSError:
            return None
        try:
            pids = os.read(listed, 1 << 16).split()
        finally:
            os.close(listed)
        for pid in pids:
            found[int(pid)] = _ended(int(pid))
    return found


def _ended(pid: int) -> int | None:
    try:
        end = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except OSError:
        return None
    if end is None:
        return None
    return end.si_status if end.si_code == os.CLD_EXITED else -end.si_status


def _shared_mappings() -> list[tuple[int, int, int]]:
    """The memory that is written to for other processes too. SQLite's, of a database in WAL mode, is its own affair."""
    with open("/proc/self/maps", "rb") as file:
        data = file.read()
    found = []
    if b" rw-s " in data:
        for line in data.splitlines():
            where, rights, _, _, inode, *path = line.split(None, 5)
            name = path[0] if path else b""
            device = name.startswith(b"/dev/") and not name.startswith((b"/dev/shm/", b"/dev/zero"))
            if rights == b"rw-s" and not device and not name.endswith(b"-shm"):
                start, _, end = where.partition(b"-")
                found.append((int(start, 16), int(end, 16), int(inode)))
    return found


def _holds_locks(pid: int) -> bool:
    """True if a process has locks on files that a fork does not pass on, those of `fcntl` and `lockf`."""
    with open("/proc/locks", "rb") as file:
        return any(b" POSIX " in line and line.split()[4] == b"%d" % pid for line in file)


def _is_written(number: int) -> bool:
    """True if a descriptor is open for writing."""
    with open(f"/proc/self/fdinfo/{number}", "rb") as file:
        for line in file:
            if line.startswith(b"flags:"):
                return bool(int(line.split()[1], 8) & os.O_ACCMODE)
    return False


def _lock_of(number: int) -> bytes:
    """The lock of `flock` that an open file has."""
    with open(f"/proc/self/fdinfo/{number}", "rb") as file:
        for line in file:
            if line.startswith(b"lock:") and b" FLOCK " in line:
                return line.split()[4]
    return b""
