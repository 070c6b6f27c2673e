"""Files that hold their old content or their new one, never a part of it, whenever the writer is killed."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, text: str, *, errors: str = "strict", durable: bool = False) -> None:
    """Write a text beside its place and move it there; the mode of a file that is there stays.

    Args:
        path: in a folder that exists.
        text: in UTF-8, with the line ends that it has.
        errors: of the encoding, as `open` takes it.
        durable: it also survives a power cut: the file and its name are on the disk when this returns (fsync(2)).

    Raises:
        OSError: no room, or no permission; the old content is still there.
    """
    beside = path.with_name(f".{os.urandom(8).hex()}.part")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with open(handle, "w", encoding="utf-8", errors=errors, newline="") as file:
            file.write(text)
            if path.exists():
                os.fchmod(handle, path.stat().st_mode & 0o777)
            if durable:
                file.flush()
                os.fsync(handle)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk: fsync(2) of a file does not."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
