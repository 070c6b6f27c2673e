"""Objects of a woken twin that stand for what is gone, mended to say so where they would lie or wait for ever.

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
from typing import Any

from guest_describe import guarded

SCAN_SECONDS = 0.15
"""Time for a look at all objects: of a million it takes 0.05 s."""
_SOME = 50_000
KILLED = -9
_GONE = "its threads and processes are gone: the process of the step before was ended"
_clock = time.monotonic
_dead: set[int] = set()
"""Inodes of dead sockets, which are no connections."""


def replace_by_dead(numbers: list[int]) -> None:
    """Replace descriptors by a dead socket: what reads or writes there fails, and the numbers stay taken."""
    dead, peer = socket.socketpair()
    peer.close()
    _dead.add(os.fstat(dead.fileno()).st_ino)
    for number in numbers:
        os.dup2(dead.fileno(), number, os.get_inheritable(number))
    dead.close()


def is_dead(inode: int) -> bool:
    """True if the inode is that of a dead socket. These keep their places in the process that woke."""
    return inode in _dead


def trackers() -> list[tuple[int, int]]:
    """The descriptor and process id of the helper of `multiprocessing` that cleans up after a session."""
    helper = getattr(sys.modules.get("multiprocessing.resource_tracker"), "_resource_tracker", None)
    number, pid = getattr(helper, "_fd", None), getattr(helper, "_pid", None)
    return [(number, pid)] if type(number) is int and type(pid) is int else []


def forget_trackers() -> None:
    """Forget the helper, which was killed: the next that needs it starts another one."""
    for number, _ in trackers():
        helper = sys.modules["multiprocessing.resource_tracker"]._resource_tracker
        helper._fd = helper._pid = None
        os.close(number)


class Found:
    """The objects that a fork leaves without what they stand for, found in one look at all objects.

    They are known by the identity of their classes: none of their methods is called for it. Of a state of very many
    objects it holds those that were found in time.
    """

    def __init__(self, space: dict[str, Any], *, threads: bool, children: bool) -> None:
        self._classes: dict[int, str] = {}
        self._objects: dict[str, list[Any]] = {}
        for module, name, there in (
            ("sqlite3", "Connection", True),
            ("sqlite3", "Cursor", True),
            ("asyncio.selector_events", "BaseSelectorEventLoop", True),
            ("multiprocessing.queues", "Queue", True),
            ("subprocess", "Popen", children),
            ("multiprocessing.process", "BaseProcess", children),
            ("multiprocessing.popen_fork", "Popen", children),
            ("concurrent.futures.thread", "ThreadPoolExecutor", threads),
            ("concurrent.futures.process", "ProcessPoolExecutor", threads),
            ("concurrent.futures._base", "Future", threads),
            ("multiprocessing.pool", "Pool", threads),
            ("multiprocessing.pool", "ApplyResult", threads),
        ):
            if there:
                self._add(module, name)
        if self._classes:
            self._look(space)

    def of(self, name: str) -> list[Any]:
        """The objects of a class and its subclasses."""
        return self._objects.get(name, [])

    def _add(self, module: str, name: str) -> None:
        base = getattr(sys.modules.get(module), name, None)
        queue = [base] if isinstance(base, type) else []
        while queue:
            one = queue.pop()
            if id(one) not in self._classes:
                self._classes[id(one)] = name
                queue += type.__subclasses__(one)

    def _look(self, space: dict[str, Any]) -> None:
        classes, until, seen = self._classes, _clock() + SCAN_SECONDS, set()
        # Before Python 3.10 some are unknown to the collector: these are found where they have a global name.
        for where in (list(space.values()), gc.get_objects()):
            for start in range(0, len(where), _SOME):
                for one in where[start : start + _SOME]:
                    if id(type(one)) in classes and id(one) not in seen:
                        seen.add(id(one))
                        self._objects.setdefault(classes[id(type(one))], []).append(one)
                if _clock() > until:
                    return


def connections(found: Found) -> list[tuple[Any, str]]:
    """The connections of SQLite to files, with a path each; those to `:memory:` are private and stay."""
    paths = []
    for connection in found.of("Connection"):
        listed = guarded(functools.partial(_files_of, connection))
        paths += [(connection, os.path.realpath(path)) for path in (str(row[2] or "") for row in listed or ()) if path]
    return paths


def close_connections(closing: list[tuple[Any, str]], found: Found) -> None:
    """Close connections, their cursors first: a connection lives on, with its locks, while one has a statement."""
    own = {id(connection) for connection, _ in closing}
    for cursor in found.of("Cursor"):
        if id(guarded(functools.partial(getattr, cursor, "connection"))) in own:
            guarded(cursor.close)
    for connection, _ in closing:
        guarded(connection.close)


def _files_of(connection: Any) -> list[Any]:
    return list(connection.cursor().execute("PRAGMA database_list"))


class Revived:
    """The mending of the objects that were found."""

    def __init__(self, pid: int, children: dict[int, int | None] | None, found: Found) -> None:
        self._pid, self._children = pid, children
        self.descriptors: set[int] = set()
        """Descriptors that belonged to event loops, and were renewed."""
        self.broken = False
        """True if there were pools, futures or queues that threads or processes had served."""
        for name, mend in (
            ("BaseSelectorEventLoop", self._loop),
            ("Popen", self._child),
            ("BaseProcess", self._process),
            ("ThreadPoolExecutor", self._executor),
            ("ProcessPoolExecutor", self._executor),
            ("Future", self._future),
            ("Pool", self._pool),
            ("ApplyResult", self._result),
            ("Queue", self._queue),
        ):
            for one in found.of(name):
                guarded(functools.partial(mend, one))

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
        """Renew an event loop: its pipe is cut, and the ended process shares the kernel's list of what it waits for."""
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
