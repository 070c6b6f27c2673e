"""What carries its owner: labels of an engine's objects, temporary folders."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from codenav.sandboxes.cgroups import remove_groups
from codenav.sandboxes.filenames import is_part
from codenav.system.process_identity import Owner

OWNER_LABEL = "codenav.owner"
"""Of everything made in an engine: the text of an `Owner`."""
KIND_LABEL = "codenav.kind"
"""`sandbox` or `image`."""

_MARK = ".owner"
_PARTS = "part "


def labels(kind: str) -> dict[str, str]:
    """Labels for something in an engine that belongs to this process."""
    return {OWNER_LABEL: str(Owner.this_process()), KIND_LABEL: kind}


@dataclass(frozen=True)
class OwnedFolder:
    """A temporary folder with a file beside it, written before and removed after it.

    That mark names the owner in its first line, and in further ones what goes with the folder: control groups, and
    files that were being written elsewhere.
    """

    path: Path

    @classmethod
    def make(cls) -> OwnedFolder:
        """An empty one that only this user can enter."""
        descriptor, mark = tempfile.mkstemp(suffix=_MARK, prefix="", dir=_place())
        try:
            os.write(descriptor, str(Owner.this_process()).encode())
        finally:
            os.close(descriptor)
        folder = cls(Path(mark.removesuffix(_MARK)))
        folder.path.mkdir(mode=0o700)
        return folder

    @property
    def name(self) -> str:
        """Unlike any other of this user."""
        return self.path.name

    @property
    def owner(self) -> Owner | None:
        """None where its mark is gone, or says something else."""
        return Owner.from_text(next(iter(self._lines()), ""))

    @property
    def groups(self) -> list[Path]:
        """The control groups that were noted."""
        return [Path(line) for line in self._lines()[1:] if line.startswith("/")]

    def note(self, groups: Iterable[Path]) -> None:
        """Remember control groups that are going to be made."""
        with self._mark.open("a", encoding="utf-8") as file:
            file.writelines(f"\n{group}" for group in groups)

    def note_parts(self, folder: Path, name: str) -> None:
        """Remember that files below a folder have this name, unlike any other, while they are written."""
        with self._mark.open("a", encoding="utf-8") as file:
            file.write(f"\n{_PARTS}{name} {quote(os.fsencode(folder))}")

    def parts(self) -> Iterator[Path]:
        """The files that were noted and are there. To be asked when the owner has ended."""
        for line in self._lines()[1:]:
            name, _, folder = line.removeprefix(_PARTS).partition(" ")
            if line.startswith(_PARTS) and is_part(name):
                yield from _named(name, os.fsdecode(unquote_to_bytes(folder)))

    def remove(self) -> bool:
        """Remove it with all that goes with it, also what its user made unreadable; whether all is gone."""
        gone = remove_groups(self.groups)
        _open_up(self.path)
        shutil.rmtree(self.path, ignore_errors=True)
        if gone and not os.path.lexists(self.path):
            self._mark.unlink(missing_ok=True)
            return True
        return False

    @property
    def _mark(self) -> Path:
        return Path(f"{self.path}{_MARK}")

    def _lines(self) -> list[str]:
        try:
            return self._mark.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []


def owned_folders() -> Iterator[OwnedFolder]:
    """Those of this user on this machine, whichever process made them."""
    place = _usual_place()
    if not _ours(place):
        return
    for name in os.listdir(place):
        if name.endswith(_MARK) and name != _MARK:
            yield OwnedFolder(place / name.removesuffix(_MARK))


def _usual_place() -> Path:
    return Path(tempfile.gettempdir(), f"codenav-{os.geteuid()}")


def _place() -> Path:
    """The user's own folder in the temporary one; where somebody else has made that, a fresh one."""
    place = _usual_place()
    with contextlib.suppress(FileExistsError):
        place.mkdir(mode=0o700)
    return place if _ours(place) else Path(tempfile.mkdtemp(prefix="codenav-"))


def _ours(place: Path) -> bool:
    try:
        found = os.lstat(place)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


def _named(name: str, folder: str) -> Iterator[Path]:
    """Files of that name, at any depth; links are not followed."""
    folders = [folder]
    while folders:
        at = folders.pop()
        with contextlib.suppress(OSError), os.scandir(at) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.name == name:
                    yield Path(entry.path)


def _open_up(path: Path) -> None:
    """What is in a folder that was closed (`chmod 000`) can be removed only by root."""
    for folder, names, _ in os.walk(path):
        for name in names:
            inner = os.path.join(folder, name)
            with contextlib.suppress(OSError):
                if stat.S_ISDIR(os.lstat(inner).st_mode):
                    os.chmod(inner, 0o700)
