"""Objects of a woken twin that stand for what is gone: they say so, where they would lie or wait for ever.

They are mended through attributes of the standard library's classes that Python 3.8 to 3.13 have; each object on its
own, and one that does not take it stays as it is.
"""

from __future__ import annotations

import functools
import gc
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from guest_describe import guarded

SCAN_SECONDS = 0.15
"""For a look at all objects: of a million it takes 0.05 s."""
_SOME = 50_000
KILLED = -9
_GONE = "its threads and processes are gone: the process of the step before was ended"
_clock = time.monotonic
_dead: set[int] = set()
"""Inodes of such sockets: they are no connections."""


def replace_by_dead(numbers: list[int]) -> None:
    """Put a dead socket in the place of descriptors: what reads or writes there fails, and the numbers stay taken."""
    dead, peer = socket.socketpair()
    peer.close()
    _dead.add(os.fstat(dead.fileno()).st_ino)
    for number in numbers:
        os.dup2(dead.fileno(), number, os.get_inheritable(number))
    dead.close()


def is_dead(inode: int) -> bool:
    """Whether that is one of those sockets, which keep their places in the process that woke."""
    return inode in _dead


def trackers() -> list[tuple[int, int]]:
    """Descriptor and process id of the helper of `multiprocessing` that cleans up after a session."""
    helper = getattr(sys.modules.get("multiprocessing.resource_tracker"), "_resource_tracker", None)
    number, pid = getattr(helper, "_fd", None), getattr(helper, "_pid", None)
    return [(number, pid)] if type(number) is int and type(pid) is int else []


def forget_trackers() -> None:
    """It was killed: the next that needs it starts another one."""
    for number, _ in trackers():
        helper = sys.modules["multiprocessing.resource_tracker"]._resource_tracker
        helper._fd = helper._pid = None
        os.close(number)


def connections(space: dict[str, Any]) -> list[tuple[Any, str]]:
    """Connections of SQLite to files, with a path each; those to `:memory:` are private and stay."""
    wanted = _Wanted()
    wanted.add("sqlite3", "Connection")
    found = []
    for connection in wanted.objects(space):
        listed = guarded(functools.partial(_files_of, connection))
        found += [(connection, os.path.realpath(path)) for path in (str(row[2] or "") for row in listed or ()) if path]
    return found


def _files_of(connection: Any) -> list[Any]:
    return list(connection.cursor().execute("PRAGMA database_list"))


class _Wanted:
    """Finds objects by the identity of their classes: no method of theirs is called for it."""

    def __init__(self) -> None:
        self._classes: dict[int, str] = {}

    def add(self, module: str, name: str) -> None:
        """And its subclasses. Nothing where the module is not loaded."""
        base = getattr(sys.modules.get(module), name, None)
        queue = [base] if isinstance(base, type) else []
        while queue:
            one = queue.pop()
            if id(one) not in self._classes:
                self._classes[id(one)] = name
                queue += type.__subclasses__(one)

    def objects(self, space: dict[str, Any]) -> Iterator[Any]:
        """All that there are; of a state of very many objects those that were found in time."""
        if not self._classes:
            return
        classes, until, seen = self._classes, _clock() + SCAN_SECONDS, set()
        # Before Python 3.10 some are unknown to the collector: these are found where they have a global name.
        for where in (list(space.values()), gc.get_objects()):
            for start in range(0, len(where), _SOME):
                for one in where[start : start + _SOME]:
                    if id(type(one)) in classes and id(one) not in seen:
                        seen.add(id(one))
                        yield one
                if _clock() > until:
                    return

    def kind(self, found: Any) -> str:
        """Under which name its class was added."""
        return self._classes[id(type(found))]


class Revived:
    """Looks for such objects once and mends them."""

    def __init__(self, pid: int, children: dict[int, int | None] | None, threads: bool, space: dict[str, Any]) -> None:
        self._pid, self._children = pid, children
        self.descriptors: set[int] = set()
        """Which belonged to event loops, and were renewed."""
        self.broken = False
        """Whether there were pools, futures or queues that threads or processes had served."""
        wanted = _Wanted()
        wanted.add("asyncio.selector_events", "BaseSelectorEventLoop")
        if children is None or children:
            wanted.add("subprocess", "Popen")
            wanted.add("multiprocessing.process", "BaseProcess")
            wanted.add("multiprocessing.popen_fork", "Popen")
        if threads:
            wanted.add("concurrent.futures.thread", "ThreadPoolExecutor")
            wanted.add("concurrent.futures.process", "ProcessPoolExecutor")
            wanted.add("concurrent.futures._base", "Future")
            wanted.add("multiprocessing.pool", "Pool")
            wanted.add("multiprocessing.pool", "ApplyResult")
        wanted.add("multiprocessing.queues", "Queue")
        mend: dict[str, Callable[[Any], None]] = {
            "BaseSelectorEventLoop": self._loop,
            "Popen": self._child,
            "BaseProcess": self._process,
            "ThreadPoolExecutor": self._executor,
            "ProcessPoolExecutor": self._executor,
            "Future": self._future,
            "Pool": self._pool,
            "ApplyResult": self._result,
            "Queue": self._queue,
        }
        for one in wanted.objects(space):
            guarded(functools.partial(mend[wanted.kind(one)], one))

    def _child(self, child: Any) -> None:
        if child.returncode is None:
            children = self._children
            if children is None or child.pid in children or type(child).__module__.startswith("multiprocessing."):
                ended = (children or {}).get(child.pid)
                child.returncode = KILLED if ended is None else ended

    def _process(self, process: Any) -> None:
        if process._parent_pid == self._pid:
            process._parent_pid = os.getpid()

    def _executor(self, executor: Any) -> None:
        if getattr(executor, "_threads", None) or getattr(executor, "_processes", None):
            self.broken = True
            executor._broken = _GONE
            if hasattr(executor, "_executor_manager_thread_wakeup"):
                executor._executor_manager_thread_wakeup = None

    def _future(self, future: Any) -> None:
        if future._state in ("PENDING", "RUNNING"):
            self.broken = True
            future._exception = RuntimeError(_GONE)
            future._state = "FINISHED"

    def _pool(self, pool: Any) -> None:
        if pool._state == "RUN":
            self.broken = True
            pool._state = "TERMINATE"

    def _result(self, result: Any) -> None:
        if not result._event.is_set():
            result._success, result._value = False, RuntimeError(_GONE)
            result._event.set()

    def _queue(self, queue: Any) -> None:
        if not queue._closed:
            self.broken = True
            queue._closed = True

    def _loop(self, loop: Any) -> None:
        """Its own pipe is cut, and the kernel's list of what it waits for is shared with the process that ended."""
        if loop.is_closed() or loop.is_running():
            return
        selector = loop._selector
        fileno = getattr(selector, "fileno", None)
        self.descriptors |= {loop._ssock.fileno(), loop._csock.fileno(), *([fileno()] if fileno else [])}
        selector.close()
        loop._selector = type(selector)()
        loop._ssock.close()
        loop._csock.close()
        loop._internal_fds -= 1
        loop._make_self_pipe()
        loop._default_executor = None
