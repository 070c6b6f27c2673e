"""The work folder: files in from the host, changed regular files out to it. Runs in the supervisor."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from typing import Tuple

CHUNK = 1 << 20
SKIPPED = frozenset({"__pycache__"})
MOST_FILES = 100_000
"""Looked at in one scan; further ones are not copied out."""
LIST_CHARACTERS = 2 << 20
"""Of the names in one answer."""

Stamp = Tuple[int, int, int]


class Refused(Exception):
    """A file that is not taken, and why."""


class WorkFolder:
    """Never follows a link, never blocks on a FIFO, opens every component by itself."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._known: dict[str, Stamp] = {}

    def put(self, name: str, data: bytes, first: bool) -> None:
        """Append to a file, or begin it; it need not go back to the host. Raises OSError, Refused."""
        flags = os.O_WRONLY | os.O_CREAT | (0 if first else os.O_APPEND)
        descriptor = self._open(name, flags, make=True)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Refused("not a regular file")
            if first:
                os.ftruncate(descriptor, 0)
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            self._known[name] = _stamp(os.fstat(descriptor))
        finally:
            os.close(descriptor)

    def names(self) -> list[str]:
        """The regular files that are there, in order, as many as fit into an answer."""
        found, size = [], 0
        for name in sorted(name for name, _, _ in self._scan([])):
            size += 2 * len(name) + 8
            if size > LIST_CHARACTERS:
                break
            found.append(name)
        return found

    def remember(self) -> None:
        """What is there now came from the host and need not go back."""
        self._known = {name: stamp for name, _, stamp in self._scan([])}

    def changes(self, unfinished: list[str]) -> tuple[list[tuple[str, int]], list[tuple[str, str]]]:
        """Regular files that are new or changed, with their size; and what was refused, with the reason.

        A file stays in the list until its last piece was read, and comes again where that was `unfinished`.
        """
        for name in unfinished:
            self._known.pop(name, None)
        refused: list[tuple[str, str]] = []
        found = [(name, size) for name, size, stamp in self._scan(refused) if self._known.get(name) != stamp]
        return found, refused

    def read(self, name: str, offset: int, copied: bool) -> tuple[bytes, bool]:
        """A piece of a file, and whether it is the last; whether with that the host has it. Raises OSError, Refused."""
        descriptor = self._open(name, os.O_RDONLY)
        try:
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                raise Refused("not a regular file")
            data = os.pread(descriptor, CHUNK, offset)
            last = offset + len(data) >= before.st_size or not data
            if last and copied:
                self._known[name] = _stamp(before)
            return data, last
        finally:
            os.close(descriptor)

    def _open(self, name: str, flags: int, make: bool = False) -> int:
        at = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY)
        parts = name.split("/")
        for part in parts[:-1]:
            try:
                if make:
                    _make_folder(part, at)
                below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            finally:
                os.close(at)
            at = below
        try:
            return os.open(parts[-1], flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644, dir_fd=at)
        finally:
            os.close(at)

    def _scan(self, refused: list[tuple[str, str]]) -> Iterator[tuple[str, int, Stamp]]:
        until = time.monotonic() + 2.0
        folders, seen = [""], 0
        while folders:
            folder = folders.pop()
            try:
                entries = list(os.scandir(os.path.join(self._path, folder)))
            except OSError:
                continue
            for entry in entries:
                seen += 1
                if seen > MOST_FILES or time.monotonic() > until:
                    refused.append((folder or ".", "too many files to copy out"))
                    return
                name = os.path.join(folder, entry.name)
                kind = _kind(entry)
                if kind == "folder":
                    folders += [] if entry.name in SKIPPED else [name]
                elif kind == "file":
                    info = entry.stat(follow_symlinks=False)
                    yield name, info.st_size, _stamp(info)
                elif kind:
                    refused.append((name, kind))


def _make_folder(name: str, at: int) -> None:
    try:
        os.mkdir(name, dir_fd=at)
    except FileExistsError:
        return


def _kind(entry: os.DirEntry[str]) -> str:
    try:
        mode = entry.stat(follow_symlinks=False).st_mode
    except OSError:
        return ""
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISREG(mode):
        return "file"
    return "a symbolic link" if stat.S_ISLNK(mode) else "not a regular file"


def _stamp(info: os.stat_result) -> Stamp:
    return info.st_mtime_ns, info.st_size, info.st_ino
