"""Warm sandboxes: started in advance, so that one is available within the time of a step.

A pool belongs to the open sandboxes that came from it. When the last of them closes, so do the waiting ones. When
the process dies, they end like every sandbox of a dead owner.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from dataclasses import replace

from codenav.core.errors import CodeNavError, SandboxUnavailable
from codenav.core.execution import SandboxSpec
from codenav.core.protocols import CallHandler
from codenav.sandboxes import start
from codenav.sandboxes.guest_client import GuestSandbox

LATER_SECONDS = 0.05
"""Pause before a replacement is started: longer than a first step takes."""
_lock = threading.Lock()
_pools: list[Pool] = []


class Pool:
    """Up to `size` waiting sandboxes of one backend and specification. A thread starts replacements."""

    def __init__(self, backend: str, spec: SandboxSpec) -> None:
        self.backend, self.spec = backend, spec
        self.process = os.getpid()
        self._changed = threading.Condition()
        self._waiting: list[GuestSandbox] = []
        self._size = self._users = 0
        self._filling = False

    def __repr__(self) -> str:
        return f"<Pool {self.backend} {len(self._waiting)} of {self._size} waiting>"

    def join(self, size: int) -> None:
        """Add a user who wants `size` sandboxes to wait. `leave` is the inverse."""
        with self._changed:
            self._users += 1
            self._size = max(self._size, size)

    def leave(self) -> bool:
        """Remove a user. True if it was the last one, in which case all waiting sandboxes are ended first."""
        with self._changed:
            self._users -= 1
            if self._users:
                return False
            self._size = 0
            self._changed.notify_all()
            # A sandbox that is just being started is ended by the thread that starts it.
            self._changed.wait_for(lambda: not self._filling)
            waiting, self._waiting = self._waiting, []
        ending = [threading.Thread(target=box.close) for box in waiting]
        for thread in ending:
            thread.start()
        for thread in ending:
            thread.join()
        return True

    def take(self) -> GuestSandbox | None:
        """Take a waiting sandbox, or return None."""
        with self._changed:
            return self._waiting.pop(0) if self._waiting else None

    def fill(self) -> None:
        """Start the missing sandboxes in a thread."""
        with self._changed:
            if self._filling or not self._missing():
                return
            self._filling = True
        threading.Thread(target=self._fill, name="codenav-pool", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Wait until all sandboxes are ready, for at most some seconds. True if they are."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._filling and len(self._waiting) >= self._size, seconds)

    def _fill(self) -> None:
        # The caller who just took one gets the processors first.
        time.sleep(LATER_SECONDS)
        try:
            while self._missing():
                box = start(self.backend, self.spec)
                with self._changed:
                    if self._size:
                        self._waiting.append(box)
                        continue
                box.close()
        except (CodeNavError, OSError):
            # The next caller who asks for one gets the error.
            return
        finally:
            with self._changed:
                self._filling = False
                self._changed.notify_all()

    def _missing(self) -> bool:
        with self._changed:
            return len(self._waiting) < self._size


def start_warm(backend: str, spec: SandboxSpec, size: int, *, calls: CallHandler | None = None) -> GuestSandbox:
    """Return a sandbox from the pool of its specification, else a new one. From now on up to `size` others wait.

    Raises:
        UsageError, SandboxUnavailable: as `start`.
    """
    pool = _joined(backend, replace(spec, work_dir=None, copy_out=True), size)
    try:
        box = _taken(pool, spec) or start(backend, spec)
    except BaseException:
        _leave(pool)
        raise
    box.calls = calls
    box.after_close = lambda: _leave(pool)
    pool.fill()
    return box


def pools() -> list[Pool]:
    """Return the pools of this process."""
    with _lock:
        return [pool for pool in _pools if pool.process == os.getpid()]


def _joined(backend: str, spec: SandboxSpec, size: int) -> Pool:
    with _lock:
        for pool in _pools:
            # A forked process shares no sandbox with its parent.
            if pool.process == os.getpid() and (pool.backend, pool.spec) == (backend, spec):
                break
        else:
            pool = Pool(backend, spec)
            _pools.append(pool)
        pool.join(size)
        return pool


def _leave(pool: Pool) -> None:
    if pool.process == os.getpid() and pool.leave():
        with _lock, contextlib.suppress(ValueError):
            _pools.remove(pool)


def _taken(pool: Pool, spec: SandboxSpec) -> GuestSandbox | None:
    while True:
        box = pool.take()
        if box is None:
            return None
        try:
            box.begin_with(spec.work_dir, copy_out=spec.copy_out)
        except SandboxUnavailable:
            box.close()
            continue
        except BaseException:
            box.close()
            raise
        return box
