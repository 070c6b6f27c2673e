"""The files of a code base for an image, as a tar that is identical whenever the files are."""

from __future__ import annotations

import hashlib
import os
import stat
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from codenav.core.errors import UsageError
from codenav.sandboxes.code_copy import dockerignored
from codenav.sandboxes.copies import CodeCopy, copied, stamp
from codenav.sandboxes.images.containers import folders_to, header, padded
from codenav.sandboxes.places import within

CODE = "/opt/codenav/code"
"""Folder inside with one folder for each code base."""


@dataclass(frozen=True)
class CodeBase:
    """A folder of the host, or a part of it, for an image."""

    source: str
    """Its name in labels: an absolute path, `pkg:NAME==VERSION` or `git:URL@COMMIT`."""
    name: str
    """Name of its folder inside, unique in the image."""
    root: Path
    members: tuple[str, ...] | None = None
    """Files and folders below `root`. None means all."""
    import_root: Path | None = None
    """The folder that dotted names start at: `root`, one below it or, for a bare package, its parent."""
    import_paths: tuple[Path, ...] = ()
    """Host folders and files that need not be bound when the image is used."""
    project: Path | None = None
    """The folder with the files that state its requirements, or None."""

    def ignores(self, path: str) -> bool:
        """True if a path below `root` does not go into the image: byte code is made anew there."""
        if os.path.basename(path) == "__pycache__" or path.endswith((".pyc", ".pyo")):
            return True
        if self.members is not None:
            return not any(within(path, member) or within(member, path) for member in self.members)
        return self._dockerignored is not None and self._dockerignored(path)

    @cached_property
    def _dockerignored(self) -> Any:
        return dockerignored(self.root)

    @property
    def place(self) -> str:
        """The path inside of the content of `root`."""
        bare = self.import_root is not None and self.import_root == self.root.parent
        return f"{CODE}/{self.name}/{self.root.name}" if bare else f"{CODE}/{self.name}"

    @property
    def import_folders(self) -> list[str]:
        """The folders inside that `sys.path` needs."""
        below = [
            path
            for path in self.import_paths
            if path.is_relative_to(self.root) and path not in (self.root, self.import_root)
        ]
        inside = [path.relative_to(self.root).as_posix() for path in below if path.is_dir()]
        return [self.import_folder, *(f"{self.place}/{path}" for path in inside)]

    @property
    def import_folder(self) -> str:
        """The folder inside that dotted names start at."""
        if self.import_root is None or self.import_root == self.root:
            return self.place
        if self.import_root == self.root.parent:
            return f"{CODE}/{self.name}"
        return f"{self.place}/{self.import_root.relative_to(self.root).as_posix()}"


@dataclass(frozen=True)
class Entry:
    """A file, folder or link to be packed."""

    path: str
    """Path relative to the place of the code base, with `/`."""
    location: str
    kind: bytes
    """Type as in a tar: `REGTYPE`, `DIRTYPE`, `SYMTYPE`."""
    executable: bool = False
    target: str = ""

    @property
    def content(self) -> bytes:
        """The bytes of a file. Empty for a folder or a link."""
        return Path(self.location).read_bytes() if self.kind == tarfile.REGTYPE else b""


@dataclass
class Packed:
    """The files of a code base as they are now: those of its copy, in which nothing is that no sandbox may show."""

    code: CodeBase
    copy: CodeCopy
    entries: Sequence[Entry]
    left_out: Sequence[str] = ()
    """Relative paths of special files, of links that lead out of the code base, and of secrets by content."""

    @classmethod
    def of(cls, code: CodeBase) -> Packed:
        """Copy a code base and list its files.

        Raises:
            UsageError: it cannot be read, or is too large for an image.
        """
        copy = copied(str(code.root), ignored=code.ignores)
        entries, left_out = [], [path for path in (*copy.secrets, *copy.special) if not code.ignores(path)]
        for folder, folders, files in os.walk(copy.path):
            for name in (*folders, *files):
                location = os.path.join(folder, name)
                entry = _entry(code, os.path.relpath(location, copy.path), location)
                if entry is None:
                    left_out.append(os.path.relpath(location, copy.path))
                else:
                    entries.append(entry)
        entries.sort(key=lambda entry: entry.path)
        return cls(code, copy, entries, sorted(left_out))

    @cached_property
    def digest(self) -> str:
        """A hash of paths, contents, links and executable flags, but not of times and owners."""
        whole = hashlib.sha256()
        for entry in self.entries:
            inner = hashlib.sha256(entry.content or entry.target.encode()).hexdigest()
            whole.update(f"{entry.path!r} {entry.kind!r} {entry.executable} {inner}\n".encode())
        return whole.hexdigest()

    def tar(self, *, uid: int) -> Iterator[bytes]:
        """Yield the files as a tar for the engine to unpack at `/`."""
        yield from folders_to(self.code.place, uid=uid)
        for entry in self.entries:
            path, data = f"{self.code.place[1:]}/{entry.path}", entry.content
            yield header(
                path, kind=entry.kind, executable=entry.executable, size=len(data), target=entry.target, uid=uid
            )
            yield padded(data)


def _entry(code: CodeBase, path: str, location: str) -> Entry | None:
    """Return the entry of a path in a copy, or None for a link out of the code base or nowhere that was not named."""
    mode = os.lstat(location).st_mode
    if stat.S_ISDIR(mode):
        return Entry(path, location, tarfile.DIRTYPE)
    if stat.S_ISREG(mode):
        return Entry(path, location, tarfile.REGTYPE, bool(mode & stat.S_IXUSR))
    original = os.path.join(os.path.realpath(code.root), path)
    target = os.path.realpath(original)
    if path in (code.members or ()) and os.path.isfile(target):
        return Entry(path, target, tarfile.REGTYPE, os.access(target, os.X_OK))
    if not os.path.exists(target) or not within(target, os.path.realpath(code.root)):
        return None
    return Entry(path, location, tarfile.SYMTYPE, target=os.path.relpath(target, os.path.dirname(original)))


def record(packed: Packed) -> dict[str, Any]:
    """Return the description of a code base for a label, as JSON types. `unchanged` reads it."""
    code = packed.code
    return {
        "folder": code.import_folder,
        "root": str(code.root),
        "members": list(code.members) if code.members is not None else None,
        "stamp": packed.copy.stamp,
        "digest": packed.digest,
    }


def unchanged(said: Mapping[str, Any]) -> bool:
    """True if the files of a code base match a label. Code bases of other machines, which are not here, do too.

    Takes about 10 ms for 1,000 files if no time has changed. Otherwise all files are read.
    """
    root = Path(str(said["root"]))
    if not root.is_dir():
        return True
    members = said.get("members")
    code = CodeBase("", "", root, tuple(map(str, members)) if members is not None else None)
    try:
        return stamp(str(root), code.ignores) == said["stamp"] or Packed.of(code).digest == said.get("digest")
    except UsageError:
        return False
