"""The process in which every step runs. It also forks the frozen twin, which takes its place when a step kills it."""

from __future__ import annotations

import array
import functools
import gc
import io
import os
import resource
import signal
import socket
import stat
import sys
import threading
import time
import warnings
from types import FrameType
from typing import Any

import guest_describe
import guest_digest
import guest_displays
import guest_filter
import guest_fork
import guest_linux
import guest_outside
import guest_steps
from guest_frames import Frame, Frames, Message, encode, write_all

_MOST_FDS = 5
_clock, _getrusage = time.monotonic, resource.getrusage
"""Code of the user may put something else in its place."""
_CLOSE_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0x40000000)


class Stream(io.TextIOWrapper):
    """sys.stdout or sys.stderr. Threads that an earlier step started write to the late pipe."""

    late_threads: frozenset[int] = frozenset()
    late = -1

    def write(self, text: str) -> int:
        """To the late pipe from such a thread; else as any text stream."""
        if self.late_threads and threading.get_ident() in self.late_threads:
            write_all(self.late, str(text).encode("utf-8", "backslashreplace"))
            return len(text)
        return super().write(text)


def open_stream(descriptor: int) -> Stream:
    """A line-buffered stream, so that what was printed before a crash is seen. Lone surrogates print as escapes."""
    raw = io.FileIO(descriptor, "w", closefd=False)
    return Stream(io.BufferedWriter(raw, 1 << 13), "utf-8", "backslashreplace", "\n", True)


