"""Files of an embedded index: generations with a manifest each, and a pointer to the current one.

FOLDER/current            the name of a generation; replaced by rename
FOLDER/gen-7/             the engine's files and manifest.json; never changed once `current` names it,
                          except for the manifest, which is replaced by rename
FOLDER/.write.lock        held while a generation is written
FOLDER/.build.lock        held by the process that decides what to write (`build_lock`)
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codenav.core.blocks import FileSkip, IndexStats
from codenav.core.errors import IndexUnavailable, StorageFull
from codenav.core.system import locks
from codenav.core.system.atomic_files import write_whole
from codenav.retrieval.builds import FileEntry, with_counts

FORMAT = 13
"""Version of manifest and schema; an index with another version counts as absent."""
POINTER, MANIFEST = "current", "manifest.json"
_NAME = re.compile(r"gen-(\d{1,18})")
_NOT_LINKED = ("meta.json", ".managed.json")
"""Files that the engine replaces; all others it writes once, so generations can share them."""
_FULL = {
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST,
    errno.ENOENT, errno.ELOOP, errno.ENAMETOOLONG, errno.EIO, errno.ESTALE,
}  # fmt: skip


@dataclass
class Manifest:
    """The content of a generation, apart from the blocks themselves."""

    source: str
    engine: str
    versions: dict[str, str] = field(default_factory=dict)
    built: str = ""
    seconds: float = 0.0
    reused: int = 0
    next_number: int = 0
    first_build: int = 0
    """The number that came next when the whole index was written; files of later builds have greater ones."""
    files: dict[str, FileEntry] = field(default_factory=dict)
    skipped: list[FileSkip] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    """Bytes of each of the engine's files, to detect one that is truncated or gone."""

    def stats(self) -> IndexStats:
        """The statistics shown to users."""
        whole = IndexStats(
            self.source, "embedded", versions=self.versions, built=self.built, skipped=tuple(self.skipped),
            reused_files=self.reused, seconds=self.seconds,
        )  # fmt: skip
        return with_counts(self.files.values(), whole)

    def to_json(self) -> str:
        """The content of `manifest.json`."""
        files = {path: [entry.number, *entry.to_row()] for path, entry in self.files.items()}
        data = {**vars(self), "format": FORMAT, "files": files, "skipped": [[s.path, s.reason] for s in self.skipped]}
        return json.dumps(data, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """Read the content of `manifest.json`.

        Raises:
            Unusable: it has another format, or is not a manifest.
        """
        try:
            data: dict[str, Any] = json.loads(text)
            if data.pop("format") != FORMAT:
                raise Unusable("it was made by another version of codenav")
            files = {path: FileEntry.of_row(row, number) for path, (number, *row) in data.pop("files").items()}
            skipped = [FileSkip(path, reason) for path, reason in data.pop("skipped")]
            return cls(**data, files=files, skipped=skipped)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Unusable("its manifest is damaged") from error


class Unusable(Exception):
    """An index that exists and cannot be used; the text says why. Never raised out of this package."""


def current(folder: Path) -> tuple[Path, Manifest] | None:
    """The current generation and its manifest; None if there is none.

    Raises:
        Unusable: it has another format, or is damaged.
        IndexUnavailable: it cannot be read.
    """
    for _ in range(5):
        name = _pointer(folder)
        if name is None:
            return None
        place = folder / name
        try:
            manifest = Manifest.from_json((place / MANIFEST).read_text(encoding="utf-8"))
            if sizes(place) == manifest.sizes:
                return place, manifest
        except FileNotFoundError:
            pass
        except (OSError, UnicodeDecodeError) as error:
            if isinstance(error, UnicodeDecodeError):
                raise Unusable("its manifest is damaged") from error
            raise IndexUnavailable(f"the index in {folder} cannot be read: {error.strerror}") from error
        if _pointer(folder) == name:
            raise Unusable("some of its files are damaged or gone")
        # Another process has published two generations since the pointer was read, so read it again.
    raise Unusable("it changes faster than it can be read")


def _pointer(folder: Path) -> str | None:
    try:
        name = (folder / POINTER).read_text(encoding="utf-8", errors="replace").strip()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise IndexUnavailable(f"the index in {folder} cannot be read: {error.strerror}") from error
    if not _NAME.fullmatch(name):
        raise Unusable("its pointer is damaged")
    return name


def sizes(place: Path) -> dict[str, int]:
    """The size in bytes of each of the engine's files in a generation."""
    found = {}
    with os.scandir(place) as entries:
        for entry in entries:
            if not entry.name.endswith(".lock") and not entry.name.startswith(MANIFEST):
                found[entry.name] = entry.stat(follow_symlinks=False).st_size
    return found


def clone(old: Path | None, folder: Path) -> Path:
    """Create a generation that shares the files of an old one; `current` does not name it yet."""
    place = folder / f"gen-{max([number for number, _ in generations(folder)], default=0) + 1}"
    place.mkdir()
    for item in sorted(old.iterdir()) if old else ():
        if item.name.startswith(MANIFEST) or item.name.endswith(".lock"):
            continue
        if item.name in _NOT_LINKED:
            shutil.copyfile(item, place / item.name)
            continue
        try:
            os.link(item, place / item.name)
        except OSError:
            # The file system has no hard links.
            shutil.copyfile(item, place / item.name)
    return place


def publish(folder: Path, place: Path, manifest: Manifest) -> None:
    """Make a written generation the current one, durably."""
    save(place, manifest)
    write_whole(folder / POINTER, place.name, durable=True)


def save(place: Path, manifest: Manifest) -> None:
    """Write the manifest of a generation."""
    manifest.sizes = sizes(place)
    write_whole(place / MANIFEST, manifest.to_json(), durable=True)


def generations(folder: Path) -> list[tuple[int, Path]]:
    """All generations, finished or not, by number."""
    matches = [(_NAME.fullmatch(item.name), item) for item in folder.iterdir()]
    return sorted((int(match[1]), item) for match, item in matches if match)


def sweep(folder: Path, *keep: Path | None) -> None:
    """Remove all generations except those to keep: leftovers of killed builds, and old states."""
    for _, place in generations(folder):
        if place not in keep:
            shutil.rmtree(place, ignore_errors=True)


def build_lock(folder: Path, *, wait: bool) -> AbstractContextManager[bool]:
    """Lock the index in a folder for a build; the context's value is True if the lock was acquired.

    Without `wait` it is False if another process or thread has the lock. A lock is released when its owner dies.

    Raises:
        StorageFull: the lock file cannot be created.
    """
    return locked(folder, ".build.lock", wait=wait)


def locked(folder: Path, name: str, *, wait: bool) -> AbstractContextManager[bool]:
    """An exclusive lock on a file of an index; see `locks.locked`.

    Raises:
        StorageFull: the lock file cannot be created.
    """
    return locks.locked(folder, name, wait=wait, making=storing)


@contextlib.contextmanager
def storing() -> Iterator[None]:
    """Raise StorageFull for errors of a disk that is full or read-only, even if only the engine's text tells.

    Raises:
        StorageFull: no space, no quota, or no permission.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise StorageFull(f"the index cannot be written: {error.strerror}", cause=error) from error
        raise
    except ValueError as error:
        match = re.search(r"\(os error (\d+)\)|code: (\d+), kind", str(error))
        code = int(match[1] or match[2]) if match else 0
        if code in _FULL:
            raise StorageFull(
                f"the index cannot be written: {os.strerror(code)}", cause=OSError(code, os.strerror(code))
            ) from error
        raise


def size_of(folder: Path) -> int:
    """Bytes on disk of all files under a folder; a file that generations share counts once."""
    seen = {}
    for directory, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                status = os.lstat(os.path.join(directory, name))
                seen[status.st_ino] = status.st_blocks * 512
    return sum(seen.values())
