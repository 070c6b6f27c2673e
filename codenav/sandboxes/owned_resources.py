"""Resources that carry a mark of their owner: labels of objects in an engine, temporary folders."""

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

from codenav.core.system.process_identity import Owner
from codenav.sandboxes.cgroups import remove_groups
from codenav.sandboxes.filenames import is_part

OWNER_LABEL = "codenav.owner"
"""Label of everything made in an engine. Its value is the text of an `Owner`."""
KIND_LABEL = "codenav.kind"
"""Label with the kind of an object: `sandbox` or `image`."""

_MARK = ".owner"
_PARTS = "part "


def labels(kind: str) -> dict[str, str]:
    """Return the labels of an object in an engine that belongs to this process."""
    return {OWNER_LABEL: str(Owner.this_process()), KIND_LABEL: kind}


@dataclass(frozen=True)
class OwnedFolder:
    """A temporary folder and its mark, a file beside it that is written before and removed after it.

    The first line of the mark names the owner. Further lines name what has to be removed with the folder: control
    groups, and files that were being written elsewhere.
    """

    path: Path

    @classmethod
    def make(cls) -> OwnedFolder:
        """Make an empty folder that only this user can enter."""
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
        """The name of the folder, unique among those of this user."""
        return self.path.name

    @property
    def owner(self) -> Owner | None:
        """The owner, or None if the mark is missing or invalid."""
        return Owner.from_text(next(iter(self._lines()), ""))

    @property
    def groups(self) -> list[Path]:
        """The control groups that were noted."""
        return [Path(line) for line in self._lines()[1:] if line.startswith("/")]

    def note(self, groups: Iterable[Path]) -> None:
        """Note control groups before they are made."""
        with self._mark.open("a", encoding="utf-8") as file:
            file.writelines(f"\n{group}" for group in groups)

    def note_parts(self, folder: Path, name: str) -> None:
        """Note the unique name that files below a folder have while they are being written."""
        with self._mark.open("a", encoding="utf-8") as file:
            file.write(f"\n{_PARTS}{name} {quote(os.fsencode(folder))}")

    def parts(self) -> Iterator[Path]:
        """Yield the noted files that exist. To be used after the owner has ended."""
        for line in self._lines()[1:]:
            name, _, folder = line.removeprefix(_PARTS).partition(" ")
            if line.startswith(_PARTS) and is_part(name):
                yield from _named(name, os.fsdecode(unquote_to_bytes(folder)))

    def remove(self) -> bool:
        """Remove the folder with everything noted, even what its user made unreadable. Return True if all is gone."""
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
    """Yield the folders of this user on this machine, whichever process made them."""
    place = _usual_place()
    if not _ours(place):
        return
    for name in os.listdir(place):
        if name.endswith(_MARK) and name != _MARK:
            yield OwnedFolder(place / name.removesuffix(_MARK))


def _usual_place() -> Path:
    return Path(tempfile.gettempdir(), f"codenav-{os.geteuid()}")


def _place() -> Path:
    """Return the user's own folder in the temporary folder, or a new one if someone else owns that name."""
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
    """Yield files of a name at any depth below a folder. Links are not followed."""
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
    """Make the folders below a path accessible: otherwise only root could remove what is in them."""
    for folder, names, _ in os.walk(path):
        for name in names:
            inner = os.path.join(folder, name)
            with contextlib.suppress(OSError):
                if stat.S_ISDIR(os.lstat(inner).st_mode):
                    os.chmod(inner, 0o700)
