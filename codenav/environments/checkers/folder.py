"""A private folder in the temporary directory that does not long outlive its owner."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

from codenav.core.system.locks import in_use, unused

_PREFIX = "codenav-checks-"
_YOUNG = 60.0
"""Seconds for which a folder without an owner may be one that is just being created."""


class PrivateFolder:
    """A folder created empty by `renew`; this process marks it, so that others can tell an abandoned one."""

    def __init__(self) -> None:
        self.path: Path | None = None
        self._mark = -1

    def renew(self) -> Path:
        """Create a new, empty folder with mode 0700 in place of the last one. Removes abandoned folders of others.

        Raises:
            OSError: the folder cannot be created.
        """
        self.remove()
        sweep(Path(tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._mark = in_use(self.path)
        return self.path

    def remove(self) -> None:
        """Remove the folder; safe to call twice."""
        if self.path is not None:
            shutil.rmtree(self.path, ignore_errors=True)
            self.path = None
        if self._mark >= 0:
            os.close(self._mark)
            self._mark = -1


def sweep(parent: Path) -> None:
    """Remove the folders in `parent` whose owner is gone, after kill -9 too; those of a living owner are marked."""
    for folder in parent.glob(f"{_PREFIX}*"):
        try:
            info = folder.lstat()
            own = stat.S_ISDIR(info.st_mode) and info.st_uid == os.getuid()
            if own and time.time() - info.st_mtime > _YOUNG:
                with unused(folder) as free:
                    if free:
                        shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            # Somebody else removed it in the meantime.
            continue
