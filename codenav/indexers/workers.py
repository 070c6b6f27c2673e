"""Worker processes that read files. Threads would not do: tree-sitter holds the interpreter's lock while it parses."""

from __future__ import annotations

import fcntl
import gc
import itertools
import os
import pickle
import resource
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from codenav.core.blocks import CodeBlock, Packed
from codenav.indexers.read import Reading, Task, read

MANY_FILES = 200
"""Number of files above which processes are worth their start (0.15 s each, about the time that 60 files take)."""

_BATCH = 8
"""Files per message. The paths of eight files fit into the 64 KB that a pipe holds, so writing them never blocks."""
_MEMORY = 2 << 30
"""Bytes of address space per process. Real files take under a tenth; a grammar at its worst took 17 GB for 1 MB."""
_COLLECTED = 64
"""Batches after which a process runs the garbage collector, which is otherwise off."""
_PIPE_BYTES = 1 << 20
"""Size of the pipe for answers, so that a process goes on while its last answer waits to be read."""
_AHEAD = 2
"""Messages that a process has at a time: one in work, one waiting."""

Pack = Callable[[Sequence[CodeBlock]], Packed]
"""See `protocols.WritableIndex.pack`."""

_START = "import sys; sys.path[:] = sys.argv[1:]; from codenav.indexers.workers import serve; serve()"


@contextmanager
def readings(
    tasks: Sequence[Task], *, pack: Pack | None = None, jobs: int | None = None
) -> Iterator[Iterator[Reading]]:
    """The readings of all tasks, in order, as a stream; no process is left when the context ends.

    `pack` is applied to the blocks in the process that makes them. `jobs`: the number of processes; None takes one
    per processor for more than `MANY_FILES` tasks, else reads in this process, as 1 does.
    """
    if jobs is None:
        jobs = len(os.sched_getaffinity(0)) if len(tasks) > MANY_FILES else 1
    count = min(jobs, -(-len(tasks) // _BATCH))
    if count <= 1 or not sys.executable:
        yield (_packed(read(task), pack) for task in tasks)
        return
    pool = [_Worker(pack) for _ in range(count)]
    try:
        yield _in_turn(pool, tasks)
    finally:
        for worker in pool:
            worker.end()


def _in_turn(pool: Sequence[_Worker], tasks: Sequence[Task]) -> Iterator[Reading]:
    """Send batches to the processes in turn, and yield their answers in the same order."""
    batches = deque(tasks[at : at + _BATCH] for at in range(0, len(tasks), _BATCH))
    waiting: deque[_Worker] = deque()
    for worker in list(pool) * _AHEAD:
        if batches:
            worker.send(batches.popleft())
            waiting.append(worker)
    while waiting:
        worker = waiting.popleft()
        answer = worker.receive()
        if batches:
            worker.send(batches.popleft())
            waiting.append(worker)
        yield from answer


class _Worker:
    """A process that reads batches of files. It ends when its standard input is closed, so none outlives this one."""

    def __init__(self, pack: Pack | None) -> None:
        self._pack = pack
        self._sent: deque[Sequence[Task]] = deque()
        self._start()

    def send(self, batch: Sequence[Task]) -> None:
        """Send a batch to be read; `receive` returns its readings."""
        self._sent.append(batch)
        self._write(batch)

    def receive(self) -> list[Reading]:
        """The answer to the oldest batch.

        A process that died is replaced, and the file that kills it is left out; if the process does not start at all,
        the batch is read in this one.
        """
        batch = self._sent.popleft()
        if not self._greeted():
            return [_packed(read(task), self._pack) for task in batch]
        answer = self._read()
        return self._one_by_one(batch) if answer is None else answer

    def end(self) -> None:
        """Kill the process: nobody waits for its remaining answers."""
        self._process.kill()
        self._process.communicate()

    def _start(self) -> None:
        # Not multiprocessing: its processes import the caller's main module again, or fork a process with threads.
        # In its own process group, it does not receive Ctrl-C from the terminal.
        self._greeting: bool | None = None
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _START, *(entry for entry in sys.path if entry)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,
        )
        with suppress(OSError):
            fcntl.fcntl(self._process.stdout or -1, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def _greeted(self) -> bool:
        """True if the process has started."""
        if self._greeting is None:
            self._greeting = self._read() is not None
        return self._greeting

    def _restart(self) -> None:
        self.end()
        self._start()
        self._greeted()

    def _one_by_one(self, batch: Sequence[Task]) -> list[Reading]:
        answers: list[Reading] = []
        self._restart()
        for task in batch:
            self._write([task])
            answer = self._read()
            if answer is None:
                answer = [Reading(task.found.path, reason="the parser crashed")]
                self._restart()
            answers += answer
        for later in self._sent:
            self._write(later)
        return answers

    def _write(self, batch: Sequence[Task]) -> None:
        """Send a batch; `_read` notices if the process is gone."""
        pipe = self._process.stdin
        if pipe is not None:
            with suppress(BrokenPipeError):
                pickle.dump((batch, self._pack), pipe, pickle.HIGHEST_PROTOCOL)
                pipe.flush()

    def _read(self) -> list[Reading] | None:
        """The next answer; None if the process is gone."""
        pipe = self._process.stdout
        try:
            answer: list[Reading] | None = pickle.load(pipe) if pipe is not None else None
        except (EOFError, pickle.UnpicklingError):
            return None
        return answer


def serve() -> None:
    """Run as a process of the pool: batches of tasks on standard input, their readings on standard output.

    The first answer is an empty list, sent on start.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    answer: list[Reading] = []
    # Reading makes hardly any reference cycles: the collector would only scan the blocks of a batch again and again.
    gc.disable()
    for count in itertools.count(1):
        if count % _COLLECTED == 0:
            gc.collect()
        try:
            pickle.dump(answer, answers, pickle.HIGHEST_PROTOCOL)
            answers.flush()
            request: tuple[list[Task], Pack | None] = pickle.load(requests)
        except (EOFError, BrokenPipeError):
            # The parent is gone: nothing left in a buffer matters.
            os._exit(0)
        batch, pack = request
        answer = [_packed(read(task), pack) for task in batch]


def _packed(reading: Reading, pack: Pack | None) -> Reading:
    blocks = reading.blocks
    if pack is None or blocks is None or isinstance(blocks, Packed):
        return reading
    return replace(reading, blocks=pack(blocks))
