"""A private folder in the temporary directory that does not long outlive its owner."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

_PREFIX = "codenav-checks-"
_LOCK = "owner.lock"
_YOUNG = 60.0
"""Seconds for which a folder without an owner may be one that is just being created."""


class PrivateFolder:
    """A folder created empty by `renew`; this process locks it, so that others can tell an abandoned one."""

    def __init__(self) -> None:
        self.path: Path | None = None
        self._lock = -1

    def renew(self) -> Path:
        """Create a new, empty folder with mode 0700 in place of the last one. Removes abandoned folders of others.

        Raises:
            OSError: the folder cannot be created.
        """
        self.remove()
        sweep(Path(tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = os.open(self.path / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return self.path

    def remove(self) -> None:
        """Remove the folder; safe to call twice."""
        if self.path is not None:
            shutil.rmtree(self.path, ignore_errors=True)
            self.path = None
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def sweep(parent: Path) -> None:
    """Remove the folders in `parent` whose owner is gone, after kill -9 too; those of a living owner are locked."""
    for folder in parent.glob(f"{_PREFIX}*"):
        try:
            info = folder.lstat()
            own = stat.S_ISDIR(info.st_mode) and info.st_uid == os.getuid()
            if own and time.time() - info.st_mtime > _YOUNG and _abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            # Somebody else removed it in the meantime.
            continue


def _abandoned(folder: Path) -> bool:
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(lock)
