"""Cached copies of code bases for sandboxes, without secrets. A live view would show secrets saved there later.

Copies live in codenav's cache and are shared between processes until the code base changes. Each user of a copy
holds a lock on the file beside it, which is released when its process ends. Unused copies are removed in time.
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
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from codenav.core.config import home
from codenav.core.errors import Unavailable
from codenav.sandboxes.code_copy import Ignored, Walk
from codenav.sandboxes.owned_resources import OwnedFolder

KEPT_SECONDS = 7 * 86400.0
"""Seconds for which an unused copy is kept."""
MOST_KEPT = 20
STAMP_DIGITS = 20
_LOCK = ".lock"


@dataclass(eq=False)
class CodeCopy:
    """A copy that exists for as long as this object is held."""

    path: str
    """Path of the copied file or folder."""
    secrets: Sequence[str] = ()
    """Relative paths of files that are left out because their content is a secret."""
    special: Sequence[str] = ()
    """Relative paths of pipes, sockets and devices."""
    stamp: str = ""
    """See `stamp`."""


def copied(
    root: str, *, holes: Collection[str] = (), ignored: Ignored | None = None, by_content: bool = True
) -> CodeCopy:
    """Return a copy of the current state of a file or folder, made if there is none yet.

    `holes` are absolute paths below `root` where other things will be bound: empty folders or files in the copy.
    `by_content`: see `Walk`.

    Raises:
        UsageError: it is too large, or cannot be read.
    """
    inner = frozenset(os.path.relpath(hole, root) for hole in holes)
    key = hashlib.sha256(repr((root, sorted(inner), ignored is not None, by_content)).encode()).hexdigest()[:20]
    try:
        place = home("cache") / "code"
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        walk = Walk(root, inner, ignored, by_content=by_content)
        kept = _kept(place, key, walk)
        if kept:
            return kept
        target = str(place / f"{key}-part-{secrets.token_hex(8)}")
        return _made(place, key, Walk(root, inner, ignored, target, by_content=by_content))
    except (OSError, Unavailable):
        return _temporary(root, inner, ignored, by_content)


def stamp(root: str, ignored: Ignored | None = None) -> str:
    """Return a hash of names, sizes and times. If it is unchanged, so are the contents of the files.

    Raises:
        UsageError: they are too large, or cannot be read.
    """
    return Walk(root, frozenset(), ignored).stamp()[:STAMP_DIGITS]


def _kept(place: Path, key: str, walk: Walk) -> CodeCopy | None:
    path = place / f"{key}-{walk.stamp()[:STAMP_DIGITS]}"
    if not path.exists():
        return None
    lock = _locked(path, fcntl.LOCK_SH)
    if not path.exists():
        # It was removed before the lock was acquired.
        os.close(lock)
        return None
    return _held(path, lock, walk)


def _made(place: Path, key: str, walk: Walk) -> CodeCopy:
    part = Path(walk.target)
    working = _locked(part, fcntl.LOCK_SH)
    try:
        path = place / f"{key}-{walk.stamp()[:STAMP_DIGITS]}"
        lock = _locked(path, fcntl.LOCK_SH)
        if not path.exists():
            with contextlib.suppress(FileExistsError, OSError):
                os.rename(part, path)
    finally:
        _remove(part)
        os.close(working)
    copy = _held(path, lock, walk)
    _prune(place, key)
    return copy


def _held(path: Path, lock: int, walk: Walk) -> CodeCopy:
    os.utime(lock)
    copy = CodeCopy(str(path), walk.found, walk.special, path.name.rpartition("-")[2])
    weakref.finalize(copy, os.close, lock)
    return copy


def _locked(path: Path, how: int) -> int:
    """Return a descriptor that locks the file beside a copy, retrying if that file was removed meanwhile."""
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
    """Remove unused copies: earlier ones of this code base, old ones, and incomplete ones."""
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
    """Remove a copy. The caller must hold its lock."""
    for folder, _, _ in os.walk(path):
        with contextlib.suppress(OSError):
            os.chmod(folder, 0o700)
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
    Path(f"{path}{_LOCK}").unlink(missing_ok=True)


def _temporary(root: str, inner: frozenset[str], ignored: Ignored | None, by_content: bool) -> CodeCopy:
    """Make a copy for a single sandbox. Used if the cache is not writable."""
    owned = OwnedFolder.make()
    try:
        walk = Walk(root, inner, ignored, str(owned.path / "code"), by_content=by_content)
        made = walk.stamp()[:STAMP_DIGITS]
    except BaseException:
        owned.remove()
        raise
    copy = CodeCopy(walk.target, walk.found, walk.special, made)
    maker = os.getpid()
    weakref.finalize(copy, lambda: os.getpid() == maker and owned.remove())
    return copy
