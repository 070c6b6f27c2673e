"""A private folder in the temporary directory that does not outlive its owner for long."""

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
"""Seconds in which a folder without an owner may be one that is just being made."""


class PrivateFolder:
    """Made empty with `renew`; locked by this process while it exists, so that others can tell an abandoned one."""

    def __init__(self) -> None:
        self.path: Path | None = None
        self._lock = -1

    def renew(self) -> Path:
        """Another, empty folder instead of the last one, with mode 0700. Removes those whose owner is gone.

        Raises:
            OSError: none can be made.
        """
        self.remove()
        sweep(Path(tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = os.open(self.path / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return self.path

    def remove(self) -> None:
        """Remove it; safe to call twice."""
        if self.path is not None:
            shutil.rmtree(self.path, ignore_errors=True)
            self.path = None
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def sweep(parent: Path) -> None:
    """Remove the folders in `parent` whose owner is gone, kill -9 included; those of a living one are locked."""
    for folder in parent.glob(f"{_PREFIX}*"):
        try:
            info = folder.lstat()
            own = stat.S_ISDIR(info.st_mode) and info.st_uid == os.getuid()
            if own and time.time() - info.st_mtime > _YOUNG and _abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            # Somebody else removed it in between.
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
