"""`box.files`: access to the files of a sandbox's work folder, for every kind of sandbox."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import stat
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Protocol

from codenav.core.errors import NotFound, StorageFull, UsageError
from codenav.core.execution import Copied, FileEntry
from codenav.core.protocols import SandboxFiles
from codenav.core.system.terminal_text import neutral
from codenav.sandboxes.autorun import runner_of
from codenav.sandboxes.filenames import Unwanted, name_to_write, on_a_line
from codenav.sandboxes.folders import HeldFolder


class FileAccess(Protocol):
    """The file operations that each kind of sandbox implements. See `codenav.core.protocols.SandboxFiles`."""

    def list_files(self, folder: str, *, recursive: bool) -> Sequence[FileEntry]: ...
    def stat_file(self, name: str) -> FileEntry: ...
    def remove_file(self, name: str) -> None: ...
    def make_folder(self, name: str) -> None: ...
    def get_file(self, name: str, file: IO[bytes]) -> None: ...
    def put_file(self, name: str, file: IO[bytes], *, executable: bool | None) -> None: ...


class Files:
    """The implementation of `codenav.core.protocols.SandboxFiles`. `shown` is applied to the names that come out."""

    def __init__(self, access: FileAccess, shown: Callable[[str], str] = str) -> None:
        self._access, self._shown = access, shown

    def list(self, folder: str = "", *, recursive: bool = False) -> Sequence[FileEntry]:
        """Return the entries of a folder, sorted by name."""
        return [self._entry(entry) for entry in self._access.list_files(_clean(folder), recursive=recursive)]

    def stat(self, name: str) -> FileEntry:
        """Return the entry of one file or folder."""
        return self._entry(self._access.stat_file(_clean(name)))

    def exists(self, name: str) -> bool:
        """True if an entry of that name exists, of whatever kind."""
        try:
            self._access.stat_file(_clean(name))
        except NotFound:
            return False
        return True

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        file = io.BytesIO()
        self.read_into(name, file)
        return file.getvalue()

    def read_into(self, name: str, file: IO[bytes]) -> None:
        """Copy a file into `file`, piece by piece."""
        self._access.get_file(name, file)

    def write(self, name: str, data: bytes | str, *, executable: bool | None = None) -> None:
        """Write a file."""
        self.write_from(name, io.BytesIO(data.encode() if isinstance(data, str) else data), executable=executable)

    def write_from(self, name: str, file: IO[bytes], *, executable: bool | None = None) -> None:
        """Write a file from `file`, piece by piece."""
        self._access.put_file(name, file, executable=executable)

    def make_folder(self, name: str) -> None:
        """Make a folder."""
        self._access.make_folder(_clean(name))

    def remove(self, name: str) -> None:
        """Remove a file, or a folder with everything in it."""
        self._access.remove_file(_clean(name))

    def upload(self, path: str | Path, name: str = "") -> Copied:
        """Copy a local file or folder into the sandbox."""
        source = Path(path)
        if not source.exists():
            raise NotFound(f"there is no {path}", hint="name a file or a folder")
        target = _clean(name)
        if not target or name.endswith("/") or self._is_folder(target):
            target = f"{target}/{Path(os.path.abspath(source)).name}".lstrip("/")
        if source.is_dir():
            return self._upload_folder(source, target)
        with _readable(path), source.open("rb") as file:
            self._put(target, file)
        return Copied([target])

    def download(self, name: str, path: str | Path) -> Copied:
        """Copy a file or folder of the sandbox to a local path."""
        into, inside = Path(path), _clean(name)
        entry = self._access.stat_file(inside)
        if entry.kind not in ("file", "folder"):
            raise NotFound(f"{neutral(name)} is neither a file nor a folder", hint="list it with files.list()")
        if inside and (into.is_dir() or str(path).endswith("/")):
            into = into / inside.rpartition("/")[2]
        if entry.kind == "file":
            # The name in `entry` may have been masked.
            done = self._download([replace(entry, name=inside)], into.parent, lambda _: [into.name])
            if done.left:
                raise UsageError(f"not copied: {done.left[0]}", hint="read it with files.read()")
            return done
        entries = [one for one in self._access.list_files(inside, recursive=True) if one.kind != "folder"]
        with _writable(into):
            into.mkdir(exist_ok=True)
        start = len(inside) + 1 if inside else 0
        return self._download(entries, into, lambda one: one.name[start:].split("/"))

    def shown_as(self, shown: Callable[[str], str]) -> Files:
        """Return the same files with `shown` applied to the names that come out."""
        return Files(self._access, shown)

    def _upload_folder(self, source: Path, target: str) -> Copied:
        done: list[str] = []
        left: dict[str, list[str]] = {}
        with HeldFolder(source) as held:
            for name, _ in _listable(held, left):
                with _readable(source / name), held.open_file(name) as file:
                    self._put(f"{target}/{name}", file)
                done.append(f"{target}/{name}")
        return Copied(done, [f"{on_a_line(name)}: {reason}" for reason, names in left.items() for name in names])

    def _put(self, name: str, file: IO[bytes]) -> None:
        executable = bool(os.fstat(file.fileno()).st_mode & stat.S_IXUSR)
        if file.seekable() and os.fstat(file.fileno()).st_size:
            self._access.put_file(name, file, executable=executable)
            return
        # Pipes and files of the kernel have no size until they are read to the end.
        with tempfile.TemporaryFile() as whole:
            shutil.copyfileobj(file, whole)
            whole.seek(0)
            self._access.put_file(name, whole, executable=executable)

    def _download(
        self, entries: Sequence[FileEntry], root: Path, parts_of: Callable[[FileEntry], Sequence[str]]
    ) -> Copied:
        """Copy entries below `root`. Their names come from inside, so no link is followed on the way."""
        files: list[str] = []
        left: list[str] = []
        run_by: dict[str, str] = {}
        if not root.is_dir():
            raise UsageError(f"cannot write {root}: there is no such folder", hint="name a folder that is there")
        with HeldFolder(root) as held:
            for entry in entries:
                parts = parts_of(entry)
                target = str(root.joinpath(*parts))
                try:
                    if entry.kind != "file":
                        raise Unwanted("a symbolic link" if entry.kind == "link" else "not a regular file")
                    name_to_write(entry.name)
                    name_to_write("/".join(parts))
                    with _writable(target), held.replacing(parts, over_links=True) as writing:
                        self._access.get_file(entry.name, writing.file)
                        writing.make_executable(entry.executable)
                except (Unwanted, NotFound) as reason:
                    left.append(self._shown(f"{on_a_line(entry.name)}: {reason}"))
                    continue
                files.append(target)
                tool = runner_of(parts)
                if tool:
                    run_by[target] = tool
        return Copied(files, left, run_by)

    def _is_folder(self, name: str) -> bool:
        try:
            return self._access.stat_file(name).kind == "folder"
        except NotFound:
            return False

    def _entry(self, entry: FileEntry) -> FileEntry:
        return FileEntry(self._shown(entry.name), entry.kind, entry.size, entry.modified, entry.executable)


class WithFiles(ABC):
    """Base class for the file methods of a sandbox, all of which use its `files`."""

    @property
    @abstractmethod
    def files(self) -> SandboxFiles:
        """See `codenav.core.protocols.Sandbox.files`."""

    def artifacts(self) -> Sequence[str]:
        """Return the regular files of the work folder. See `codenav.core.protocols.Sandbox.artifacts`."""
        return [entry.name for entry in self.files.list(recursive=True) if entry.kind == "file"]

    def read_file(self, name: str) -> bytes:
        """Return the content of a file of the work folder. See `codenav.core.protocols.Sandbox.read_file`."""
        return self.files.read(name)

    def write_file(self, name: str, data: bytes) -> None:
        """Write a file into the work folder. See `codenav.core.protocols.Sandbox.write_file`."""
        self.files.write(name, data)


def _clean(name: str) -> str:
    """Strip the slash after a folder's name. `.` becomes the empty name of the work folder."""
    return "" if name in (".", "./") else name[:-1] if name.endswith("/") and name != "/" else name


def _listable(held: HeldFolder, left: dict[str, list[str]]) -> Iterator[tuple[str, os.stat_result]]:
    with _readable(held.path):
        yield from held.files(left)


@contextlib.contextmanager
def _readable(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NotFound(f"cannot read {path}: {error.strerror}", hint="name a file that you may read") from error


@contextlib.contextmanager
def _writable(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull(f"no room for {path}", hint="free some space") from error
        raise UsageError(f"cannot write {path}: {error.strerror}", hint="name a folder that is there") from error
