"""Copying of a code base without its secrets, caches and virtual environments."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from codenav.core.config import home
from codenav.core.errors import Unavailable, UsageError
from codenav.core.execution import GIB
from codenav.core.secrets.files import is_named_secret, is_secret

MOST_BYTES = GIB
"""Size limit of one code base."""
CACHES = {
    "node_modules", ".ipynb_checkpoints", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis",
    "__pypackages__",
}  # fmt: skip
"""Folders left out because they hold no code of the project. `__pycache__` stays: it speeds up imports."""
_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")
"""Names that mark the folder they lie in as a virtual environment."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = _READ | os.O_DIRECTORY
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC

Ignored = Callable[[str], bool]
"""Predicate: True if a path relative to the root is left out."""


def dockerignored(root: Path) -> Ignored | None:
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


def is_environment(path: str, *, dir_fd: int | None = None) -> bool:
    """True if a folder is a virtual environment."""
    for mark in _ENVIRONMENTS:
        with contextlib.suppress(OSError):
            os.stat(f"{path}/{mark}", dir_fd=dir_fd, follow_symlinks=False)
            return True
    return False


class Walk:
    """One pass over a code base, through descriptors so that links cannot redirect it. With a target it copies."""

    def __init__(
        self,
        root: str,
        holes: frozenset[str],
        ignored: Ignored | None,
        target: str = "",
        *,
        by_content: bool = True,
    ) -> None:
        self.root, self.holes, self.ignored, self.target = root, holes, ignored, target
        self.by_content = by_content
        """Files count as secrets by their content, too. Of a mount only names do: a person chose it for its content."""
        self.own: set[str] = set()
        """Codenav's own folders, relative to the root. They hold keys and records."""
        for kind in ("cache", "data", "config"):
            with contextlib.suppress(Unavailable):
                self.own.add(os.path.relpath(home(kind), root))
        self.bytes = 0
        self.sizes: dict[str, int] = {}
        """Bytes of each top-level entry."""
        self.secrets: set[tuple[int, int]] = set()
        self.found: list[str] = []
        """Relative paths of files that only their content shows to be secrets."""
        self.special: list[str] = []
        """Relative paths of pipes, sockets and devices."""
        self.linked: list[tuple[tuple[int, int], str]] = []
        """Copies of files with several names, any of which may be a secret's."""
        self.digest = hashlib.sha256()

    def stamp(self) -> str:
        """Walk the code base. Return a digest of names, times and sizes, which changes with the content of any file."""
        try:
            found = os.stat(self.root)
            if stat.S_ISREG(found.st_mode):
                self._file(os.path.realpath(self.root), None, "", found)
            else:
                descriptor = os.open(os.path.realpath(self.root), _FOLDER)
                try:
                    self._folder(descriptor, "")
                finally:
                    os.close(descriptor)
        except OSError as error:
            raise UsageError(
                f"cannot copy {error.filename or self.root}: {error.strerror}", hint=f"ls -ld {self.root}"
            ) from error
        if self.target:
            self._make_holes()
            self._unlink_secrets()
        return self.digest.hexdigest()

    def _folder(self, folder: int, below: str) -> None:
        if self.target:
            made = os.path.join(self.target, below) if below else self.target
            os.mkdir(made)
            # The user who runs the code has to enter the root folder. Folders below keep their mode.
            os.chmod(made, stat.S_IMODE(os.fstat(folder).st_mode) | 0o700 if below else 0o755)
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
        parent = below or os.path.basename(self.root)
        for entry in entries:
            path = f"{below}/{entry.name}" if below else entry.name
            if path in self.holes or path in self.own:
                continue
            try:
                if entry.name in CACHES:
                    continue
                if is_secret(entry.name, dir_fd=folder, parent=parent, by_content=self.by_content):
                    self._note_secret(entry, folder, path, by_name=is_named_secret(entry.name, parent))
                elif entry.is_dir(follow_symlinks=False) and is_environment(entry.name, dir_fd=folder):
                    continue
                elif self.ignored is None or not self.ignored(path):
                    self._entry(entry, folder, path)
            except (FileNotFoundError, PermissionError, NotADirectoryError):
                # It was removed meanwhile, or this user may not read it, so neither could the code.
                continue

    def _entry(self, entry: os.DirEntry[str], folder: int, path: str) -> None:
        found = entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            self.digest.update(f"{path}\0d\n".encode("utf-8", "surrogateescape"))
            inner = os.open(entry.name, _FOLDER, dir_fd=folder)
            try:
                self._folder(inner, path)
            finally:
                os.close(inner)
        elif stat.S_ISREG(found.st_mode):
            self._file(entry.name, folder, path, found)
        elif stat.S_ISLNK(found.st_mode):
            to = os.readlink(entry.name, dir_fd=folder)
            self.digest.update(f"{path}\0{to}\n".encode("utf-8", "surrogateescape"))
            if self.target:
                # The target is visible only if it is bound itself. A secret is not.
                os.symlink(to, os.path.join(self.target, path))
        else:
            self.special.append(path)

    def _file(self, name: str, folder: int | None, path: str, found: os.stat_result) -> None:
        told = f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino} {found.st_mode}"
        self.digest.update(f"{path}\0{told}\n".encode("utf-8", "surrogateescape"))
        top = path.partition("/")[0]
        self.sizes[top] = self.sizes.get(top, 0) + found.st_size
        self.bytes += found.st_size
        if self.bytes > MOST_BYTES:
            largest = max(self.sizes, key=lambda one: self.sizes[one])
            raise UsageError(
                f"{self.root} holds more than {MOST_BYTES / GIB:g} GiB, most of it in {largest or self.root}",
                hint=f"--mount {os.path.join(self.root, largest)}: what is mounted is not copied, nor what an image's "
                ".dockerignore names",
            )
        if self.target:
            place = os.path.join(self.target, path) if path else self.target
            _copy(name, folder, place, found)
            if found.st_nlink > 1:
                self.linked.append(((found.st_dev, found.st_ino), place))

    def _note_secret(self, entry: os.DirEntry[str], folder: int, path: str, *, by_name: bool) -> None:
        if not by_name:
            self.digest.update(f"{path}\0secret\n".encode("utf-8", "surrogateescape"))
            self.found.append(path)
        if self.target and not entry.is_symlink():
            self.secrets.update(inodes(entry.name, dir_fd=folder))

    def _make_holes(self) -> None:
        for hole in sorted(self.holes):
            real, place = os.path.join(self.root, hole), self.target
            *folders, last = hole.split("/")
            for name in (*folders, *([last] if os.path.isdir(real) else ())):
                place = os.path.join(place, name)
                with contextlib.suppress(FileExistsError):
                    os.mkdir(place)
                    # Independent of the umask: another user may have to enter it.
                    os.chmod(place, 0o755)
            if not os.path.isdir(real):
                with contextlib.suppress(FileExistsError):
                    os.close(os.open(os.path.join(place, last), _NEW, 0o644))

    def _unlink_secrets(self) -> None:
        """Remove copies of files that also have the name of a secret, here or in the home folder."""
        if not self.linked:
            return
        secrets = self.secrets | set(of_home())
        for inode, place in self.linked:
            if inode in secrets:
                os.unlink(place)


