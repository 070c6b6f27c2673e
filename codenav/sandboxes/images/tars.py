"""Pieces of a tar that do not depend on when and where it was made."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator

EPOCH = 315_532_800
"""1980-01-01, the time of every file that a build writes: the earliest that a zip file, and so a wheel, can hold."""


def header(path: str, *, kind: bytes, executable: bool = False, size: int = 0, target: str = "", uid: int = 0) -> bytes:
    """Return the header block of a file in a tar, without any trace of this machine."""
    info = tarfile.TarInfo(path)
    info.type, info.size, info.linkname, info.mtime = kind, size, target, EPOCH
    info.mode = 0o755 if executable or kind == tarfile.DIRTYPE else 0o777 if kind == tarfile.SYMTYPE else 0o644
    info.uid = info.gid = uid
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


def padded(data: bytes) -> bytes:
    """Return data padded to whole blocks, to follow a header."""
    return data + b"\0" * (-len(data) % tarfile.BLOCKSIZE)


END = b"\0" * (2 * tarfile.BLOCKSIZE)
"""The end of a tar."""


def folders_to(place: str, *, uid: int = 0) -> Iterator[bytes]:
    """Yield the headers of a folder and its parents. All but the topmost belong to `uid`."""
    parts = place.strip("/").split("/")
    for number in range(len(parts)):
        yield header("/".join(parts[: number + 1]), kind=tarfile.DIRTYPE, uid=uid if number else 0)
