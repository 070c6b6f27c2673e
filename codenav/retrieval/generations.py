"""What an embedded index is on disk: generations, a manifest in each, and a pointer to the current one.

FOLDER/current            the name of a generation; replaced by rename
FOLDER/gen-7/             the engine's files and manifest.json; never changed once `current` names it,
                          but for the manifest, which is replaced by rename
FOLDER/.write.lock        held while a generation is written
FOLDER/.build.lock        held by whoever decides what to write (`build_lock`)
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codenav import locks
from codenav.blocks import FileSkip, FileState, IndexStats
from codenav.errors import IndexUnavailable, StorageFull
from codenav.system.atomic_files import write_whole

FORMAT = 7
"""Version of manifest and schema; an index of another one counts as absent."""
POINTER, MANIFEST = "current", "manifest.json"
_NAME = re.compile(r"gen-(\d{1,18})")
_NOT_LINKED = ("meta.json", ".managed.json")
"""Files that the engine replaces; all others it writes once, so generations can share them."""
_FULL = {
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST,
    errno.ENOENT, errno.ELOOP, errno.ENAMETOOLONG, errno.EIO, errno.ESTALE,
}  # fmt: skip


@dataclass(frozen=True)
class FileEntry:
    """A file of the index."""

    number: int
    """Stands for the path in the engine; never used again for another path."""
    state: FileState
    kinds: Mapping[str, int]
    languages: Mapping[str, int]


@dataclass
class Manifest:
    """What a generation holds, apart from the blocks themselves."""

    source: str
    engine: str
    versions: dict[str, str] = field(default_factory=dict)
    built: str = ""
    seconds: float = 0.0
    reused: int = 0
    next_number: int = 0
    files: dict[str, FileEntry] = field(default_factory=dict)
    skipped: list[FileSkip] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    """Bytes of each of the engine's files, to notice one that is cut or gone."""

    def stats(self) -> IndexStats:
        """As told to a user."""
        kinds: Counter[str] = Counter()
        languages: Counter[str] = Counter()
        for entry in self.files.values():
            kinds.update(entry.kinds)
            languages.update(entry.languages)
        return IndexStats(
            source=self.source,
            store="embedded",
            files=len(self.files),
            blocks=sum(kinds.values()),
            kinds=dict(sorted(kinds.items())),
            languages=dict(sorted(languages.items())),
            versions=self.versions,
            built=self.built,
            skipped=tuple(self.skipped),
            reused_files=self.reused,
            seconds=self.seconds,
        )

    def to_json(self) -> str:
        """The content of `manifest.json`."""
        files = {
            path: [
                entry.number,
                entry.state.size,
                entry.state.mtime_ns,
                entry.state.digest,
                entry.kinds,
                entry.languages,
            ]
            for path, entry in self.files.items()
        }
        data = {**vars(self), "format": FORMAT, "files": files, "skipped": [[s.path, s.reason] for s in self.skipped]}
        return json.dumps(data, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """The inverse of `to_json`.

        Raises:
            Unusable: another format, or no manifest at all.
        """
        try:
            data: dict[str, Any] = json.loads(text)
            if data.pop("format") != FORMAT:
                raise Unusable("it was made by another version of codenav")
            files = {
                path: FileEntry(number, FileState(size, mtime, digest), kinds, languages)
                for path, (number, size, mtime, digest, kinds, languages) in data.pop("files").items()
            }
            skipped = [FileSkip(path, reason) for path, reason in data.pop("skipped")]
            return cls(**data, files=files, skipped=skipped)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Unusable("its manifest is damaged") from error


class Unusable(Exception):
    """A state that is there and cannot be used; the text says why. Never leaves this package."""


def current(folder: Path) -> tuple[Path, Manifest] | None:
    """The generation that answers and its manifest; None where there is none.

    Raises:
        Unusable: it is of another format or damaged.
        IndexUnavailable: it may not be read.
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
            raise Unusable("files of it are damaged or gone")
        # Another process has published two generations since the pointer was read: read it again.
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
    """Bytes of the engine's files in a generation."""
    found = {}
    with os.scandir(place) as entries:
        for entry in entries:
            if not entry.name.endswith(".lock") and not entry.name.startswith(MANIFEST):
                found[entry.name] = entry.stat(follow_symlinks=False).st_size
    return found


def clone(old: Path | None, folder: Path) -> Path:
    """A new generation that shares the files of an old one; `current` does not name it yet."""
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
            # A file system without hard links.
            shutil.copyfile(item, place / item.name)
    return place


def publish(folder: Path, place: Path, manifest: Manifest) -> None:
    """Make a written generation the one that answers, durably."""
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
    """Remove all generations but those to keep: leftovers of builds that were killed, and old states."""
    for _, place in generations(folder):
        if place not in keep:
            shutil.rmtree(place, ignore_errors=True)


def build_lock(folder: Path, *, wait: bool) -> AbstractContextManager[bool]:
    """Hold the right to build the index in a folder; the context's value is whether it was got.

    Without `wait` it is not got where another process or thread has it. It frees itself when its owner dies.

    Raises:
        StorageFull: the lock file cannot be made.
    """
    return locked(folder, ".build.lock", wait=wait)


def locked(folder: Path, name: str, *, wait: bool) -> AbstractContextManager[bool]:
    """An exclusive lock on a file of an index: `locks.locked`.

    Raises:
        StorageFull: it cannot be made.
    """
    return locks.locked(folder, name, wait=wait, making=storing)


@contextlib.contextmanager
def storing() -> Iterator[None]:
    """Tell a disk that is full or read-only from other failures, also where only the engine's text says so.

    Raises:
        StorageFull: no space, no quota, no permission.
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
