"""Content that many episodes share: a file of their inputs is kept once, under the digest of what it holds.

Each `inputs/NAME` of an episode is a hard link to `objects/SHA256`. No list says who needs what: the file system counts
the links, and a file with one link is needed by nobody. Whatever is killed in between, each name leads to a whole file.
"""

from __future__ import annotations

import contextlib
import filecmp
import hashlib
import os
from pathlib import Path
from typing import IO

_PIECE = 1 << 20
_FRESH = ".new-"


class Objects:
    """The shared files, in one folder, which is made when the first one is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, source: Path | IO[bytes], target: Path) -> None:
        """Make `target`, with the content of the file `source`, as a read-only link to the shared file of that content.

        Who may execute the source may execute the link: such files are shared among themselves.
        Where the file system has no hard links, or no more of this file, `target` is a file of its own.

        Raises:
            OSError: the source is no regular file that can be read, or there is no room.
        """
        digest = hashlib.sha256()
        if isinstance(source, Path):
            reading = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            source = os.fdopen(reading, "rb")
        with source as file, open(target, "xb") as copy:
            executable = os.fstat(file.fileno()).st_mode & 0o100
            while piece := file.read(_PIECE):
                digest.update(piece)
                copy.write(piece)
        os.chmod(target, 0o400 | executable)
        with contextlib.suppress(OSError):
            self._share(target, self.folder / (digest.hexdigest() + ("-x" if executable else "")))

    def _share(self, target: Path, shared: Path) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            os.link(target, shared)
            return
        except FileExistsError:
            pass
        # What a power cut left half written, or somebody changed, is replaced; who has it already keeps it.
        good = filecmp.cmp(shared, target, shallow=False)
        fresh = self.folder / f"{_FRESH}{os.urandom(8).hex()}"
        os.link(shared if good else target, fresh)
        try:
            os.replace(fresh, target if good else shared)
        except OSError:
            fresh.unlink(missing_ok=True)
            raise

    def prune(self) -> int:
        """Remove what no episode needs any more; the bytes that it had on the disk.

        A run that begins meanwhile finds the file or makes it anew.
        """
        freed = 0
        with contextlib.suppress(FileNotFoundError), os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    if status.st_nlink == 1 or entry.name.startswith(_FRESH):
                        os.unlink(entry.path)
                        freed += status.st_blocks * 512 if status.st_nlink == 1 else 0
        return freed
