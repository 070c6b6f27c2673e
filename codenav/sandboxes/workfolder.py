"""The work folder on the host. It is copied in at the start, and changed files are written back after each step.

Nothing from inside is trusted: names are relative and checked, path components are opened without following
links, sizes are bounded, files are replaced atomically, and only while they are as the code had them; nothing on the
host is ever deleted.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from codenav.core.errors import UsageError
from codenav.core.execution import MIB, Mount, Resources
from codenav.core.system.terminal_text import few
from codenav.sandboxes.autorun import runner_of
from codenav.sandboxes.channel import Channel, Closed, TooLate
from codenav.sandboxes.decoding import Malformed
from codenav.sandboxes.filenames import (
    REPOSITORIES,
    Unwanted,
    is_plain,
    is_repository,
    name_list,
    name_to_write,
    on_a_line,
)
from codenav.sandboxes.folders import HeldFolder
from codenav.sandboxes.guest_files import TooLarge, get, put
from codenav.sandboxes.places import within
from codenav.sandboxes.placing import Placing, Version, new_digest
from codenav.sandboxes.rpc import Failed, answer_of

FILE_MODE = 0o644
"""Mode of a new file on the host."""
AGAIN = "it is tried again after the next step, and read_file has it"
_FULL = f"cannot be written: no room is left; {AGAIN}"
_LATE = "it takes too long; what is left comes with the next step"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_MOST_NAMED = 50


@dataclass
class CopiedOut:
    """The result of copying out after one step."""

    written: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """Lines with a reason for each file that was not written and is retried after the next step."""
    news: list[str] = field(default_factory=list)
    """Lines with a reason for each file that was not written and of which nothing was said before."""
    beside: dict[str, str] = field(default_factory=dict)
    """Files that the host has changed as well, with the names beside them that the code's versions got."""
    run_by: dict[str, str] = field(default_factory=dict)
    """Changed files that tools run on their own, with the names of those tools."""
    broken: bool = False
    """True if the sandbox broke the protocol, or ended."""

    @property
    def notice(self) -> str:
        """A notice about files that the host has changed as well, and changed ones that tools run on their own."""
        told = []
        if self.beside:
            named = few([f"{name} (the code's version is {other})" for name, other in self.beside.items()], _MOST_NAMED)
            told.append(f"{named}: changed outside of the sandbox too, and kept as it is there.")
        if self.run_by:
            named = few([f"{name} ({tool})" for name, tool in self.run_by.items()], _MOST_NAMED)
            told.append(f"changed, and run by tools without being asked for: {named}.")
        return " ".join(told)


@dataclass
class _Exchange:
    """The exchange of files with a sandbox since it was started."""

    settled: list[str] = field(default_factory=list)
    """Files that the guest does not know to be settled yet: they are copied, or will not be."""
    versions: dict[str, Version] = field(default_factory=dict)
    """The versions of files that were last copied, either way."""
    beside: dict[str, str] = field(default_factory=dict)
    """Files whose last version was put beside what the host has, and its name."""
    refused: dict[str, str] = field(default_factory=dict)
    """Files that were last said to be refused, with the reason."""
    failed: dict[str, str] = field(default_factory=dict)
    """Files that could not be copied out at the last try, with the reason."""


