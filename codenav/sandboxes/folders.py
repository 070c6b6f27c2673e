"""Host folders held by descriptor: each stays the same when renamed or replaced, and no link below is followed."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from codenav.core.errors import UsageError
from codenav.core.secrets.files import is_secret
from codenav.core.system.closing import Closing
from codenav.sandboxes.filenames import Unwanted, is_part, is_repository, looks_like_repository, part_name
from codenav.sandboxes.owned_resources import OwnedFolder

SKIPPED = frozenset({"__pycache__"})
Place = Callable[[int, str, str], None]
"""A function that gives a file its place: the descriptor of a folder, the file's name there, and the wanted one."""

_WALKED = os.O_DIRECTORY | os.O_NOFOLLOW | getattr(os, "O_PATH", os.O_RDONLY)
_LISTED = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_RDONLY


@dataclass
class Writing:
    """A file that is being written. See `HeldFolder.replacing`."""

    file: IO[bytes]
    before: int | None
    """The mode of the file that it replaces, or None."""
    mode: int
    """The mode that it gets."""

    def make_executable(self, executable: bool) -> None:
        """Make the file executable for everybody who may read it, or for nobody."""
        self.mode = self.mode | (self.mode & 0o444) >> 2 if executable else self.mode & ~0o111


class HeldFolder(Closing):
    """A folder as it was found. Later changes of its name, or of links on the way to it, have no effect.

    It walks paths one component at a time. The kernel's `openat2` could do so at once, but Python lacks it.

    Raises:
        UsageError: there is no such folder, or it cannot be entered.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.realpath(path))
        self._token = secrets.token_hex(8)
        self._marked: Callable[[], object] | None = None
        try:
            self._descriptor = _opened("/", self.path.parts[1:])
        except OSError as error:
            missing = isinstance(error, FileNotFoundError | NotADirectoryError)
            why = f"no such work folder: {path}" if missing else f"cannot open {path}: {error.strerror}"
            raise UsageError(why, hint=f"mkdir -p {path}") from error
        self._let_go = weakref.finalize(self, os.close, self._descriptor)
        self._let_go.atexit = False

    def close(self) -> None:
        """Release the folder. Safe to call twice."""
        self._let_go()
        if self._marked is not None:
            self._marked()

    @property
    def removed(self) -> bool:
        """True if the folder has been removed."""
        return os.fstat(self._descriptor).st_nlink == 0

    def files(self, left: dict[str, list[str]] | None = None) -> Iterator[tuple[str, os.stat_result]]:
        """Yield regular files with their relative names, sorted, without repositories, secrets and unfinished files.

        `left` collects the names of other entries that a person may miss, by reason.
        """
        left = {} if left is None else left
        folders: list[list[str]] = [[]]
        while folders:
            parts = folders.pop()
            try:
                at = self.open_folder(parts, make=False)
            except OSError as error:
                if not parts:
                    raise
                # Another process may have removed the folder meanwhile.
                if error.errno != errno.ENOENT:
                    left.setdefault(f"cannot be looked into: {error.strerror}", []).append("/".join(parts))
                continue
            try:
                with os.scandir(at) as found:
                    entries = sorted(found, key=lambda entry: entry.name)
                if looks_like_repository([entry.name for entry in entries]):
                    left.setdefault("a git repository", []).append("/".join(parts) or ".")
                    continue
                inner = []
                for entry in entries:
                    name = "/".join([*parts, entry.name])
                    if entry.name in SKIPPED or is_repository(entry.name) or is_part(entry.name):
                        continue
                    if is_secret(entry.name, dir_fd=at, parent="/".join(parts) or self.path.name):
                        left.setdefault("a secret", []).append(name)
                        continue
                    try:
                        info = os.stat(entry.name, dir_fd=at, follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    if stat.S_ISDIR(info.st_mode):
                        inner.append([*parts, entry.name])
                    elif stat.S_ISREG(info.st_mode):
                        yield name, info
                    else:
                        reason = "a symbolic link" if stat.S_ISLNK(info.st_mode) else "not a regular file"
                        left.setdefault(reason, []).append(name)
                folders += reversed(inner)
            finally:
                os.close(at)

    def open_file(self, name: str) -> IO[bytes]:
        """Open a regular file below the folder for reading. Raises OSError."""
        parts = name.split("/")
        folder = self.open_folder(parts[:-1], make=False)
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(parts[-1], flags, dir_fd=folder)
        finally:
            os.close(folder)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "not a regular file")
        return os.fdopen(descriptor, "rb")

    def open_folder(self, parts: Sequence[str], *, make: bool) -> int:
        """Return a descriptor of a folder below. `make` creates missing ones, with the owner of the held folder.

        Raises:
            Unwanted: `make` is set and a folder on the way is a repository.
            OSError
        """
        at = os.open(".", _LISTED, dir_fd=self._descriptor)
        for part in ("", *parts):
            made = False
            try:
                if part and make:
                    made = _made(part, at)
                below = os.open(part or ".", _LISTED, dir_fd=at)
            finally:
                os.close(at)
            at = below
            try:
                if made:
                    self._give(at)
                if make and _holds_repository(at):
                    raise Unwanted("the host has a git repository there")
            except BaseException:
                os.close(at)
                raise
        return at

    @contextlib.contextmanager
    def replacing(
        self, parts: Sequence[str], mode: int | None = None, *, over_links: bool = False, place: Place | None = None
    ) -> Iterator[Writing]:
        """Write a file that takes its name, in place of an existing file, when the block ends without an error.

        `mode` is that of a new file, None for the default of this process. `over_links` also replaces a link to a file.
        `place` gives the file its name instead, or leaves it to be removed, whatever has the name.

        Raises:
            Unwanted: there is a repository or a secret there.
            OSError: it cannot be written, or something other than a regular file has the name.
        """
        self._note()
        folder = self.open_folder(parts[:-1], make=True)
        try:
            before = _mode_of(parts[-1], folder, over_links, strict=place is None)
            if before is not None and is_secret(parts[-1], dir_fd=folder, parent="/".join(parts[:-1])):
                raise Unwanted("the host has a secret of that name")
            part = part_name(self._token)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            descriptor = os.open(part, flags, 0o666 if mode is None else 0o600, dir_fd=folder)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    usual = stat.S_IMODE(os.fstat(descriptor).st_mode) if mode is None else mode
                    writing = Writing(file, before, usual if before is None else before & 0o777)
                    yield writing
                    file.flush()
                    os.fchmod(descriptor, writing.mode & 0o777)
                    self._give(descriptor)
                if place is not None:
                    place(folder, part, parts[-1])
                else:
                    os.replace(part, parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
            finally:
                with contextlib.suppress(OSError):
                    os.unlink(part, dir_fd=folder)
        finally:
            os.close(folder)

    def _give(self, descriptor: int) -> None:
        """Give a file to the owner of the folder, if this process is root."""
        if os.geteuid() == 0:
            owner = os.fstat(self._descriptor)
            os.fchown(descriptor, owner.st_uid, owner.st_gid)

    def _note(self) -> None:
        """Note the part file, so that the next process can remove it if this one is killed while writing."""
        if self._marked is None:
            # Without room for the note there may still be room for the file.
            with contextlib.suppress(OSError):
                mark = OwnedFolder.make()
                self._marked = weakref.finalize(self, _forget, mark, os.getpid())
                mark.note_parts(self.path, part_name(self._token))


def _forget(mark: OwnedFolder, process: int) -> None:
    """Remove the note, but not in a forked process: it belongs to the parent."""
    if os.getpid() == process:
        mark.remove()


def _opened(root: str, parts: Sequence[str]) -> int:
    at = os.open(root, _WALKED)
    for number, part in enumerate(parts, 1):
        try:
            below = os.open(part, _LISTED if number == len(parts) else _WALKED, dir_fd=at)
        finally:
            os.close(at)
        at = below
    return at


def _made(name: str, at: int) -> bool:
    try:
        os.mkdir(name, 0o755, dir_fd=at)
    except FileExistsError:
        return False
    return True


def _mode_of(name: str, folder: int, over_links: bool, *, strict: bool) -> int | None:
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    if over_links and stat.S_ISLNK(mode):
        try:
            # A link to a device, such as /dev/stdout, is not replaced.
            mode = os.stat(name, dir_fd=folder).st_mode
        except OSError:
            return None
        if stat.S_ISREG(mode):
            return None
    if stat.S_ISREG(mode):
        return mode
    if strict:
        raise OSError(errno.EEXIST, "the host has something else than a regular file of that name")
    return None


def _holds_repository(folder: int) -> bool:
    try:
        os.stat("HEAD", dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return looks_like_repository(os.listdir(folder))
