"""The files of a code base for an image, as a tar that is identical whenever the files are."""

from __future__ import annotations

import hashlib
import os
import stat
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codenav.core.config import home
from codenav.core.errors import UsageError
from codenav.core.execution import GIB
from codenav.core.secrets.files import is_named_secret, is_secret, secret_part
from codenav.sandboxes.code_copy import CACHES, inodes, is_environment, of_home
from codenav.sandboxes.images.tars import folders_to, header, padded

CODE = "/opt/codenav/code"
"""Folder inside with one folder for each code base."""
MOST_BYTES = GIB
"""Size limit of one code base. Data belong into a mount: codenav sandbox start --mount."""


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
    size: int = 0
    mtime_ns: int = 0
    inode: tuple[int, int] | None = None
    """Device and inode of a file with several names, one of which may be a secret's."""


@dataclass
class Packed:
    """The files of a code base, listed once."""

    code: CodeBase
    entries: Sequence[Entry]
    left_out: Sequence[str] = ()
    """Relative paths of special files, of links that lead out of the code base, and of secrets by content."""
    _digest: str = field(default="", repr=False)

    @classmethod
    def of(cls, code: CodeBase) -> Packed:
        """List the files of a code base.

        Raises:
            UsageError: it cannot be read, or is too large for an image.
        """
        entries: list[Entry] = []
        left_out: list[str] = []
        sizes: dict[str, int] = {}
        hidden: set[tuple[int, int]] = set()
        listed = list(_entries(code, left_out, hidden))
        if any(entry.inode for entry in listed):
            hidden.update(of_home())
        for entry in listed:
            if entry.inode in hidden:
                continue
            entries.append(entry)
            top = entry.path.partition("/")[0]
            sizes[top] = sizes.get(top, 0) + entry.size
        total = sum(sizes.values())
        if total > MOST_BYTES:
            largest = max(sizes, key=lambda name: sizes[name])
            raise UsageError(
                f"{code.root} has {total / GIB:.1f} GiB, {sizes[largest] / GIB:.1f} of them in {largest}",
                hint=f"name what to leave out in {code.root}/.dockerignore",
            )
        entries.sort(key=lambda entry: entry.path)
        return cls(code, entries, sorted(left_out))

    @property
    def stamp(self) -> str:
        """A hash of names, sizes and times. If it is unchanged, so are the contents of the files."""
        found = [(one.path, one.size, one.mtime_ns, one.executable, one.target) for one in self.entries]
        return hashlib.sha256(repr(found).encode()).hexdigest()

    @property
    def digest(self) -> str:
        """A hash of paths, contents, links and executable flags, but not of times and owners."""
        if not self._digest:
            whole = hashlib.sha256()
            for entry in self.entries:
                content = _content(entry.location) if entry.kind == tarfile.REGTYPE else entry.target.encode()
                inner = hashlib.sha256(content).hexdigest()
                whole.update(f"{entry.path!r} {entry.kind!r} {entry.executable} {inner}\n".encode())
            self._digest = whole.hexdigest()
        return self._digest

    def tar(self, *, uid: int) -> Iterator[bytes]:
        """Yield the files as a tar for the engine to unpack at `/`."""
        yield from folders_to(self.code.place, uid=uid)
        for entry in self.entries:
            path = f"{self.code.place[1:]}/{entry.path}"
            data = _content(entry.location) if entry.kind == tarfile.REGTYPE else b""
            yield header(
                path, kind=entry.kind, executable=entry.executable, size=len(data), target=entry.target, uid=uid
            )
            yield padded(data)


