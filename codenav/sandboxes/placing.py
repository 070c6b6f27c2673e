"""Places for files from the sandbox in a folder of the host, where nothing that the host has changed is replaced."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import hashlib
import itertools
import os
import re
import stat
from collections.abc import Iterator
from typing import Any, NamedTuple

NAME_BYTES = 255
"""Most bytes of a name on the usual file systems."""
MOST_BESIDE = 1000
"""Most numbers that are tried for a name beside another."""

_NOREPLACE, _EXCHANGE = 1, 2
"""Flags of renameat2(2)."""
_UNKNOWN = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
_BESIDE = re.compile(r"\.codenav-\d+(?=\.|$)")
_PACKED = r"(?:\.[a-z]\w{0,7})?\.(?:gz|bz2|xz|zst|z|lz4|br)"
_SUFFIX = re.compile(rf"(?<=.)(?:{_PACKED}|\.(?=\w*[a-z])\w{{1,12}})$", re.ASCII | re.IGNORECASE)
"""The suffix of a name, of packed files with the one before: `.tar.gz`. A dot at the start begins none."""

new_digest = functools.partial(hashlib.blake2b, digest_size=20)


class Version(NamedTuple):
    """A version of a file that has crossed the border of a sandbox."""

    digest: bytes
    executable: bool


class Placing:
    """The place of one file: its own name, or one beside what the host has there.

    A file is replaced only while its bytes are those of `known`, the version that the code had last. `beside` is the
    name where an earlier version of the code's was put, or empty. Larger files than `most` bytes are never replaced.
    """

    def __init__(self, known: Version | None, beside: str, most: int) -> None:
        self._known, self._beside, self._most = known, beside, most
        self.now: Version | None = None
        """The version of the file that was to be placed, once it was looked at."""
        self.executable = False
        """True if everybody who may read the file may execute it."""
        self.name = ""
        """The name that has it now. Empty if there was nothing to place, since the code had not changed it."""

    @property
    def changes_mode(self) -> bool:
        """True if the code has made the file, or has changed who may execute it."""
        return self._known is None or self.executable != self._known.executable

    def place(self, folder: int, part: str, name: str) -> None:
        """Give the file `part` its place. It stays where it is if there is nothing to place.

        Raises:
            OSError: no place can be found.
        """
        self.now = Version(self._digest(part, folder), self.executable)
        if self.now == self._known:
            with contextlib.suppress(FileNotFoundError):
                if self._digest(name, folder) != self.now.digest:
                    return
        own = [name, self._beside] if self._beside else [name]
        for candidate in itertools.chain(own, names_beside(name)):
            try:
                placed = self._replace(folder, part, candidate, own)
            except FileNotFoundError:
                placed = _moved(part, candidate, folder)
            if placed:
                self.name = candidate
                return
        raise OSError(errno.EEXIST, "all names beside it are taken")

    def _replace(self, folder: int, part: str, name: str, own: list[str]) -> bool:
        """Replace a file that still is as the code had it. False, and nothing has changed, if it is not.

        The old file is looked at again once nobody can find it by its name any more. Where the file system cannot
        exchange two names, it can change between the look and the rename.

        Raises:
            FileNotFoundError: nothing has the name.
        """
        there = os.stat(name, dir_fd=folder, follow_symlinks=False)
        ours = os.stat(part, dir_fd=folder, follow_symlinks=False)
        found = self._digest(name, folder) if name in own else b""
        if self.now is None or not found or found not in (self.now.digest, self._known and self._known.digest):
            return False
        if found == self.now.digest and there.st_mode == ours.st_mode:
            return True
        if not _renamed(part, name, folder, _EXCHANGE):
            if self._digest(name, folder) != found:
                return False
            os.replace(part, name, src_dir_fd=folder, dst_dir_fd=folder)
            return True
        if self._digest(part, folder) == found:
            return True
        _renamed(part, name, folder, _EXCHANGE)
        if os.stat(part, dir_fd=folder, follow_symlinks=False).st_ino != ours.st_ino:
            # The host has saved yet another version meanwhile. That one stays, and this one is copied out again.
            _renamed(part, name, folder, _EXCHANGE)
            raise OSError(errno.EBUSY, "it is being changed outside of the sandbox")
        return False

    def _digest(self, name: str, folder: int) -> bytes:
        """Return the digest of a regular file. Empty for whatever else has the name, or cannot be read.

        Raises:
            FileNotFoundError: nothing has the name.
        """
        info = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISREG(info.st_mode) or info.st_size > self._most:
            return b""
        found = new_digest()
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
            with os.fdopen(descriptor, "rb", buffering=0) as file:
                while piece := file.read(1 << 20):
                    found.update(piece)
        except OSError as error:
            if error.errno == errno.ENOENT:
                raise
            return b""
        return found.digest()


def names_beside(name: str) -> Iterator[str]:
    """Yield names beside another: `report.codenav-1.csv` and so on for `report.csv`."""
    name = _BESIDE.sub("", name) or name
    match = _SUFFIX.search(name)
    suffix = match.group() if match else ""
    stem = name.removesuffix(suffix)
    for number in range(1, MOST_BESIDE + 1):
        mark = f".codenav-{number}{suffix}"
        while len(os.fsencode(stem + mark)) > NAME_BYTES:
            stem = stem[:-1]
        yield stem + mark


def _moved(part: str, name: str, folder: int) -> bool:
    """Give a file a name that is free. False if another file has it meanwhile."""
    try:
        if not _renamed(part, name, folder, _NOREPLACE):
            os.link(part, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        return False
    return True


def _renamed(part: str, name: str, folder: int, flags: int) -> bool:
    """Rename a file by renameat2. False where the system or the file system does not have it. Raises OSError."""
    rename = _renameat2()
    if rename is None:
        return False
    if rename(folder, os.fsencode(part), folder, os.fsencode(name), flags) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNKNOWN:
        return False
    raise OSError(code, os.strerror(code), name)


@functools.cache
def _renameat2() -> Any:
    """Return the function of the C library, or None where it has none."""
    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
