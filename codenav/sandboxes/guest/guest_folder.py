"""The work folder: files in from the host, changed regular files out to it. Runs in the supervisor."""

from __future__ import annotations

import binascii
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from typing import Any, Tuple

import guest_linux
from guest_frames import Message

CHUNK = 1 << 20
SKIPPED = frozenset({"__pycache__"})
MOST_FILES = 100_000
"""Maximum number of files looked at in one scan."""
SCAN_SECONDS = 2.0
MOST_FOLDERS = 100
"""Maximum number of folders above a file."""
PAGE_ITEMS = 1000
PAGE_CHARACTERS = 2 << 20
"""Maximum characters of the names in one answer; each may take six in JSON."""
MOST_REFUSALS = 20

Stamp = Tuple[int, int, int]
Item = Tuple[str, os.stat_result]
Answer = Tuple[Message, bytes]

_SHARED = re.compile(rb"^\S+ ...s \S+ \S+ ([1-9]\d*)", re.MULTILINE)
"""A line of /proc/PID/maps, see proc(5): permissions, and the inode."""
_LISTED = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_OF_REPOSITORY = frozenset({"config", "objects", "refs", "commondir"})


class Refused(Exception):
    """A file that is refused, and why."""


class WorkFolder:
    """The work folder. No operation follows a link or blocks on a FIFO; every component is opened by itself."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._known: dict[str, Stamp] = {}
        self._sums: dict[str, int] = {}
        """Checksums of the contents that the host has sent or got."""
        self._seen: dict[str, tuple[Stamp, int | None]] = {}
        """Changed files as of the last scan, with the checksums of those that are mapped."""
        self._read: dict[str, int] = {}
        """Checksums of what the host has read of them."""
        self._mapped: set[int] = set()
        """The inodes that were mapped at the last scan: they may have been written to until they no longer were."""
        self._changed: list[list[Any]] = []
        self._listing: list[list[Any]] = []
        self._refused: dict[tuple[str, str], None] = {}
        self._answers: dict[str, Callable[[Message, bytes], Answer]] = {
            "put": self._put, "changes": self._changes, "get": self._get, "list": self._list,
            "stat": self._stat, "remove": self._remove, "make": self._make,
        }  # fmt: skip

    def answer(self, message: Message, blob: bytes) -> Answer:
        """Answer a request of the host. Raises OSError, Refused."""
        known = self._answers.get(message["op"])
        if known is None:
            raise Refused("unknown request")
        return known(message, blob)

    # In

    def _put(self, message: Message, blob: bytes) -> Answer:
        """Append to a file, or begin it; it need not go back to the host."""
        name, first, executable = message["name"], message["first"], message["executable"]
        flags = os.O_WRONLY | os.O_CREAT | (0 if first else os.O_APPEND)
        descriptor = self._open(name, flags, make=True)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Refused("not a regular file")
            if first:
                os.ftruncate(descriptor, 0)
                if executable is not None:
                    os.fchmod(descriptor, 0o755 if executable else 0o644)
            view = memoryview(blob)
            while view:
                view = view[os.write(descriptor, view) :]
            self._known[name] = _stamp(os.fstat(descriptor))
            self._sums[name] = binascii.crc32(blob, 0 if first else self._sums.get(name, 0))
        finally:
            os.close(descriptor)
        return {"op": "done"}, b""

    # Out

    def _changes(self, message: Message, blob: bytes) -> Answer:
        """A page of the new or changed regular files, the smallest first, and what is refused, with the reason.

        A file stays among them until the host has `settled` it.
        """
        self._settle(message["settled"])
        refused: list[tuple[str, str]] = []
        unseen: list[tuple[str, str]] = []
        if message["from"] == 0:
            refused, unseen = self._look(frozenset(message["left"]))
        more = sum(max(0, len(items) - MOST_REFUSALS) for items in (refused, unseen))
        page = _page(self._changed, message["from"])
        found = {"op": "changes", "files": page, "total": len(self._changed)}
        return {**found, "refused": refused[:MOST_REFUSALS], "unseen": unseen[:MOST_REFUSALS], "more": more}, b""

    def _look(self, left: frozenset[str]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Scan for changed files; return what is refused since this scan, and what could not be looked into."""
        refused: list[tuple[str, str]] = []
        troubles: list[tuple[str, str]] = []
        changed, self._seen, self._read = [], {}, {}
        now: set[int] | None = None
        for name, info in self._scan("", left=left, refused=refused, troubles=troubles):
            if stat.S_ISREG(info.st_mode):
                now = _mapped() if now is None else now
                stamp = _stamp(info)
                found = self._checksum(name) if info.st_ino in now or info.st_ino in self._mapped else None
                if self._known.get(name) != stamp or (found is not None and found != self._sums.get(name)):
                    self._seen[name] = stamp, found
                    changed.append([name, info.st_size])
            elif not stat.S_ISDIR(info.st_mode):
                refused.append((name, "a symbolic link" if stat.S_ISLNK(info.st_mode) else "not a regular file"))
        self._changed = sorted(changed, key=lambda item: (item[1], item[0]))
        self._mapped = now or set()
        fresh = [item for item in refused if item not in self._refused]
        self._refused = dict.fromkeys(refused)
        return sorted(fresh), troubles

    def _checksum(self, name: str) -> int | None:
        found = 0
        try:
            descriptor = self._open(name, os.O_RDONLY)
            with os.fdopen(descriptor, "rb", buffering=0) as file:
                data = file.read(CHUNK)
                while data:
                    found = binascii.crc32(data, found)
                    data = file.read(CHUNK)
        except OSError:
            return None
        return found

    def _settle(self, names: list[str]) -> None:
        for name in names:
            seen = self._seen.pop(name, None)
            if seen is not None:
                self._known[name], found = seen
                self._sums[name] = self._read.pop(name, 0) if found is None else found

    def _get(self, message: Message, blob: bytes) -> Answer:
        """A piece of a file; `last` for the last one."""
        self._settle(message["settled"])
        offset = message["offset"]
        descriptor = self._open(message["name"], os.O_RDONLY)
        try:
            info = os.fstat(descriptor)
            if not stat.S_ISREG(info.st_mode):
                raise Refused("not a regular file")
            data = os.pread(descriptor, CHUNK, offset)
        finally:
            os.close(descriptor)
        if message["name"] in self._seen:
            self._read[message["name"]] = binascii.crc32(data, self._read.get(message["name"], 0) if offset else 0)
        last = offset + len(data) >= info.st_size or not data
        return {"op": "data", "last": last, "executable": bool(info.st_mode & stat.S_IXUSR)}, data

    # Requests of the host's user

    def _list(self, message: Message, blob: bytes) -> Answer:
        """A page of what is in a folder, or below it."""
        if message["from"] == 0:
            troubles: list[tuple[str, str]] = []
            os.close(self._open_folder(message["folder"]))
            found = list(self._scan(message["folder"], deep=message["deep"], troubles=troubles))
            if any(why == _TOO_MANY for _, why in troubles):
                raise Refused("there are too many files in it")
            self._listing = sorted(_entry(name, info) for name, info in found)
        return {"op": "list", "entries": _page(self._listing, message["from"]), "total": len(self._listing)}, b""

    def _stat(self, message: Message, blob: bytes) -> Answer:
        above, _, last = message["name"].rpartition("/")
        folder = self._open_folder(above)
        try:
            info = os.stat(last or ".", dir_fd=folder, follow_symlinks=False)
        finally:
            os.close(folder)
        return {"op": "stat", "entries": [_entry(message["name"], info)]}, b""

    def _make(self, message: Message, blob: bytes) -> Answer:
        os.close(self._open_folder(message["name"], make=True))
        return {"op": "done"}, b""

    def _remove(self, message: Message, blob: bytes) -> Answer:
        """Remove a file, or a folder with all that is in it."""
        folders = [message["name"]]
        if not stat.S_ISDIR(self._stat(message, b"")[0]["entries"][0][-1]):
            self._unlink(folders.pop(), os.unlink)
        for folder in folders:
            troubles: list[tuple[str, str]] = []
            for name, info in self._scan(folder, deep=False, troubles=troubles):
                if stat.S_ISDIR(info.st_mode):
                    folders.append(name)
                else:
                    self._unlink(name, os.unlink)
            if troubles:
                raise Refused(f"{troubles[0][0]}: {troubles[0][1]}")
        for folder in reversed(folders):
            self._unlink(folder, os.rmdir)
        return {"op": "done"}, b""

    def _unlink(self, name: str, remove: Callable[..., None]) -> None:
        above, _, last = name.rpartition("/")
        folder = self._open_folder(above)
        try:
            remove(last, dir_fd=folder)
        finally:
            os.close(folder)

    # Below

    def _open(self, name: str, flags: int, make: bool = False) -> int:
        above, _, last = name.rpartition("/")
        folder = self._open_folder(above, make)
        try:
            return os.open(last, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644, dir_fd=folder)
        finally:
            os.close(folder)

    def _open_folder(self, name: str, make: bool = False) -> int:
        at = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY)
        for part in name.split("/") if name else ():
            try:
                if make:
                    _make_folder(part, at)
                below = os.open(part, _LISTED, dir_fd=at)
            finally:
                os.close(at)
            at = below
        return at

    def _scan(
        self,
        top: str,
        *,
        troubles: list[tuple[str, str]],
        deep: bool = True,
        left: frozenset[str] = frozenset(),
        refused: list[tuple[str, str]] | None = None,
    ) -> Iterator[Item]:
        """The entries of a folder; with `deep`, of all folders below it too.

        `troubles` gets what was not looked into. Where `refused` is given, repositories and the names in `left` are
        left out and go there.
        """
        until, seen, folders = time.monotonic() + SCAN_SECONDS, 0, [top]
        while folders:
            folder = folders.pop()
            try:
                at = self._open_folder(folder)
                try:
                    names = os.listdir(at)
                    if refused is not None and folder and _looks_like_repository(names):
                        refused.append((folder, "a git repository does not leave the sandbox"))
                        continue
                    for name in names:
                        seen += 1
                        if seen > MOST_FILES or time.monotonic() > until:
                            troubles.append((folder or ".", _TOO_MANY))
                            return
                        path = f"{folder}/{name}" if folder else name
                        try:
                            info = os.stat(name, dir_fd=at, follow_symlinks=False)
                        except FileNotFoundError:
                            continue
                        if refused is not None and name.rstrip(". ").lower() in left:
                            refused.append((path, "what belongs to version control does not leave the sandbox"))
                            continue
                        yield path, info
                        if deep and stat.S_ISDIR(info.st_mode) and name not in SKIPPED:
                            if path.count("/") >= MOST_FOLDERS:
                                troubles.append((path[:200], f"below more than {MOST_FOLDERS} folders"))
                            else:
                                folders.append(path)
                finally:
                    os.close(at)
            except OSError as error:
                troubles.append((folder or ".", f"cannot be looked into: {error.strerror}"))


