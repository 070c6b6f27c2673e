"""The parts of Linux that the guest needs: prctl, limits of a process, the processes inside, their memory."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from collections.abc import Iterable, Mapping

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 1, 4, 36
_PAGE = resource.getpagesize()
_libc = ctypes.CDLL(None, use_errno=True)


def set_dumpable(on: bool) -> None:
    """Whether processes of the same user may read this one's memory and descriptors, or trace it."""
    _libc.prctl(_PR_SET_DUMPABLE, int(on), 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(signum: int) -> None:
    """Get a signal when the parent ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signum, 0, 0, 0)


def limit(which: int, value: int | None) -> None:
    """Lower a resource limit for good; None leaves it. A lower one that is already set stays."""
    if value is None:
        return
    hard = resource.getrlimit(which)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(which, (value, value))


def default_signals() -> None:
    """Every signal to its default action: then the kernel shields a PID 1 from them."""
    for signum in signal.valid_signals() if hasattr(signal, "valid_signals") else range(1, 32):
        if signum not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(signum, signal.SIG_DFL)


def processes_inside() -> list[int]:
    """Every process below this one. As PID 1 of a namespace that is everything there is."""
    own = os.getpid()
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    if own == 1:
        return [pid for pid in pids if pid != 1]
    children: dict[int, list[int]] = {}
    for pid in pids:
        parent = _parent(pid)
        if parent is not None:
            children.setdefault(parent, []).append(pid)
    found, queue = [], [own]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def _parent(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[1])


def kill_all(spared: set[int]) -> None:
    """Kill every process inside but the spared ones, also those that fork while this runs.

    They are stopped first, so that none can fork; a round that finds nothing new ends it.
    """
    for _ in range(100):
        alive = [pid for pid in processes_inside() if pid not in spared and not _ended(pid)]
        if not alive:
            return
        for signum in (signal.SIGSTOP, signal.SIGKILL):
            for pid in alive:
                _signal(pid, signum)
        reap()


def _signal(pid: int, signum: int) -> None:
    try:
        os.kill(pid, signum)
    except (ProcessLookupError, PermissionError):
        return


def _ended(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except OSError:
        return True


_ends: dict[int, int] = {}
_watched: set[int] = set()


def watch_end(pid: int) -> None:
    """From now on `reap` keeps how this process ended; process ids come round again, so an older end is forgotten."""
    _watched.add(pid)
    _ends.pop(pid, None)


def unwatch_end(pid: int) -> None:
    """The inverse of `watch_end`."""
    _watched.discard(pid)
    _ends.pop(pid, None)


def reap() -> Mapping[int, int]:
    """Collect ended children; of those watched, process id and wait status."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return _ends
        if pid == 0:
            return _ends
        if pid in _watched:
            _ends[pid] = status


def memory(pids: Iterable[int], twin: int | None, folders: Iterable[str]) -> tuple[int, int]:
    """Bytes that user code holds, and what the frozen twin holds beside it.

    Pages that are shared after a fork count once: the proportional share (`smaps_rollup`) is read, but only
    when the cheap upper bound, the sum of resident sizes, is large; see `Supervisor`. The share of the twin
    cannot be read (it is not dumpable): it is its resident size less what the others share.
    """
    shares = residents = 0
    for pid in pids:
        resident = _resident(pid)
        residents += resident
        shares += _share(pid, resident)
    beside = 0 if twin is None else max(0, _resident(twin) - 2 * (residents - shares))
    return shares + sum(_used(folder) for folder in folders), beside


def resident_sum(pids: Iterable[int], folders: Iterable[str]) -> int:
    """The upper bound of `memory`: shared pages count for each process."""
    return sum(_resident(pid) for pid in pids) + sum(_used(folder) for folder in folders)


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def _share(pid: int, resident: int) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    return resident


def _used(folder: str) -> int:
    try:
        space = os.statvfs(folder)
    except OSError:
        return 0
    return (space.f_blocks - space.f_bfree) * space.f_frsize
