"""Content that many episodes share: each input file is kept once, under the digest of its content.

Each `inputs/NAME` of an episode is a hard link to `objects/SHA256`. No list records the users of a file: the file
system counts the links, and a file with one link is unused. Even after a kill, each name leads to a whole file.
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
    """The shared files, in one folder, which is created with the first file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, source: Path | IO[bytes], target: Path) -> None:
        """Create `target` as a read-only link to the shared file that has the content of the file `source`.

        A file that its owner may execute is shared among such files only, and stays executable. Where the file system
        has no hard links, or no more for this file, `target` is a file of its own.

        Raises:
            OSError: the source is not a readable regular file, or there is no room.
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
        # A shared file that a power cut truncated, or somebody changed, is replaced; earlier links keep the old one.
        good = filecmp.cmp(shared, target, shallow=False)
        fresh = self.folder / f"{_FRESH}{os.urandom(8).hex()}"
        os.link(shared if good else target, fresh)
        try:
            os.replace(fresh, target if good else shared)
        except OSError:
            fresh.unlink(missing_ok=True)
            raise

    def prune(self) -> int:
        """Remove the files that no episode needs any more; return the bytes that they took on the disk.

        A run that begins meanwhile finds the file or creates it again.
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
