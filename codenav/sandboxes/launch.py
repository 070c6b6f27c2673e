"""Starting the first process of a sandbox, from a thread that lives as long as this process.

A process that is set to die with its parent dies with the *thread* that started it (prctl(2), PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import re
import signal
import subprocess
import tempfile
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TypeVar

from codenav.core.errors import SandboxUnavailable
from codenav.core.execution import MIB, Resources
from codenav.sandboxes.owned_resources import OwnedFolder

T = TypeVar("T")

GUEST = Path(__file__).parent / "guest"
"""The folder with the source that runs inside."""

GUEST_FLAGS = ("-s", "-S", "-B")
"""No user site, no site at all (the guest is told its path), no bytecode.

Not `-I`: it would ignore `GUEST_ENVIRONMENT`.
"""

GUEST_ENVIRONMENT = {"PYTHONHASHSEED": "0"}
"""Makes sets of strings list their members in the same order in an episode and in its replay."""

DESCRIPTORS = 4096
"""Most open descriptors of a process inside. Only their number limits the kernel memory they can hold."""
SIGNALS = 4096
"""Most pending signals of a sandbox's user, timers included."""

_lock = threading.Lock()
_threads: dict[int, ThreadPoolExecutor] = {}


def in_lasting_thread(work: Callable[[], T]) -> T:
    """Call `work` in a thread that ends with the process, and return its result. A forked process gets its own."""
    with _lock:
        pool = _threads.get(os.getpid())
        if pool is None:
            pool = _threads[os.getpid()] = ThreadPoolExecutor(1, thread_name_prefix="codenav-launch")
    return pool.submit(work).result()


@dataclass(eq=False, kw_only=True)
class Launched(ABC):
    """A started sandbox with which no message was exchanged yet."""

    config: Mapping[str, object]
    """The backend's part of the first frame."""
    image: str = ""
    """The image of a container. Empty for other backends."""
    notice: str = ""
    """The parts of the specification that do not hold, as far as the backend reports them. May be empty."""
    held: Sequence[object] = ()
    """Objects that must live as long as the sandbox."""
    unwrap: Callable[[bytes], bytes] | None = None
    """A function that removes the framing around the supervisor's bytes in `source`, or None if there is none."""
    sink: int = field(init=False)
    """The descriptor that the supervisor reads from."""
    source: int = field(init=False)
    """The descriptor that the supervisor writes to."""

    @abstractmethod
    def watch_memory(self) -> Callable[[], bool]:
        """Return a check for processes that the kernel kills for lack of memory from now on.

        The check must be called before `end`.
        """

    @abstractmethod
    def reason(self) -> str:
        """Return the last output of a sandbox that did not start. May be empty."""

    @abstractmethod
    def cut(self) -> None:
        """End everything inside at once, from any thread. Whoever waits for an answer finds the connection closed."""

    @abstractmethod
    def abandon(self) -> None:
        """Close the parent's descriptors in a forked process, without ending anything."""

    @abstractmethod
    def end(self, *, patience: float) -> None:
        """End everything inside and wait, by force after `patience` seconds. Nothing is left behind."""


_open: weakref.WeakSet[LaunchedProcess] = weakref.WeakSet()


@dataclass(eq=False)
class LaunchedProcess(Launched):
    """A sandbox behind the pipes of a process that this one has started."""

    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    """Standard error of the launcher and the supervisor."""
    owned: OwnedFolder | None = None
    """A folder of the host that is removed at the end, with what goes with it."""
    killed: Path | None = None
    """File whose line `oom_kill N` counts the processes that the kernel killed for lack of memory."""

    def __post_init__(self) -> None:
        self.starter = os.getpid()
        if self.process.stdin is None or self.process.stdout is None:
            raise SandboxUnavailable("no pipes to the sandbox")
        self.sink, self.source = self.process.stdin.fileno(), self.process.stdout.fileno()
        # Reading through one open descriptor takes 2 microseconds, opening it each time 30.
        self._counts = open(self.killed, "rb", buffering=0) if self.killed else None  # noqa: SIM115
        _open.add(self)

    def cut(self) -> None:
        """Kill the children of the process: for bubblewrap everything inside, for `process` the step."""
        if self.process.returncode is None:
            _kill_children(self.process.pid)

    def abandon(self) -> None:
        """Close its pipes and its error file."""
        _open.discard(self)
        for stream in (self.process.stdin, self.process.stdout, self.errors, self._counts):
            if stream is not None:
                stream.close()

    def end(self, *, patience: float) -> None:
        """End the process, and remove what goes with it."""
        _open.discard(self)
        kill(self.process, patience=patience)
        self.errors.close()
        if self._counts is not None:
            self._counts.close()
        if self.owned is not None:
            self.owned.remove()

    def watch_memory(self) -> Callable[[], bool]:
        """Return a check that the control group counts more out-of-memory kills than now."""
        before = self._kills()
        return lambda: self._kills() > before

    def _kills(self) -> int:
        if self._counts is None or self._counts.closed:
            return 0
        with contextlib.suppress(OSError):
            match = re.search(rb"^oom_kill (\d+)$", os.pread(self._counts.fileno(), 4096, 0), re.MULTILINE)
            return int(match[1]) if match else 0
        return 0

    def reason(self) -> str:
        """Return the last lines of standard error."""
        size = self.errors.seek(0, os.SEEK_END)
        self.errors.seek(max(0, size - 2000))
        return self.errors.read().decode("utf-8", "replace").strip()


