"""Atomic writes: a file has either its old or its new content, even if the writer is killed."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path


def write_whole(path: Path, text: str | bytes, *, errors: str = "strict", durable: bool = False) -> None:
    """Write a text or bytes to a temporary file and move it into place; an existing file keeps its mode.

    Args:
        path: the file, in an existing folder.
        text: the content; a text is written in UTF-8 with unchanged line ends.
        errors: handling of encoding errors, as for `open`.
        durable: True to survive a power cut: file and name are on the disk when this returns (fsync(2)).

    Raises:
        OSError: no room, or no permission; the old content is still there.
    """
    beside = path.with_name(f".{os.urandom(8).hex()}.part")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with open(handle, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode("utf-8", errors))
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
    """Write the names in a folder to the disk, which fsync(2) of a file does not do."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A new folder to fill, which at the end takes the place of `folder`; if anything fails an older one stays.

    A link to a folder stays one.

    Raises:
        OSError: no room, or no permission.
    """
    folder = folder.resolve()
    mark = os.urandom(4).hex()
    beside, old = (folder.with_name(f".{folder.name}.{mark}.{kind}") for kind in ("part", "old"))
    try:
        beside.mkdir(parents=True)
        yield beside
        if folder.exists():
            folder.rename(old)
        beside.rename(folder)
    finally:
        if old.exists() and not folder.exists():
            old.rename(folder)
        shutil.rmtree(beside, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
