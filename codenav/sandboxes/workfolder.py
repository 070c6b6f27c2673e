"""The work folder on the host: copied in at the start, changed files written back after each step.

Nothing from inside is trusted: names are relative and checked, every component is opened without following
links, sizes are bounded, files are replaced atomically, nothing on the host is ever deleted.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from codenav.errors import NotFound, UsageError
from codenav.execution import MIB, Resources
from codenav.sandboxes.asking import Failed, answer_of
from codenav.sandboxes.channel import Channel, Closed, TooLate
from codenav.sandboxes.replies import Malformed, items_of
from codenav.text import neutral

CHUNK = 1 << 20
_SKIPPED = frozenset({"__pycache__"})
_DONE, _DATA = ("done",), ("data",)


class Unwanted(Exception):
    """A file from inside that is not written, and why."""


@dataclass
class CopiedOut:
    """What came of copying out after one step."""

    written: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """A line for each file that was not written, and why; the same line comes once per sandbox."""
    broken: bool = False
    """The sandbox did not keep to the protocol, or ended."""


class WorkFolder:
    """`spec.work_dir` and what has been exchanged with it; without a folder nothing is."""

    def __init__(self, path: Path | None, resources: Resources, *, copy_out: bool) -> None:
        self._path = None if path is None else Path(os.path.abspath(path))
        self._resources = resources
        self._copy_out = copy_out and path is not None
        self._told: set[str] = set()
        self._unfinished: list[str] = []
        self._behind = False

    def files(self) -> Sequence[str]:
        """The regular files to copy in, relative, sorted; links are not followed.

        Raises:
            UsageError: the folder is not there, or larger than the work folder of the sandbox.
        """
        if self._path is None:
            return []
        if not self._path.is_dir():
            raise UsageError(f"no such work folder: {self._path}", hint=f"mkdir -p {self._path}")
        found, size = [], 0
        for folder, folders, names in os.walk(self._path):
            folders[:] = sorted(name for name in folders if name not in _SKIPPED)
            for name in sorted(names):
                path = os.path.join(folder, name)
                try:
                    info = os.lstat(path)
                except FileNotFoundError:
                    # Somebody else works in the folder too.
                    continue
                if stat.S_ISREG(info.st_mode):
                    found.append(os.path.relpath(path, self._path))
                    size += info.st_size
            if size > self._resources.work_bytes:
                raise UsageError(
                    f"the work folder {self._path} holds more than the {self._resources.work_bytes / MIB:.0f} MiB "
                    "that a sandbox takes",
                    hint="name a smaller folder with --work-dir",
                )
        return found

    def fill(self, channel: Channel, names: Sequence[str], deadline: float) -> None:
        """Send the files.

        Raises:
            UsageError: one cannot be read, or does not fit.
        """
        for name in names:
            self._put(channel, name, deadline)
        if names:
            answer_of(channel, {"op": "filled"}, deadline, expected=_DONE)

    def _put(self, channel: Channel, name: str, deadline: float) -> None:
        try:
            descriptor = os.open(os.path.join(str(self._path), name), os.O_RDONLY | os.O_NOFOLLOW)
        except OSError as error:
            raise UsageError(f"cannot read {name} in the work folder: {error.strerror}") from error
        with os.fdopen(descriptor, "rb") as file:
            first = True
            while True:
                data = file.read(CHUNK)
                if not data and not first:
                    return
                try:
                    _put_piece(channel, name, data, first, deadline)
                except Failed as reason:
                    raise UsageError(f"cannot copy {name} into the sandbox: {reason}") from None
                first = False

    @staticmethod
    def names(channel: Channel, deadline: float) -> Sequence[str]:
        """The regular files inside, in order; without those whose names could not be asked for."""
        frame, _ = answer_of(channel, {"op": "list"}, deadline)
        found = frame.get("files")
        if not (isinstance(found, list) and all(isinstance(name, str) for name in found)):
            raise Malformed("the files are not a list of names")
        return sorted(name for name in found if _is_plain(name))

    def read(self, name: str, file: IO[bytes], channel: Channel, deadline: float) -> None:
        """Write a file inside to one of ours, piece by piece.

        Raises:
            NotFound: no regular file has that name.
            UsageError: it is larger than a file may be.
        """
        size, last = 0, False
        try:
            checked_name(name)
            while not last:
                if time.monotonic() > deadline:
                    raise TooLate
                asked = {"op": "get", "name": name, "offset": size, "copied": False}
                frame, piece = answer_of(channel, asked, deadline, expected=_DATA)
                size += len(piece)
                last = bool(frame.get("last")) or not piece
                if size > self._resources.file_bytes:
                    raise UsageError(f"{neutral(name)} is larger than {self._resources.file_bytes / MIB:.0f} MiB")
                file.write(piece)
        except (Failed, Unwanted) as reason:
            raise NotFound(f"no file {neutral(name)} in the work folder of the sandbox: {reason}") from None

    def write(self, name: str, file: IO[bytes], channel: Channel, deadline: float) -> None:
        """Put the rest of a file of ours inside, piece by piece. It is not copied out before a step changes it.

        Raises:
            UsageError: the name leads out of the work folder, or the file does not fit.
        """
        try:
            checked_name(name)
            size = left_in(file)
            if size > self._resources.file_bytes:
                raise Unwanted(f"larger than {self._resources.file_bytes / MIB:.0f} MiB")
            for start in range(0, size or 1, CHUNK):
                _put_piece(channel, name, file.read(min(CHUNK, size - start)), start == 0, deadline)
        except (Failed, Unwanted) as reason:
            raise UsageError(f"cannot write {neutral(name)} in the sandbox: {reason}") from None

    def collect(self, channel: Channel, deadline: float) -> CopiedOut:
        """Write back what changed, the smallest file first.

        What is not done by the deadline comes with the next step. `channel` may then still owe an answer.
        """
        done = CopiedOut()
        if not self._copy_out:
            return done
        waiting: list[tuple[str, int]] = []
        try:
            waiting += self._changes(channel, deadline, done)
            while waiting:
                self._write(channel, *waiting[0], deadline, done)
                del waiting[0]
            self._behind = False
        except TooLate:
            if not self._behind:
                done.refused.append(_late(waiting))
            self._behind = True
        except (Malformed, Closed) as error:
            done.refused.append(f"{_named(waiting)}: {error}")
            done.broken = True
        finally:
            # The guest may take for sent what it was just sending.
            self._unfinished = [name for name, _ in waiting[:1]]
        done.refused = [line for line in done.refused if line not in self._told]
        self._told.update(done.refused)
        return done

    def _changes(self, channel: Channel, deadline: float, done: CopiedOut) -> list[tuple[str, int]]:
        frame, _ = answer_of(channel, {"op": "changes", "unfinished": self._unfinished}, deadline)
        for item in items_of(frame, "refused"):
            if not (isinstance(item, list) and len(item) == 2 and all(isinstance(part, str) for part in item)):
                raise Malformed("a refused file is not name and reason")
            done.refused.append(": ".join(neutral(part)[:200] for part in item))
        found = []
        for item in items_of(frame, "files"):
            if not (isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) and type(item[1]) is int):
                raise Malformed("a changed file is not name and size")
            found.append((item[0], item[1]))
        return sorted(found, key=lambda item: item[1])

    def _write(self, channel: Channel, name: str, size: int, deadline: float, done: CopiedOut) -> None:
        try:
            if size > self._resources.file_bytes:
                raise Unwanted(f"larger than {self._resources.file_bytes / MIB:.0f} MiB")
            parts = checked_name(name)
            folder = _open_folder(str(self._path), parts[:-1])
            try:
                self._receive(channel, folder, name, parts[-1], deadline)
            finally:
                os.close(folder)
            done.written.append(name)
        except Unwanted as reason:
            done.refused.append(f"{neutral(name)[:200]}: {reason}")
        except OSError as error:
            done.refused.append(f"{neutral(name)[:200]}: cannot be written: {error.strerror}")

    def _receive(self, channel: Channel, folder: int, name: str, last: str, deadline: float) -> None:
        mode = 0o644
        with contextlib.suppress(FileNotFoundError):
            there = os.stat(last, dir_fd=folder, follow_symlinks=False).st_mode
            if not stat.S_ISREG(there):
                raise Unwanted("the host has something else than a regular file of that name")
            mode = there & 0o777
        temporary = f".codenav-{secrets.token_hex(8)}.part"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        descriptor = os.open(temporary, flags, 0o600, dir_fd=folder)
        try:
            try:
                self._copy(channel, name, descriptor, deadline)
                os.fchmod(descriptor, mode)
            finally:
                os.close(descriptor)
            os.replace(temporary, last, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
            raise

    def _copy(self, channel: Channel, name: str, descriptor: int, deadline: float) -> None:
        total, final = 0, False
        while not final:
            if time.monotonic() > deadline:
                raise TooLate
            asked = {"op": "get", "name": name, "offset": total, "copied": True}
            try:
                frame, data = answer_of(channel, asked, deadline, expected=_DATA)
            except Failed as reason:
                raise Unwanted(str(reason)) from None
            total += len(data)
            final = bool(frame.get("last")) or not data
            if total > self._resources.file_bytes:
                raise Unwanted(f"larger than {self._resources.file_bytes / MIB:.0f} MiB")
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
        if os.geteuid() == 0:
            owner = os.stat(str(self._path))
            os.fchown(descriptor, owner.st_uid, owner.st_gid)


def left_in(file: IO[bytes]) -> int:
    """Bytes from where a file stands to its end."""
    at = file.tell()
    size = file.seek(0, os.SEEK_END) - at
    file.seek(at)
    return size


def checked_name(name: str) -> list[str]:
    """The components of a name from inside.

    Raises:
        Unwanted: it is absolute, climbs, or holds characters that a terminal would act on.
    """
    if neutral(name) != name or "\n" in name or "\t" in name:
        raise Unwanted("control characters in its name")
    try:
        length = len(os.fsencode(name))
    except UnicodeEncodeError:
        raise Unwanted("its name cannot be written on this system") from None
    parts = name.split("/")
    if length > 4000 or any(part in ("", ".", "..") for part in parts):
        raise Unwanted("not a plain relative name")
    return parts


def _is_plain(name: str) -> bool:
    try:
        checked_name(name)
    except Unwanted:
        return False
    return True


def _put_piece(channel: Channel, name: str, data: bytes, first: bool, deadline: float) -> None:
    answer_of(channel, {"op": "put", "name": name, "first": first}, deadline, data, expected=_DONE)


def _named(files: Sequence[tuple[str, int]]) -> str:
    if not files:
        return "the changed files"
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return neutral(files[0][0])[:200] + more


def _late(files: Sequence[tuple[str, int]]) -> str:
    return f"{_named(files)}: it takes too long; what is left comes with the next step"


def _open_folder(root: str, parts: Sequence[str]) -> int:
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for part in parts:
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=at)
                _give_to_owner_of(at, part)
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
        finally:
            os.close(at)
        at = below
    return at


def _give_to_owner_of(folder: int, name: str) -> None:
    if os.geteuid() == 0:
        owner = os.fstat(folder)
        os.chown(name, owner.st_uid, owner.st_gid, dir_fd=folder, follow_symlinks=False)