@atexit.register
def _end_all() -> None:
    """End the sandboxes that nobody closed, except those that the parent of a forked process started."""
    for launched in list(_open):
        if launched.starter == os.getpid():
            launched.end(patience=0.5)


@functools.cache
def compile_guest() -> None:
    """Write byte code beside the source, as an import would. It saves a third of a cold start.

    Interpreters of this version use it. Others compile at each start, as do all if it cannot be written.
    """
    import compileall

    compileall.compile_dir(GUEST, maxlevels=0, quiet=2)


def launch(
    command: Sequence[str], *, cwd: str = "/", descriptors: Collection[int] = (), cpus: float | None = None
) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    """Start a command with `GUEST_ENVIRONMENT`, in its own session, on at most `cpus` processors."""
    compile_guest()
    errors = tempfile.TemporaryFile()  # noqa: SIM115  (it lives as long as the sandbox)

    def start() -> subprocess.Popen[bytes]:
        allowed = os.sched_getaffinity(0)
        chosen = choose_processors(allowed, cpus)
        os.sched_setaffinity(0, chosen)
        try:
            return subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, cwd=cwd,
                env=GUEST_ENVIRONMENT, pass_fds=tuple(descriptors), start_new_session=True, bufsize=0,
            )  # fmt: skip
        finally:
            os.sched_setaffinity(0, allowed)

    try:
        return in_lasting_thread(start), errors
    except OSError:
        errors.close()
        raise


def choose_processors(allowed: set[int], cpus: float | None) -> set[int]:
    """Return `cpus` of the allowed processors, at least one, chosen at random so that sandboxes spread out."""
    import random

    count = len(allowed) if cpus is None else max(1, round(cpus))
    return allowed if count >= len(allowed) else set(random.sample(sorted(allowed), count))


def kill(process: subprocess.Popen[bytes], *, patience: float) -> None:
    """End a launched process and wait for its end, by force after `patience` seconds.

    The supervisor ends everything inside when its input closes. Force kills its children first: for bubblewrap that is
    PID 1 of the namespace, whose end the kernel reports once all other processes in it have ended.
    """
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
    for seconds, force in ((patience, _kill_children), (0.5, _kill_group)):
        try:
            process.wait(timeout=seconds)
            return
        except subprocess.TimeoutExpired:
            force(process.pid)
    process.wait()


def _kill_children(pid: int) -> None:
    """Kill the children of a process, or its whole group if none can be found."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        children = []
    if not children:
        _kill_group(pid)
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(child), signal.SIGKILL)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def limits_of(resources: Resources, *, processes: int | None) -> dict[str, object]:
    """Return the limits in the form that the guest reads.

    `data_bytes` leaves 40 MiB of the memory, but at least a sixteenth and at most a quarter. A process that allocates
    too much then gets a MemoryError before anything has to be killed, and a snapshot of what it holds still fits.
    `crowd` is the number of processes at which a step that reaches its timeout is taken for one that only forks.
    """
    memory = resources.memory_bytes
    return {
        "memory_bytes": memory,
        "data_bytes": max(min(memory // 16 * 15, memory - 40 * MIB), memory // 4 * 3),
        "file_bytes": resources.file_bytes,
        "processes": processes,
        "crowd": max(8, resources.processes // 4),
        "descriptors": DESCRIPTORS,
        "signals": SIGNALS,
        "output_bytes": resources.output_bytes,
        "display_bytes": resources.display_bytes,
    }