def _entries(code: CodeBase, left_out: list[str], hidden: set[tuple[int, int]]) -> Iterator[Entry]:
    matcher = ignored_in(code.root) if code.members is None else None
    own = {str(home(kind)) for kind in ("cache", "data", "config")}
    top = os.path.realpath(code.root)
    seen: set[str] = set()
    pending: list[tuple[str, os.stat_result | None]] = [(path, None) for path in code.members or [""]]
    pending = [(path, found) for path, found in pending if not _is_secret_member(code.root, path)]
    while pending:
        path, found = pending.pop()
        location = os.path.join(code.root, path) if path else str(code.root)
        try:
            # The named member may be a link.
            found = found or os.stat(location)
            if path and path not in seen:
                seen.add(path)
                yield from (Entry(one, str(code.root / one), tarfile.DIRTYPE) for one in _parents(path, seen))
                entry = _entry(path, location, found, top)
                if entry is None:
                    left_out.append(path)
                else:
                    yield entry
            if not stat.S_ISDIR(found.st_mode):
                continue
            with os.scandir(location) as listed:
                inner = list(listed)
            for one in inner:
                below = f"{path}/{one.name}" if path else one.name
                if is_secret(one.path, parent=path or os.path.basename(top)):
                    hidden.update(inodes(one.path))
                    if not is_named_secret(one.name, location):
                        left_out.append(below)
                elif not (one.path in own or _passed_over(one) or (matcher and matcher(below))):
                    pending.append((below, one.stat(follow_symlinks=False)))
        except OSError as error:
            raise UsageError(
                f"cannot read {location}: {error.strerror}", hint="ls -ld, and mend its permissions"
            ) from error


def _is_secret_member(root: Path, path: str) -> bool:
    return bool(secret_part(path)) or is_secret(os.path.join(root, path), parent=os.path.dirname(path))


def _parents(path: str, seen: set[str]) -> Iterator[str]:
    """Yield the parent folders of a member that are not in `seen`, and add them to it."""
    parts = path.split("/")[:-1]
    for number in range(len(parts)):
        folder = "/".join(parts[: number + 1])
        if folder not in seen:
            seen.add(folder)
            yield folder


def _entry(path: str, location: str, found: os.stat_result, top: str) -> Entry | None:
    """Return the entry of a path, or None if it does not go into an image."""
    if stat.S_ISDIR(found.st_mode):
        return Entry(path, location, tarfile.DIRTYPE)
    if stat.S_ISREG(found.st_mode):
        executable = bool(found.st_mode & stat.S_IXUSR)
        return Entry(path, location, tarfile.REGTYPE, executable, size=found.st_size, mtime_ns=found.st_mtime_ns,
                     inode=(found.st_dev, found.st_ino) if found.st_nlink > 1 else None)  # fmt: skip
    if not stat.S_ISLNK(found.st_mode):
        return None
    target = os.path.realpath(location)
    if not target.startswith(os.path.join(top, "")) or not os.path.exists(target):
        return None
    here = os.path.realpath(os.path.dirname(location))
    return Entry(path, location, tarfile.SYMTYPE, target=os.path.relpath(target, here))


def _passed_over(entry: os.DirEntry[str]) -> bool:
    if entry.name in CACHES or entry.name == "__pycache__" or entry.name.endswith((".pyc", ".pyo")):
        return True
    return entry.is_dir(follow_symlinks=False) and is_environment(entry.path)


def ignored_in(root: Path) -> Any:
    """Return a predicate for the paths that a folder's `.dockerignore` leaves out, or None if it has no such file."""
    try:
        lines = (root / ".dockerignore").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    from docker.utils.build import PatternMatcher

    patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    matcher, back = PatternMatcher(patterns), any(pattern.startswith("!") for pattern in patterns)
    # An excluded folder may contain paths that a later line includes again.
    return lambda path: matcher.matches(path) and not (back and os.path.isdir(root / path))


def _content(location: str) -> bytes:
    try:
        with open(location, "rb") as file:
            return file.read()
    except OSError as error:
        raise UsageError(f"cannot read {location}: {error.strerror}", hint="ls -l, and mend its permissions") from error


def record(packed: Packed) -> dict[str, Any]:
    """Return the description of a code base for a label, as JSON types. `unchanged` reads it."""
    code = packed.code
    return {
        "folder": code.import_folder,
        "root": str(code.root),
        "members": list(code.members) if code.members is not None else None,
        "stamp": packed.stamp,
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
    try:
        packed = Packed.of(CodeBase("", "", root, tuple(map(str, members)) if members is not None else None))
    except UsageError:
        return False
    return bool(packed.stamp == said["stamp"] or packed.digest == said.get("digest"))
