"""The parts of Linux that the guest needs: prctl, limits of a process, the processes inside, their memory."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import time
from collections.abc import Iterable, Mapping, Sequence

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 1, 4, 36
_IPC_RMID = 0
_PAGE = resource.getpagesize()
_INODE_BYTES = 1024
"""Bytes of the kernel's memory for each file of a tmpfs, however small (Linux 5.10: 720 the inode, 192 its name)."""
BUSY_ROUNDS, GONE_SECONDS = 100, 5.0
"""Rounds of killing without a pause, so that no process forks faster than it is found; time for the killed to go."""
RESERVE_BYTES, RESERVE_PART = 16 << 20, 9
"""Bytes of memory for the process of the steps besides those of user code, but at most this part of both."""
LOWEST_PRIORITY = 19
SUM_SECONDS = 0.2
"""Time for the exact sum of memory: where hundreds of processes fork, each waits for a processor to be read."""
USUAL_DESCRIPTORS = 1024
"""The kernel's own default number of descriptors; select(2) takes no more."""
_libc = ctypes.CDLL(None, use_errno=True)


def set_dumpable(on: bool) -> None:
    """Allow, or forbid, processes of the same user to read this one's memory and descriptors, and to trace it."""
    _libc.prctl(_PR_SET_DUMPABLE, int(on), 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(signum: int) -> None:
    """Ask for a signal when the parent ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signum, 0, 0, 0)


def be_killed_first(*, frozen: bool = False) -> None:
    """Have the kernel kill this process early for want of memory: frozen twins, then user code, then the supervisor."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000" if frozen else "900")
    except OSError:
        return


def killed_for_memory(descriptor: int) -> int:
    """The number of processes that the kernel killed for want of memory, from a control group's file; 0 without one."""
    try:
        # Read anew through one descriptor it takes 2 microseconds, opened each time 10.
        for line in os.pread(descriptor, 4096, 0).splitlines():
            if line.startswith(b"oom_kill "):
                return int(line.split()[1])
    except (OSError, ValueError):
        pass
    return 0


def limit(which: int, value: int | None) -> None:
    """Lower a resource limit for good; None leaves it. A lower one that is already set stays."""
    if value is None:
        return
    hard = resource.getrlimit(which)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(which, (value, value))