class WorkFolder:
    """The folder `spec.work_dir` and the state of its exchange with the sandbox. Without a folder nothing is exchanged.

    Raises:
        UsageError: the folder does not exist, or cannot be a work folder.
    """

    def __init__(
        self, path: Path | None, resources: Resources, *, copy_out: bool, mounts: Sequence[Mount] = ()
    ) -> None:
        self._held = None if path is None else HeldFolder(path)
        self._resources = resources
        self._copy_out = copy_out and path is not None
        self._exchanged = _Exchange()
        self.left: Sequence[str] = ()
        """Lines about files that could not be copied out at the last try."""
        self.notice = ""
        """A notice about files that were not copied in at the last listing, and that a person may miss."""
        if self._held is not None:
            try:
                _check(self._held, mounts if copy_out else ())
            except BaseException:
                self._held.close()
                raise

    def close(self) -> None:
        """Release the host's folder. Safe to call twice."""
        if self._held is not None:
            self._held.close()

    def files(self) -> Sequence[str]:
        """Return the regular files to copy in, relative and sorted, without links and repositories.

        Raises:
            UsageError: they exceed the size of the sandbox's work folder, cannot be listed, or the folder is gone.
        """
        if self._held is None:
            return []
        if self._held.removed:
            raise UsageError(f"no such work folder: {self._held.path}", hint="start another sandbox")
        found, size = [], 0
        left: dict[str, list[str]] = {}
        try:
            for name, info in self._held.files(left):
                found.append(name)
                size += info.st_size
                if size > self._resources.work_bytes:
                    raise UsageError(
                        f"the work folder {self._held.path} holds more than the "
                        f"{self._resources.work_bytes / MIB:.0f} MiB that a sandbox takes",
                        hint=f"name a smaller one with --work-dir, and show this one with --mount {self._held.path}",
                    )
        except OSError as error:
            raise UsageError(f"cannot list the work folder {self._held.path}: {error.strerror}") from error
        lines = [f"{name_list(names)} ({reason})" for reason, names in left.items()]
        self.notice = f"not copied in from the work folder: {', '.join(lines)}" if lines else ""
        return found

    def open_file(self, name: str) -> IO[bytes]:
        """Open one of the `files` for reading. Raises OSError."""
        if self._held is None:
            raise FileNotFoundError(errno.ENOENT, "no work folder")
        return self._held.open_file(name)

    def fill(self, channel: Channel, names: Sequence[str], deadline: float) -> None:
        """Send files into the sandbox.

        Raises:
            UsageError: a file cannot be read, or does not fit.
        """
        self._exchanged = _Exchange()
        for name in names:
            digest = new_digest()
            try:
                file = self.open_file(name)
            except OSError as error:
                raise UsageError(f"cannot read {name} in the work folder: {error.strerror}") from error
            with file:
                executable = bool(os.fstat(file.fileno()).st_mode & stat.S_IXUSR)
                try:
                    put(channel, name, file, deadline, executable=executable, on_piece=digest.update)
                except Failed as reason:
                    raise UsageError(f"cannot copy {name} into the sandbox: {reason}") from None
            self._exchanged.versions[name] = Version(digest.digest(), executable)

    def collect(self, channel: Channel, deadline: float, *, silent: bool = False) -> CopiedOut:
        """Write changed files back, the smallest first.

        Files that fail, or are not done by the deadline, are retried after the next step. `channel` may then still owe
        an answer. `silent` leaves files inside that tools run on their own, for use when nobody would be told.
        """
        done = CopiedOut()
        if not self._copy_out or self._held is None:
            return done
        work = _Round(self._held, self._resources, channel, deadline, self._exchanged, done, silent)
        try:
            work.run()
        except (Malformed, Closed) as error:
            work.refuse(str(error))
            done.broken = True
        finally:
            work.tell()
        self.left = done.left
        return done


def _check(held: HeldFolder, mounts: Sequence[Mount]) -> None:
    if any(is_repository(part) for part in held.path.parts):
        raise UsageError(f"{held.path} belongs to version control", hint="name another work folder")
    here = str(held.path)
    for mount in mounts:
        there = os.path.realpath(mount.on_host)
        if mount.writable and (within(here, there) or within(there, here)):
            raise UsageError(
                f"the work folder {held.path} and {mount.path}, which the code can write to, lie in each other",
                hint="name a work folder outside of what is mounted with :rw",
            )