def inodes(path: str, *, dir_fd: int | None = None) -> Iterator[tuple[int, int]]:
    """Return device and inode of a secret file, or of a folder of secrets and its direct entries.

    Other names of the same files would not reveal that they are secrets.
    """
    with contextlib.suppress(OSError):
        descriptor = os.open(path, _READ, dir_fd=dir_fd)
        try:
            found = os.fstat(descriptor)
            yield found.st_dev, found.st_ino
            if stat.S_ISDIR(found.st_mode):
                with os.scandir(descriptor) as listed:
                    told = [entry.stat(follow_symlinks=False) for entry in listed]
                yield from ((one.st_dev, one.st_ino) for one in told)
        finally:
            os.close(descriptor)


def of_home() -> Iterator[tuple[int, int]]:
    """Return the inodes of secrets at the top of the user's home folder and of its folders of secrets."""
    folder = os.path.expanduser("~")
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if is_secret(os.path.join(folder, name)):
                yield from inodes(os.path.join(folder, name))


def _copy(name: str, folder: int | None, place: str, found: os.stat_result) -> None:
    """Copy a file with its mode and its modification time, which byte code is validated by."""
    source = os.open(name, _READ, dir_fd=folder)
    try:
        # The current size, which may be larger than the one that was counted.
        left = os.fstat(source).st_size
        target = os.open(place, _NEW, 0o600)
        try:
            while left > 0 and (sent := os.sendfile(target, source, None, min(left, 1 << 30))):
                left -= sent
            os.fchmod(target, found.st_mode & 0o777 | 0o600)
            os.utime(target, ns=(found.st_mtime_ns, found.st_mtime_ns))
        finally:
            os.close(target)
    finally:
        os.close(source)


def is_left_out(path: str, root: str) -> bool:
    """True if the copy of `root` lacks a path below it, because of a secret, a cache or a virtual environment."""
    at, inside = root, os.path.basename(root)
    for part in os.path.relpath(path, root).split("/"):
        at, above = os.path.join(at, part), inside
        inside = os.path.relpath(at, root)
        if part in CACHES or is_secret(at, parent=above) or is_environment(at) or os.path.islink(at):
            return True
    return False
