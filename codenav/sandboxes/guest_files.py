"""File access through the supervisor, which `box.files` of a running sandbox is built on."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import IO, Any, Protocol, TypeVar

from codenav.core.errors import NotFound, UsageError
from codenav.core.execution import MIB, FileEntry, Resources
from codenav.core.system.terminal_text import neutral
from codenav.sandboxes.channel import Channel, TooLate
from codenav.sandboxes.decoding import Malformed
from codenav.sandboxes.filenames import Unwanted, checked_name, is_plain
from codenav.sandboxes.rpc import Failed, answer_of

CHUNK = 1 << 20
DONE, DATA = ("done",), ("data",)
MOST_ENTRIES = 200_000
"""Most entries of one folder that are listed."""
_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}


T = TypeVar("T")


class Ask(Protocol):
    """A function that runs a request over a channel within a time. `what` describes the request in errors."""

    def __call__(self, what: str, seconds: float, ask: Callable[[Channel, float], T], /) -> T: ...


class GuestFiles:
    """An implementation of `codenav.sandboxes.files.FileAccess` over the channel of a running sandbox."""

    def __init__(self, resources: Resources, ask: Ask) -> None:
        self._most, self._seconds, self._ask = resources.file_bytes, resources.copy_seconds, ask

    def list_files(self, folder: str, *, recursive: bool) -> Sequence[FileEntry]:
        """List a folder, without names that could not be requested. See `codenav.core.protocols.SandboxFiles.list`."""

        def ask(channel: Channel, deadline: float) -> Sequence[FileEntry]:
            found: list[FileEntry] = []
            start, more = 0, True
            while more:
                asked = {"op": "list", "folder": _folder(folder), "deep": recursive, "from": start}
                try:
                    frame, _ = answer_of(channel, asked, deadline)
                except Failed as reason:
                    raise _missing("folder", folder, reason) from None
                entries = _entries_of(frame)
                start += len(entries)
                more = bool(entries) and start < min(frame["total"], MOST_ENTRIES)
                found += [entry for entry in entries if is_plain(entry.name)]
            return sorted(found, key=lambda entry: entry.name)

        return self._ask("list its files", self._seconds, ask)

    def stat_file(self, name: str) -> FileEntry:
        """See `codenav.core.protocols.SandboxFiles.stat`."""
        return self._ask(f"look at {name}", self._seconds, lambda *where: _stat(name, *where))

    def remove_file(self, name: str) -> None:
        """See `codenav.core.protocols.SandboxFiles.remove`."""

        def ask(channel: Channel, deadline: float) -> None:
            _stat(_named(name, "remove"), channel, deadline)
            try:
                answer_of(channel, {"op": "remove", "name": name}, deadline, expected=DONE)
            except Failed as reason:
                raise UsageError(f"cannot remove {neutral(name)} in the sandbox: {reason}") from None

        self._ask(f"remove {name}", self._seconds, ask)

    def make_folder(self, name: str) -> None:
        """See `codenav.core.protocols.SandboxFiles.make_folder`."""

        def ask(channel: Channel, deadline: float) -> None:
            try:
                answer_of(channel, {"op": "make", "name": _named(name, "make")}, deadline, expected=DONE)
            except Failed as reason:
                raise UsageError(f"cannot make the folder {neutral(name)} in the sandbox: {reason}") from None

        self._ask(f"make {name}", self._seconds, ask)

    def get_file(self, name: str, file: IO[bytes]) -> None:
        """See `codenav.core.protocols.SandboxFiles.read_into`."""

        def ask(channel: Channel, deadline: float) -> None:
            try:
                checked_name(name)
                get(channel, name, file.write, deadline, most=self._most)
            except TooLarge:
                raise UsageError(f"{neutral(name)} is larger than {self._most / MIB:.0f} MiB") from None
            except (Failed, Unwanted) as reason:
                raise _missing("file", name, reason) from None

        self._ask(f"read {name}", self._seconds, ask)

    def put_file(self, name: str, file: IO[bytes], *, executable: bool | None) -> None:
        """Write a file, which is copied out only after a step changes it.

        See `codenav.core.protocols.SandboxFiles.write_from`.
        """

        def ask(channel: Channel, deadline: float) -> None:
            try:
                checked_name(name)
                if left_in(file) > self._most:
                    raise TooLarge(self._most)
                put(channel, name, file, deadline, executable=executable)
            except (Failed, Unwanted) as reason:
                raise UsageError(f"cannot write {neutral(name)} in the sandbox: {reason}") from None

        self._ask(f"write {name}", self._seconds, ask)


class TooLarge(Unwanted):
    """A file of more than the most bytes that one may have."""

    def __init__(self, most: int) -> None:
        super().__init__(f"larger than {most / MIB:.0f} MiB")


def get(
    channel: Channel,
    name: str,
    write: Callable[[bytes], object],
    deadline: float,
    *,
    most: int,
    settled: Callable[[], list[str]] = list,
) -> bool:
    """Get a file of the sandbox piece by piece. Return True if the code may execute it.

    `settled` names files that the guest need not keep: they are copied, or will not be.

    Raises:
        TooLarge, Failed, TooLate
    """
    size, last = 0, False
    while not last:
        if time.monotonic() > deadline:
            raise TooLate
        asked = {"op": "get", "name": name, "offset": size, "settled": settled()}
        frame, piece = answer_of(channel, asked, deadline, expected=DATA)
        size += len(piece)
        last = frame["last"] or not piece
        if size > most:
            raise TooLarge(most)
        write(piece)
    return bool(frame.get("executable"))


def put(
    channel: Channel,
    name: str,
    file: IO[bytes],
    deadline: float,
    *,
    executable: bool | None,
    on_piece: Callable[[bytes], object] = bytes,
) -> None:
    """Put a file into the sandbox from its current position to its end. Raises Failed.

    With `executable` None an existing file keeps that property. `on_piece` gets all that was sent.
    """
    first, data = True, file.read(CHUNK)
    while data or first:
        asked = {"op": "put", "name": name, "first": first, "executable": executable}
        answer_of(channel, asked, deadline, data, expected=DONE)
        on_piece(data)
        first, data = False, file.read(CHUNK)


def left_in(file: IO[bytes]) -> int:
    """Return the number of bytes from the current position of a file to its end."""
    at = file.tell()
    size = file.seek(0, os.SEEK_END) - at
    file.seek(at)
    return size


def _named(name: str, verb: str) -> str:
    try:
        checked_name(name)
    except Unwanted as reason:
        raise UsageError(f"cannot {verb} {neutral(name)!r} in the sandbox: {reason}") from None
    return name


def _folder(name: str) -> str:
    """Validate the name of a folder. The empty name is the work folder."""
    if name:
        try:
            checked_name(name)
        except Unwanted as reason:
            raise _missing("folder", name, reason) from None
    return name


def _stat(name: str, channel: Channel, deadline: float) -> FileEntry:
    try:
        frame, _ = answer_of(channel, {"op": "stat", "name": _folder(name)}, deadline)
    except Failed as reason:
        raise _missing("file or folder", name, reason) from None
    entries = _entries_of(frame)
    if len(entries) != 1:
        raise Malformed("not one entry")
    return replace(entries[0], name=name)


def _missing(what: str, name: str, reason: object) -> NotFound:
    return NotFound(
        f"no {what} {neutral(name) or '.'} in the work folder of the sandbox: {reason}",
        hint="names are relative to the work folder; list them with files.list()",
    )


def _entries_of(frame: Mapping[str, Any]) -> Sequence[FileEntry]:
    found = []
    for name, size, modified, mode in frame["entries"]:
        kind = _KINDS.get(stat.S_IFMT(mode), "other")
        executable = kind == "file" and bool(mode & stat.S_IXUSR)
        found.append(FileEntry(name, kind, size if kind == "file" else 0, modified / 1000, executable))
    return found
