"""Locks between processes, held on files."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path


@contextlib.contextmanager
def locked(
    folder: Path,
    name: str,
    *,
    wait: bool,
    making: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
) -> Iterator[bool]:
    """Hold an exclusive lock on a file in a folder, both created if missing; yields True if it was acquired.

    Without `wait` it yields False if another process or thread has the lock. A lock is released when its owner dies.
    `making` is a context entered while folder and file are created, to translate an OSError there.
    """
    while True:
        with making():
            folder.mkdir(parents=True, exist_ok=True)
            file = os.open(folder / name, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            if not _is(folder / name, file):
                # The folder was removed while this waited: a lock on a file that is gone protects nothing.
                continue
            try:
                yield True
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)
            return
        finally:
            os.close(file)


@contextlib.contextmanager
def held(
    folder: Path,
    name: str,
    *,
    waiting: Callable[[], object] = lambda: None,
    making: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
) -> Iterator[None]:
    """Hold a lock as in `locked`, and wait for it; `waiting` is called first if another process or thread has it."""
    with locked(folder, name, wait=False, making=making) as free:
        if free:
            yield
            return
    waiting()
    with locked(folder, name, wait=True, making=making):
        yield


def in_use(folder: Path) -> int:
    """Return a descriptor that marks the folder as in use for as long as it is open. See `unused`."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    # On a file system without locks the folder is not marked.
    with contextlib.suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return handle


@contextlib.contextmanager
def unused(folder: Path) -> Iterator[bool]:
    """Yield True if nobody marks the folder with `in_use`, or if that cannot be found out."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield True
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        free = True
    except OSError as error:
        free = not isinstance(error, BlockingIOError)
    try:
        yield free
    finally:
        os.close(handle)


def _is(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(file))
    except FileNotFoundError:
        return False