class Worker:
    """Serves one request after another; ends when the supervisor does."""

    def __init__(self, control: socket.socket, late: int, config: Message) -> None:
        self._control = control
        self._late = late
        self._work: str = config["work"]
        self._display_bytes: int = config["limits"]["display_bytes"]
        self._main = guest_steps.fresh_main()
        self._compiler = guest_steps.Compiler()
        self._in_step = self._interrupted = False
        self._forker = guest_fork.Forker()
        self._streams: list[Stream] = []
        self._stdin: Any = None

    def serve(self) -> None:
        """Until the supervisor closes its end."""
        signal.signal(signal.SIGINT, self._on_interrupt)
        while True:
            (request, _), descriptors = self._receive()
            if request["op"] == "run":
                self._run(request, descriptors)
            elif request["op"] == "checkpoint":
                self._begin(descriptors[0])
                notes: Message = {"op": "checkpoint"}
                if not self._fork_twin(descriptors[1], descriptors[:1], notes):
                    self._answer(descriptors[0], notes, b"")
            elif request["op"] == "digests":
                self._begin(descriptors[0])
                self._answer(descriptors[0], guest_digest.answer(self.space, request["first"]), b"")
            else:
                self._begin(descriptors[0])
                found = guest_describe.variables(self._main.__dict__)
                self._answer(descriptors[0], {"op": "variables", "items": found}, b"")

    def _receive(self) -> tuple[Frame, list[int]]:
        frames, descriptors = Frames(), array.array("i")
        space = socket.CMSG_SPACE(_MOST_FDS * descriptors.itemsize)
        while True:
            data, ancillary, _, _ = self._control.recvmsg(1 << 16, space, _CLOSE_ON_EXEC)
            if not data:
                os._exit(0)
            for level, kind, attached in ancillary:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    descriptors.frombytes(attached[: len(attached) - len(attached) % descriptors.itemsize])
            complete = frames.feed(data)
            if complete:
                return complete[0], list(descriptors)

    def _begin(self, reply: int) -> None:
        """Say that the request was taken up; a SIGINT from here on counts for it."""
        self._interrupted = False
        write_all(reply, encode({"op": "begun"}))

    @staticmethod
    def _answer(reply: int, message: Message, blob: bytes) -> None:
        """Where nobody listens any more, as after a forged answer, there is nothing to say."""
        try:
            write_all(reply, encode(message, blob))
        except OSError:
            pass
        finally:
            os.close(reply)

    def _run(self, request: Message, descriptors: list[int]) -> None:
        reply, out, err = descriptors[:3]
        self._begin(reply)
        notes: Message = {}
        if len(descriptors) > 3 and self._fork_twin(descriptors[3], descriptors[:3], notes):
            return
        self._open_streams(out, err)
        own = os.getpid()
        step = Step(self, request["number"])
        started, used = _clock(), _usage()
        step.run(request["code"])
        seconds = _clock() - started
        if os.getpid() != own:
            self._end_child(step)
        self._disarm()
        guest_steps.mend(self._main)
        result, blob = step.result(self._display_bytes)
        self._flush()
        ran, kernel, faults = (now - before for now, before in zip(_usage(), used))
        # The kernel guesses how its time and the user's share the sum.
        notes.update(kernel_seconds=max(0.0, min(kernel, ran)), faults=max(0, faults))
        result.update(notes, op="result", seconds=seconds, deleted=self._restore_folder())
        # What was written is in the pipes; nobody need wait for their ends.
        late = os.dup(self._late)
        self._answer(reply, result, blob)
        self._close_streams(late)

    # The twin

    def _fork_twin(self, descriptor: int, others: list[int], notes: Message) -> bool:
        """Leave a frozen copy of this process behind. True in the copy, once it was woken."""
        before = _usage()[0]
        own = {self._control.fileno(), self._late, descriptor, *others}
        outside = guest_describe.guarded(functools.partial(guest_outside.Outside, own))
        twin = self._forker.fork()
        if not twin:
            os.close(descriptor)
            if twin is False:
                # The process in the middle has done the same work again.
                notes["fork_seconds"] = 2 * (_usage()[0] - before)
            return False
        self._freeze(socket.socket(fileno=descriptor), others, outside)
        return True

    def _freeze(self, line: socket.socket, others: list[int], outside: guest_outside.Outside | None) -> None:
        """Wait for the call to take over; then put right what is shared with the process that ended, and say what."""
        self._control.close()
        for descriptor in others:
            os.close(descriptor)
        guest_fork.cut_connections({line.fileno(), self._late, *(outside.spared if outside else ())})
        guest_linux.be_killed_first(frozen=True)
        guest_linux.set_dumpable(False)
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.Signals)
        self._point_streams_at(os.open(os.devnull, os.O_RDWR))
        line.sendall(b"t")
        if not line.recv(1):
            os._exit(0)
        guest_linux.set_dumpable(True)
        guest_linux.be_killed_first()
        guest_linux.die_with_parent(signal.SIGKILL)
        kinds = guest_describe.guarded(lambda: outside.put_right(self.space)) if outside else None
        line.sendall(b"w" + (kinds if isinstance(kinds, str) else "q").encode("ascii", "replace"))
        self._control = line
        self._point_streams_at(os.dup(self._late))

    # Streams

    def _point_streams_at(self, descriptor: int) -> None:
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        for spare in (null, descriptor):
            if spare > 2:
                os.close(spare)

    def _open_streams(self, out: int, err: int) -> None:
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (out, 1), (err, 2)):
            os.dup2(source, target)
            if source > 2:
                os.close(source)
        if not self._streams or any(stream.closed for stream in self._streams):
            self._streams = [open_stream(1), open_stream(2)]
        if self._stdin is None or self._stdin.closed:
            self._stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, "r", closefd=False)), "utf-8")
        older = frozenset(sys._current_frames()) - {threading.get_ident()}
        for stream in self._streams:
            stream.late, stream.late_threads = self._late, older
        for name, stream in zip(("stdin", "stdout", "stderr"), (self._stdin, *self._streams)):
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)

    def _flush(self) -> None:
        for stream in {id(stream): stream for stream in (*self._streams, sys.stdout, sys.stderr)}.values():
            guest_describe.guarded(functools.partial(_flush, stream))

    def _close_streams(self, late: int) -> None:
        """What is written from now on is late. None of the three is free for a descriptor of the next request."""
        self._point_streams_at(late)

    # Around a step

    def enter(self) -> None:
        """User code runs from now on: SIGINT raises KeyboardInterrupt in it."""
        guest_steps.mend(self._main)
        self._restore_folder()
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        signal.signal(signal.SIGINT, self._on_interrupt)
        self._in_step = True
        if self._interrupted:
            raise KeyboardInterrupt

    def leave(self) -> None:
        """User code has ended."""
        self._in_step = False

    @property
    def space(self) -> dict[str, Any]:
        """The global names of the steps."""
        return self._main.__dict__

    @property
    def compiler(self) -> guest_steps.Compiler:
        """Knows the `__future__` of earlier steps."""
        return self._compiler

    def _on_interrupt(self, signum: int, frame: FrameType | None) -> None:
        if self._in_step:
            raise KeyboardInterrupt
        self._interrupted = True

    @staticmethod
    def _disarm() -> None:
        """Timers and traces of a step must not go off in the guest or in the next step."""
        for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
            signal.setitimer(timer, 0)
        sys.settrace(None)
        sys.setprofile(None)
        if "faulthandler" in sys.modules:
            sys.modules["faulthandler"].cancel_dump_traceback_later()

    def _restore_folder(self) -> bool:
        """Every step starts in the work folder. True where it was gone and had to be made again."""
        try:
            gone = not stat.S_ISDIR(os.stat(self._work).st_mode)
            if not os.access(self._work, os.R_OK | os.W_OK | os.X_OK):
                os.chmod(self._work, 0o755)
        except OSError:
            gone = True
        if gone:
            guest_describe.guarded(lambda: os.unlink(self._work))
            os.makedirs(self._work, exist_ok=True)
        os.chdir(self._work)
        return gone

    def _end_child(self, step: Step) -> None:
        """A fork of user code came out of its step: it must not serve requests."""
        self._flush()
        error = step.error
        if isinstance(error, SystemExit):
            os._exit(error.code if isinstance(error.code, int) else int(error.code is not None))
        if error is not None:
            guest_describe.guarded(lambda: sys.excepthook(type(error), error, error.__traceback__))
            self._flush()
        os._exit(int(error is not None))