_TOO_MANY = "too many files to look through; what is left stays inside, where read_file has it"


def _page(items: list[list[Any]], start: int) -> list[list[Any]]:
    """The items that fit into an answer, at least one where there is one."""
    end, size = start, 0
    while end < min(len(items), start + PAGE_ITEMS):
        size += len(items[end][0]) + 8
        if size > PAGE_CHARACTERS and end > start:
            break
        end += 1
    return items[start:end]


def _make_folder(name: str, at: int) -> None:
    try:
        os.mkdir(name, dir_fd=at)
    except FileExistsError:
        return


def _looks_like_repository(names: list[str]) -> bool:
    folded = {name.lower() for name in names}
    return "head" in folded and bool(folded & _OF_REPOSITORY)


def _entry(name: str, info: os.stat_result) -> list[Any]:
    return [name, info.st_size, int(info.st_mtime * 1000), info.st_mode]


def _stamp(info: os.stat_result) -> Stamp:
    """A stamp that differs after each change: code can set the time when data changed, not when the inode did."""
    return info.st_ctime_ns, info.st_size, info.st_ino


def _mapped() -> set[int]:
    """The inodes of files that processes inside share as memory, as `numpy.memmap` does: writing there sets no time.

    A semaphore's may have the number of a file's, and some file systems tell `stat` another device than the mapping
    has; so an inode is only a reason to compare contents.
    """
    found: set[int] = set()
    for pid in guest_linux.processes_inside():
        try:
            with open(f"/proc/{pid}/maps", "rb") as file:
                found.update(int(inode) for inode in _SHARED.findall(file.read()))
        except OSError:
            continue
    return found