class _Round:
    """One round of copying out, after one step."""

    def __init__(
        self,
        held: HeldFolder,
        resources: Resources,
        channel: Channel,
        deadline: float,
        exchanged: _Exchange,
        done: CopiedOut,
        silent: bool,
    ) -> None:
        self._held, self._resources, self._channel, self._deadline = held, resources, channel, deadline
        self._exchanged, self._done, self._silent = exchanged, done, silent
        self._failed: dict[str, list[str]] = {}
        self._refused: dict[str, list[str]] = {}
        self._queue: list[tuple[str, int]] = []
        self._total = self._seen = 0

    def run(self) -> None:
        """Copy the changed files out. Raises Malformed, Closed."""
        try:
            for name, size in self._changes():
                reason = self._write(name, size)
                if reason == _FULL:
                    # Larger files do not fit either.
                    self._failed.setdefault(_FULL, []).extend(self._waiting())
                    return
                del self._queue[0]
                if reason:
                    self._failed.setdefault(reason, []).append(name)
        except TooLate:
            self._failed.setdefault(_LATE, []).extend(self._waiting())

    def refuse(self, reason: str) -> None:
        """Note why the files that have not come yet never will."""
        self._refused.setdefault(reason, []).extend(self._waiting())

    def tell(self) -> None:
        """Write the lines about files that were not copied out."""
        failed, refused = self._exchanged.failed, self._exchanged.refused
        for reasons, before in ((self._refused, refused), (self._failed, failed)):
            for reason, names in reasons.items():
                more = self._total - self._seen if reason in (_FULL, _LATE) else 0
                fresh = [name for name in names if before.get(name) != reason]
                if fresh:
                    self._done.news.append(f"{name_list(fresh, len(fresh) + more)}: {reason}")
                if before is failed:
                    self._done.left.append(f"{name_list(names, len(names) + more)}: {reason}")
        refused.update({name: reason for reason, names in self._refused.items() for name in names})
        self._exchanged.failed = {name: reason for reason, names in self._failed.items() for name in names}

    def _waiting(self) -> list[str]:
        return [name for name, _ in self._queue] or ["the changed files"]

    def _changes(self) -> Iterator[tuple[str, int]]:
        start, more = 0, True
        while more:
            asked: dict[str, Any] = {"op": "changes", "from": start, "left": REPOSITORIES, "settled": self._settled()}
            frame, _ = answer_of(self._channel, asked, self._deadline)
            self._note_refusals(frame)
            found = frame["files"]
            start += len(found)
            self._total = frame.get("total", start)
            self._seen = start
            more = bool(found) and start < self._total
            self._queue = sorted(((item[0], item[1]) for item in found), key=lambda item: (item[1], item[0]))
            while self._queue:
                yield self._queue[0]

    def _note_refusals(self, frame: Any) -> None:
        for name, reason in frame["unseen"]:
            self._failed.setdefault(f"{on_a_line(reason)}; it is tried again after the next step", []).append(name)
        for name, reason in frame["refused"]:
            self._done.news.append(f"{on_a_line(name)}: {on_a_line(reason)}")
        if frame.get("more"):
            reason = "no regular files, or they cannot be looked into"
            self._refused.setdefault(reason, []).append(f"{frame['more']} more")

    def _settled(self) -> list[str]:
        settled, self._exchanged.settled = self._exchanged.settled, []
        return settled

    def _write(self, name: str, size: int) -> str:
        """Write a file. Return an empty string, or the reason for a failure that is worth a retry."""
        try:
            if size > self._resources.file_bytes:
                raise TooLarge(self._resources.file_bytes)
            parts = name_to_write(name)
            tool = runner_of(parts)
            if tool and self._silent:
                return f"{tool} would run it, and nobody would be told"
            self._place(name, parts, tool)
        except Unwanted as refusal:
            self._refused.setdefault(str(refusal), []).append(name)
            told = self._exchanged.refused.get(name) == str(refusal)
            if not told and is_plain(name) and runner_of(name.split("/")):
                self._done.run_by[name] = f"{runner_of(name.split('/'))}; not copied out"
        except Failed as failure:
            return f"cannot be read inside: {on_a_line(str(failure))}; it is tried again after the next step"
        except OSError as error:
            return _FULL if error.errno in _NO_ROOM else f"cannot be written: {error.strerror}; {AGAIN}"
        else:
            self._exchanged.refused.pop(name, None)
        self._exchanged.settled.append(name)
        return ""

    def _place(self, name: str, parts: Sequence[str], tool: str) -> None:
        """Write a file under its name, or beside what the host has there."""
        known = self._exchanged
        most = max(self._resources.work_bytes, self._resources.file_bytes)
        placing = Placing(known.versions.get(name), known.beside.get(name, ""), most)
        with self._held.replacing(parts, FILE_MODE, place=placing.place) as writing:
            placing.executable = get(
                self._channel,
                name,
                writing.file.write,
                self._deadline,
                most=self._resources.file_bytes,
                settled=self._settled,
            )
            if writing.before is None or placing.changes_mode:
                writing.make_executable(placing.executable)
        if placing.now is not None:
            known.versions[name] = placing.now
        if not placing.name:
            return
        written = "/".join([*parts[:-1], placing.name])
        self._done.written.append(written)
        if written != name:
            known.beside[name] = placing.name
            self._done.beside[name] = written
            tool = runner_of([*parts[:-1], placing.name])
        if tool:
            self._done.run_by[written] = tool
