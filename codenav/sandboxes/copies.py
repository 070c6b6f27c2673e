"""A code base as a sandbox sees it: a copy without its secrets, since a live view shows what is saved into it later.

Copies are kept in codenav's cache and used again, by other processes too, while nothing in the code base has changed.
Who uses one holds a lock on the file beside it, which goes with the process; what nobody uses is removed in time.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
import shutil
import time
import weakref
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from codenav.config import home
from codenav.errors import Unavailable
from codenav.sandboxes.code_copy import Ignored, Walk
from codenav.sandboxes.owned_resources import OwnedFolder

KEPT_SECONDS = 7 * 86400.0
"""That a copy is kept which nobody uses."""
MOST_KEPT = 20
_LOCK = ".lock"


@dataclass(eq=False)
class CodeCopy:
    """A copy that is there for as long as this object is held."""

    path: str
    """Of the file or folder."""


def copied(root: str, *, holes: Collection[str] = (), ignored: Ignored | None = None) -> CodeCopy:
    """The copy of a file or folder, made where there is none of how it is now.

    `holes` are absolute paths below it where something else is going to be bound: folders, or files, that are empty.

    Raises:
        UsageError: it is larger than a copy should be, or cannot be read.
    """
    inner = frozenset(os.path.relpath(hole, root) for hole in holes)
    key = hashlib.sha256(repr((root, sorted(inner), ignored is not None)).encode()).hexdigest()[:20]
    try:
        place = home("cache") / "code"
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        stamp = Walk(root, inner, ignored).stamp()
        kept = _kept(place, key, stamp)
        return kept or _made(place, key, Walk(root, inner, ignored, str(place / _fresh(key)), _earlier(place, key)))
    except (OSError, Unavailable):
        return _temporary(root, inner, ignored)


def _fresh(key: str) -> str:
    return f"{key}-part-{secrets.token_hex(8)}"


def _earlier(place: Path, key: str) -> str:
    """The newest copy of the same code base; it may go meanwhile."""
    locks = sorted(place.glob(f"{key}-*{_LOCK}"), key=_used)
    whole = [str(lock).removesuffix(_LOCK) for lock in locks if "-part-" not in lock.name]
    return whole[-1] if whole else ""


def _kept(place: Path, key: str, stamp: str) -> CodeCopy | None:
    path = place / f"{key}-{stamp[:20]}"
    if not path.exists():
        return None
    lock = _locked(path, fcntl.LOCK_SH)
    if not path.exists():
        # It was removed before the lock was held.
        os.close(lock)
        return None
    return _held(path, lock)


def _made(place: Path, key: str, walk: Walk) -> CodeCopy:
    part = Path(walk.target)
    working = _locked(part, fcntl.LOCK_SH)
    try:
        path = place / f"{key}-{walk.stamp()[:20]}"
        lock = _locked(path, fcntl.LOCK_SH)
        if not path.exists():
            with contextlib.suppress(FileExistsError, OSError):
                os.rename(part, path)
    finally:
        _remove(part)
        os.close(working)
    copy = _held(path, lock)
    _prune(place, key)
    return copy


def _held(path: Path, lock: int) -> CodeCopy:
    os.utime(lock)
    copy = CodeCopy(str(path))
    weakref.finalize(copy, os.close, lock)
    return copy


def _locked(path: Path, how: int) -> int:
    """A descriptor with a lock on the file beside a copy, and not on one that was removed meanwhile."""
    name = f"{path}{_LOCK}"
    while True:
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, how)
            if os.path.exists(name) and os.path.samestat(os.fstat(descriptor), os.stat(name)):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _prune(place: Path, key: str) -> None:
    """Remove what nobody uses: earlier copies of a code base, old ones, and what was broken off."""
    locks = sorted(place.glob(f"*{_LOCK}"), key=_used, reverse=True)
    for number, lock in enumerate(locks):
        path = Path(str(lock).removesuffix(_LOCK))
        old = _used(lock) < time.time() - KEPT_SECONDS
        if not (old or number >= MOST_KEPT or path.name.startswith(key) or "-part-" in path.name):
            continue
        with contextlib.suppress(OSError):
            descriptor = _locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
            try:
                _remove(path)
            finally:
                os.close(descriptor)


def _used(lock: Path) -> float:
    try:
        return lock.stat().st_mtime
    except OSError:
        return 0.0


def _remove(path: Path) -> None:
    """To be called with its lock held."""
    for folder, _, _ in os.walk(path):
        with contextlib.suppress(OSError):
            os.chmod(folder, 0o700)
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
    Path(f"{path}{_LOCK}").unlink(missing_ok=True)


def _temporary(root: str, inner: frozenset[str], ignored: Ignored | None) -> CodeCopy:
    """A copy for one sandbox, where the cache cannot be written to."""
    owned = OwnedFolder.make()
    try:
        walk = Walk(root, inner, ignored, str(owned.path / "code"))
        walk.stamp()
    except BaseException:
        owned.remove()
        raise
    copy = CodeCopy(walk.target)
    maker = os.getpid()
    weakref.finalize(copy, lambda: os.getpid() == maker and owned.remove())
    return copy