class Step:
    """One run of user code, and what it did."""

    def __init__(self, worker: Worker, number: int) -> None:
        self._worker = worker
        self._filename = f"<step {number}>"
        self.error: BaseException | None = None
        self._program: guest_steps.Program | None = None
        self._before: guest_describe.Before | None = None
        self._pictures: list[guest_displays.Picture] = []

    def run(self, source: str) -> None:
        """Compile, run, show the last expression; whatever is raised is kept."""
        worker = self._worker
        try:
            try:
                worker.enter()
                self._program = program = worker.compiler.compile(source, self._filename)
                self._before = guest_describe.Before(worker.space, program.mentions)
                exec(program.body, worker.space)
                if program.last is not None:
                    self._show(eval(program.last, worker.space))
            finally:
                worker.leave()
        except BaseException as error:
            self.error = error

    def _show(self, value: Any) -> None:
        if value is None:
            return
        self._pictures += guest_displays.take_shown() + guest_displays.rich(value)
        print(repr(value))

    def result(self, display_bytes: int) -> tuple[Message, bytes]:
        """The frame for the supervisor."""
        pictures = self._pictures + guest_displays.take_shown() + guest_displays.figures()
        pictures = guest_displays.within(pictures, display_bytes)
        changed = []
        if self._before is not None and self._program is not None:
            changed = self._before.changed(self._worker.space, self._program.binds)
        error = None if self.error is None else guest_steps.describe_error(self.error, self._filename)
        memory = isinstance(self.error, MemoryError)
        outcome = "ok" if error is None else "out_of_memory" if memory else "error"
        self.error = self._before = None
        if memory:
            gc.collect()
        return {
            "outcome": outcome,
            "changed": changed,
            "error": error,
            "displays": [[mime, len(data)] for mime, data in pictures],
        }, b"".join(data for _, data in pictures)


def _usage() -> tuple[float, float, int]:
    """Seconds that this process has run, those of them in the kernel, and page faults."""
    used = _getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime, used.ru_stime, used.ru_minflt


def _flush(stream: Any) -> None:
    stream.flush()


def become_worker(control: socket.socket, late: int, config: Message) -> None:
    """Turn this fresh fork of the supervisor into a worker; never returns."""
    try:
        worker = _set_up(control, late, config)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        raise
    worker.serve()


def _set_up(control: socket.socket, late: int, config: Message) -> Worker:
    os.dup2(late, 2)
    guest_linux.die_with_parent(signal.SIGKILL)
    signal.set_wakeup_fd(-1)
    for signum in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(signum, signal.SIG_DFL)
    for signum in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(signum, signal.SIG_IGN)
    guest_linux.bound(config["limits"])
    os.environ.clear()
    os.environ.update(config["env"])
    os.umask(0o022)
    if hasattr(time, "tzset"):
        time.tzset()
    worker = Worker(control, late, config)
    worker._point_streams_at(os.dup(late))
    if "filter" in config:
        guest_filter.install(config["filter"])
    _set_up_imports(config)
    guest_linux.set_dumpable(True)
    guest_linux.be_killed_first()
    return worker


def _set_up_imports(config: Message) -> None:
    import site

    site.main()
    first = [*config["import_first"], config["work"], *config["import_then"]]
    sys.path[:] = first + [path for path in sys.path if path not in first]
    for name in [name for name in sys.modules if name.startswith("guest_")]:
        del sys.modules[name]
    sys.meta_path.insert(0, guest_displays.Hooks())
    sys.argv = [""]
    sys.dont_write_bytecode = True
    warnings.filterwarnings("ignore", message=".*is non-interactive, and thus cannot be shown")