def bound(limits: Mapping[str, int]) -> None:
    """Lower the limits of this process, a worker's, for good."""
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_FSIZE, limits["file_bytes"])
    limit(resource.RLIMIT_NPROC, limits["processes"])
    limit(resource.RLIMIT_DATA, limits["data_bytes"] + min(RESERVE_BYTES, limits["data_bytes"] // (RESERVE_PART - 1)))
    limit(resource.RLIMIT_SIGPENDING, limits["signals"])
    _bound_descriptors(limits["descriptors"])


def hold_reserve(held: bool) -> None:
    """Withhold the reserve from this process, or give it: a request must be served where user code has filled up all.

    A lower limit that user code has set stays.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        low = hard - min(RESERVE_BYTES, hard // RESERVE_PART)
        if soft in (low, hard):
            resource.setrlimit(resource.RLIMIT_DATA, (low if held else hard, hard))


def _bound_descriptors(most: int) -> None:
    """Limit the descriptors that a process may have open, and under way to others; the soft limit is the usual one."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    hard = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(USUAL_DESCRIPTORS, hard), hard))


def all_descriptors() -> None:
    """Raise the limit of this process's descriptors to as many as it may have."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def default_signals() -> None:
    """Set every signal to its default action: then the kernel shields a PID 1 from them."""
    for signum in signal.valid_signals() if hasattr(signal, "valid_signals") else range(1, 32):
        if signum not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(signum, signal.SIG_DFL)


def heed_nudges() -> None:
    """Let SIGURG end a system call, after which Python raises what an earlier signal asked for. It raises nothing."""
    if signal.getsignal(signal.SIGURG) == signal.SIG_DFL:
        signal.signal(signal.SIGURG, lambda signum, frame: None)


def processes_inside() -> list[int]:
    """The ids of all processes below this one. For PID 1 of a namespace these are all there are."""
    own = os.getpid()
    if own == 1:
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]
    found, queue = [], [own]
    while queue:
        below = _children(queue.pop())
        found += below
        queue += below
    return found


def _children(pid: int) -> list[int]:
    """The children of all threads of a process; complete only if none of the threads ends meanwhile: see `kill_all`."""
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                found += [int(child) for child in file.read().split()]
    except OSError:
        pass
    return found


def calm(pids: Iterable[int]) -> None:
    """Give processes, and what they fork from now on, the lowest priority."""
    for pid in pids:
        try:
            os.setpriority(os.PRIO_PROCESS, pid, LOWEST_PRIORITY)
        except OSError:
            continue


def kill_all(spared: set[int]) -> None:
    """Kill every process inside but the spared ones, also those that fork while this runs.

    They are stopped first, so that none can fork. It waits until they are gone, `GONE_SECONDS` at most: to give 1 GiB
    back takes a process a tenth of a second, and until then it counts against the memory limit.
    """
    until = time.monotonic() + GONE_SECONDS
    if os.getpid() == 1:
        # Stops the whole namespace at once: one by one, hundreds that fork would take the processors for seconds.
        _signal(-1, signal.SIGSTOP)
    rounds = 0
    while alive := [pid for pid in processes_inside() if pid not in spared and not _ended(pid)]:
        for signum in (signal.SIGSTOP, signal.SIGKILL):
            for pid in alive:
                _signal(pid, signum)
        reap()
        rounds += 1
        if rounds > BUSY_ROUNDS:
            # All that could fork is stopped by now.
            if time.monotonic() > until:
                break
            time.sleep(0.001)
    for pid in spared:
        _signal(pid, signal.SIGCONT)


def remove_shared_memory() -> None:
    """Have the System V shared memory of our namespace go with its last user, as by `kernel.shm_rmid_forced`."""
    try:
        with open("/proc/sysvipc/shm", "rb") as file:
            found = [int(line.split()[1]) for line in file.readlines()[1:]]
    except (OSError, ValueError, IndexError):
        return
    for segment in found:
        _libc.shmctl(segment, _IPC_RMID, None)


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


def exiting(pid: int) -> bool:
    """True if a process has ended, gives back what it has (PF_EXITING), or was killed and has not run since: proc(5).

    A process that the kernel has killed needs a processor to end, which on a loaded machine may take a second.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return True
    killed = int(fields[28]) & 1 << (signal.SIGKILL - 1)
    return fields[0] in (b"Z", b"X") or bool(int(fields[6]) & 4 or killed)


_ends: dict[int, int] = {}
_watched: set[int] = set()


def watch_end(pid: int) -> None:
    """Have `reap` keep how this process ends; process ids come round again, so an older end is forgotten."""
    _watched.add(pid)
    _ends.pop(pid, None)


def unwatch_end(pid: int) -> None:
    """Undo `watch_end`."""
    _watched.discard(pid)
    _ends.pop(pid, None)


def reap() -> Mapping[int, int]:
    """Collect ended children; return process id and wait status of those watched."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return _ends
        if pid == 0:
            return _ends
        if pid in _watched:
            _ends[pid] = status


def memory(pids: Sequence[int], frozen: Sequence[int], folders: Iterable[str]) -> tuple[int, int]:
    """The bytes that user code holds, and those that frozen copies of it hold in addition.

    Pages that are shared after a fork count once: the proportional share (`smaps_rollup`) is read, but only
    when the cheap upper bound, `resident_sum`, is large. Of a frozen copy it cannot be read (it is not dumpable).
    It follows from the worker's: of S shared bytes of which this process is charged C, each is shared S/C times on
    average (at least: the harmonic mean), u times with other user code, the rest with frozen copies. Of very many
    processes those that are read within `SUM_SECONDS` stand for the others.
    """
    charged = shared = own = shared_by_all = 0
    until = time.monotonic() + SUM_SECONDS
    for number, pid in enumerate(pids, 1):
        rollup = _rollup(pid)
        charged += rollup["Pss"]
        shared_by_all += rollup["Shared_Dirty"]
        if rollup["Shared_Dirty"] > shared:
            shared = rollup["Shared_Dirty"]
            own = max(1, rollup["Pss_Anon"] - rollup["Anonymous"] + shared)
        if time.monotonic() > until:
            charged, shared_by_all = (part * len(pids) // number for part in (charged, shared_by_all))
            break
    held, beside = charged, sum(anonymous(pid) for pid in frozen)
    if frozen and shared:
        users = shared_by_all / shared
        held += max(0, int(shared - users * own))
        beside = max(0, beside - max(0, int(shared * shared / own - users * shared)))
    return held + sum(_used(folder) for folder in folders), beside


def resident_sum(pids: Iterable[int], folders: Iterable[str]) -> int:
    """The upper bound of `memory`, in bytes: shared pages count for each process."""
    return sum(_statm(pid)[1] for pid in pids) + sum(_used(folder) for folder in folders)


def _statm(pid: int) -> list[int]:
    """The sizes of a process in bytes: all, resident, of files, code, unused, data (proc(5)). Zeros if it is gone."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return [int(pages) * _PAGE for pages in file.read().split()[:6]] or [0] * 6
    except OSError:
        return [0] * 6


def _rollup(pid: int) -> dict[str, int]:
    """The bytes that a process is charged for, by kind; where that cannot be read, all that is resident."""
    found = {"Pss": _statm(pid)[1], "Pss_Anon": 0, "Anonymous": 0, "Shared_Dirty": 0}
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            for line in file:
                name, _, value = line.decode("ascii").partition(":")
                if name in found:
                    found[name] = int(value.split()[0]) << 10
    except (OSError, ValueError, IndexError):
        pass
    return found


def anonymous(pid: int) -> int:
    """The bytes of a process's resident memory that stand for no file."""
    _, resident, backed, *_ = _statm(pid)
    return resident - backed


def data(pid: int) -> int:
    """The bytes of a process that count against its RLIMIT_DATA, about: with its first stack."""
    return _statm(pid)[5]


def shared_dirty(pid: int) -> int:
    """The bytes that a process shares with copies of itself; walks its page tables."""
    return _rollup(pid)["Shared_Dirty"]


def number_in(path: str) -> int:
    """The number in a file of the kernel's; 0 where the file is missing or says something else."""
    try:
        with open(path, "rb") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0


def _used(folder: str) -> int:
    try:
        space = os.statvfs(folder)
    except OSError:
        return 0
    return (space.f_blocks - space.f_bfree) * space.f_frsize + (space.f_files - space.f_ffree) * _INODE_BYTES
