"""Starts the first process of a sandbox, from a thread that lives as long as this process.

A process that is to die with its parent dies with the *thread* that started it (prctl(2), PR_SET_PDEATHSIG).
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
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol, TypeVar

from codenav.errors import SandboxUnavailable
from codenav.execution import MIB, Resources
from codenav.sandboxes.owned_resources import OwnedFolder

T = TypeVar("T")

GUEST = Path(__file__).parent / "guest"
"""The source that runs inside."""

GUEST_FLAGS = ("-s", "-S", "-B")
"""No user site, no site at all (the guest is told its path), no bytecode. Not `-I`: it would ignore the next."""

GUEST_ENVIRONMENT = {"PYTHONHASHSEED": "0"}
"""Sets of strings list their members in the same order in an episode and in its replay."""

DESCRIPTORS = 4096
"""Most that a process inside may have open: what the kernel holds for each is bounded by their number alone."""
SIGNALS = 4096
"""Most that may wait for the user of a sandbox, timers included."""

_lock = threading.Lock()
_threads: dict[int, ThreadPoolExecutor] = {}


def in_lasting_thread(work: Callable[[], T]) -> T:
    """The result of `work`, called in a thread that ends with the process. A forked process gets its own."""
    with _lock:
        pool = _threads.get(os.getpid())
        if pool is None:
            pool = _threads[os.getpid()] = ThreadPoolExecutor(1, thread_name_prefix="codenav-launch")
    return pool.submit(work).result()


class Launched(Protocol):
    """A started sandbox, before any word was exchanged."""

    @property
    def config(self) -> Mapping[str, object]:
        """The backend's part of the first frame."""
        ...

    @property
    def sink(self) -> int:
        """Descriptor that the supervisor reads from."""
        ...

    @property
    def source(self) -> int:
        """Descriptor that the supervisor writes to."""
        ...

    @property
    def unwrap(self) -> Callable[[bytes], bytes] | None:
        """Takes off what lies around the supervisor's bytes in `source`; None where nothing does."""
        ...

    @property
    def image(self) -> str:
        """What a container was made from; else empty."""
        ...

    @property
    def notice(self) -> str:
        """What of the specification does not hold, as far as the backend says so; may be empty."""
        ...

    def watch_memory(self) -> Callable[[], bool]:
        """Tells, when it is called, whether the kernel has killed inside for want of memory since now.

        To be called before `end`.
        """
        ...

    def reason(self) -> str:
        """The last words of what did not start; may be empty."""
        ...

    def cut(self) -> None:
        """End everything inside at once, from any thread; whoever waits for an answer finds the connection closed."""
        ...

    def abandon(self) -> None:
        """In a forked process: close the descriptors of what is its parent's, and end nothing."""
        ...

    def end(self, *, patience: float) -> None:
        """End everything inside, wait for its end and leave nothing behind; after `patience` seconds by force."""
        ...


_open: weakref.WeakSet[LaunchedProcess] = weakref.WeakSet()


@dataclass(eq=False)
class LaunchedProcess:
    """A sandbox behind the pipes of a process that this one has started."""

    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    """What the launcher and the supervisor wrote to standard error."""
    config: Mapping[str, object]
    owned: OwnedFolder | None = None
    """What of the host is removed at the end."""
    unwrap: Callable[[bytes], bytes] | None = None
    image: str = ""
    notice: str = ""
    killed: Path | None = None
    """File whose line `oom_kill N` counts what the kernel had to kill inside."""
    held: Sequence[object] = ()
    """What has to live as long as the sandbox."""

    def __post_init__(self) -> None:
        self.starter = os.getpid()
        # Read anew through one descriptor it takes 2 microseconds, opened each time 30.
        self._counts = open(self.killed, "rb", buffering=0) if self.killed else None  # noqa: SIM115
        _open.add(self)

    @property
    def sink(self) -> int:
        """Its standard input."""
        return self._descriptor(self.process.stdin)

    @property
    def source(self) -> int:
        """Its standard output."""
        return self._descriptor(self.process.stdout)

    @staticmethod
    def _descriptor(pipe: IO[bytes] | None) -> int:
        if pipe is None:
            raise SandboxUnavailable("no pipes to the sandbox")
        return pipe.fileno()

    def cut(self) -> None:
        """By killing what is below it: of bubblewrap that is everything, of `process` the step."""
        if self.process.returncode is None:
            _kill_children(self.process.pid)

    def abandon(self) -> None:
        """Its pipes and its errors."""
        _open.discard(self)
        for stream in (self.process.stdin, self.process.stdout, self.errors, self._counts):
            if stream is not None:
                stream.close()

    def end(self, *, patience: float) -> None:
        """End it, and remove what goes with it."""
        _open.discard(self)
        kill(self.process, patience=patience)
        self.errors.close()
        if self._counts is not None:
            self._counts.close()
        if self.owned is not None:
            self.owned.remove()

    def watch_memory(self) -> Callable[[], bool]:
        """Tells whether the control group counts more such kills than now."""
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
        """The last lines of standard error."""
        size = self.errors.seek(0, os.SEEK_END)
        self.errors.seek(max(0, size - 2000))
        return self.errors.read().decode("utf-8", "replace").strip()


@atexit.register
def _end_all() -> None:
    """What nobody has closed; a forked process leaves what its parent has started."""
    for launched in list(_open):
        if launched.starter == os.getpid():
            launched.end(patience=0.5)


@functools.cache
def compile_guest() -> None:
    """Byte code beside the source, as an import would leave it; takes a third off the cold start.

    It serves interpreters of this version; others, and where it cannot be written, compile at each start.
    """
    import compileall

    compileall.compile_dir(GUEST, maxlevels=0, quiet=2)


def launch(
    command: Sequence[str], *, cwd: str = "/", descriptors: Collection[int] = (), cpus: float | None = None
) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    """Start a command with `GUEST_ENVIRONMENT`, in a session of its own, on at most `cpus` processors."""
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
    """As many of the allowed processors as asked for, at least one; at random, so that sandboxes do not pile up."""
    import random

    count = len(allowed) if cpus is None else max(1, round(cpus))
    return allowed if count >= len(allowed) else set(random.sample(sorted(allowed), count))


def kill(process: subprocess.Popen[bytes], *, patience: float) -> None:
    """End it and wait for its end; after `patience` seconds by force.

    The supervisor ends everything inside when its input closes. By force its children go first: of bubblewrap
    that is PID 1 of the namespace, whose end the kernel reports when all others in it have ended.
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
    """Or the whole group, where there is none to be seen."""
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
    """The limits as the guest reads them.

    `data_bytes` leaves 40 MiB of the memory, at least a sixteenth and at most a quarter: one process that allocates
    too much gets a MemoryError before anything has to be killed, and what it holds by then has room for a snapshot.
    """
    memory = resources.memory_bytes
    return {
        "memory_bytes": memory,
        "data_bytes": max(min(memory // 16 * 15, memory - 40 * MIB), memory // 4 * 3),
        "file_bytes": resources.file_bytes,
        "processes": processes,
        "descriptors": DESCRIPTORS,
        "signals": SIGNALS,
        "output_bytes": resources.output_bytes,
        "display_bytes": resources.display_bytes,
    }
