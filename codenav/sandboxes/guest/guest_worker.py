"""The process in which every step runs. It also forks the frozen twin, which takes its place when a step kills it."""

from __future__ import annotations

import ast
import collections
import contextlib
import functools
import io
import os
import re
import resource
import select
import signal
import socket
import stat
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import Any

import guest_calls
import guest_describe
import guest_digest
import guest_displays
import guest_filter
import guest_fork
import guest_hints
import guest_linux
import guest_loop
import guest_outside
import guest_plain
import guest_runner
import guest_seal
from guest_frames import Message, encode, write_all
from guest_step import Step

_clock, _getrusage = time.monotonic, resource.getrusage
"""Bound here because user code may put something else in its place."""


class Stream(io.TextIOWrapper):
    """sys.stdout or sys.stderr. Threads that an earlier step started write to the late pipe."""

    late_threads: frozenset[int] = frozenset()
    late = -1

    def write(self, text: str) -> int:
        """Write to the late pipe from such a thread; else as any text stream."""
        if self.late_threads and threading.get_ident() in self.late_threads:
            write_all(self.late, str(text).encode("utf-8", "backslashreplace"))
            return len(text)
        return super().write(text)


def open_stream(descriptor: int) -> Stream:
    """Open a line-buffered stream: what was printed before a crash is seen. Lone surrogates print as escapes."""
    raw = io.FileIO(descriptor, "w", closefd=False)
    return Stream(io.BufferedWriter(raw, 1 << 13), "utf-8", "backslashreplace", "\n", True)


class Worker:
    """The server of requests, but for what decides how a step went: see `guest_seal.serve`."""

    def __init__(self, control: socket.socket, late: int, config: Message) -> None:
        self.control = control
        self._late = late
        self._work: str = config["work"]
        self._display_bytes: int = config["limits"]["display_bytes"]
        self._main = guest_runner.fresh_main()
        self.armed: list[bool] = []
        """Not empty while a SIGINT is to raise KeyboardInterrupt."""
        self._interrupted = False
        self._step = Step(0)
        self._notes: Message = {}
        self._started, self._used = 0.0, _usage()
        self._forker = guest_fork.Forker()
        self._streams: list[Stream] = []
        self._stdin: Any = None
        self._loop = guest_loop.Loop()
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        self._control, self._opened = control.fileno(), os.fstat(control.fileno())

    def rest(self) -> None:
        """Wait for a request. Meanwhile threads of user code do not get the reserve."""
        with contextlib.suppress(MemoryError):
            guest_linux.hold_reserve(True)
            # Code may have put a descriptor in its place from which nothing ever comes.
            if os.path.samestat(os.fstat(self._control), self._opened):
                self._poll.poll()
        guest_linux.hold_reserve(False)

    def answer(self, request: Message, descriptors: Sequence[int]) -> None:
        """Serve a request that is not a step."""
        reply = descriptors[0]
        self._begin(reply)
        if request["op"] == "checkpoint":
            notes: Message = {"op": "checkpoint"}
            if not self._fork_twin(descriptors[1], list(descriptors[:1]), notes):
                self._answer(reply, notes, b"")
        elif request["op"] == "digests":
            self._answer(reply, guest_digest.answer(self.space, request["first"]), b"")
        elif request["op"] == "value":
            self._answer(reply, guest_plain.answer(self.space, request["name"]), b"")
        else:
            found = guest_describe.variables(self._main.__dict__)
            self._answer(reply, {"op": "variables", "items": found}, b"")

    def _begin(self, reply: int) -> None:
        """Say that the request was taken up; a SIGINT from here on counts for it."""
        self._interrupted = False
        write_all(reply, encode({"op": "begun"}))

    @staticmethod
    def _answer(reply: int, message: Message, blob: bytes) -> None:
        """Send an answer. Where nobody listens any more, as after a forged answer, there is nothing to say."""
        try:
            write_all(reply, encode(message, blob))
        except OSError:
            pass
        finally:
            os.close(reply)

    def prepare(self, request: Message, descriptors: Sequence[int]) -> bool:
        """Do all that a step needs before it begins. True in the twin, once it was woken, which runs none."""
        self._begin(descriptors[0])
        self._notes = {}
        lines = 4 if request["calls"] else 3
        if len(descriptors) > lines and self._fork_twin(descriptors[lines], list(descriptors[:lines]), self._notes):
            return True
        self._open_streams(*descriptors[1:3])
        guest_calls.begin(descriptors[3] if request["calls"] else None)
        self._step = Step(request["number"])
        self._started, self._used = _clock(), _usage()
        return False

    def finish(self, request: Message, descriptors: Sequence[int], error: BaseException | None) -> None:
        """Report what a step that is over has done; its outcome was reported before."""
        seconds = _clock() - self._started
        self._disarm()
        guest_runner.mend(self._main)
        guest_linux.hold_reserve(False)
        result, blob = self._step.result(self.space, error, self._display_bytes)
        guest_calls.end()
        self._flush()
        ran, kernel, faults = (now - before for now, before in zip(_usage(), self._used))
        # The kernel guesses how its time and the user's share the sum.
        self._notes.update(kernel_seconds=max(0.0, min(kernel, ran)), faults=max(0, faults))
        deleted, moved = self._restore_folder()
        result.update(self._notes, op="result", seconds=seconds, deleted=deleted, moved=moved)
        # The output is in the pipes by now; nobody need wait for their ends.
        late = os.dup(self._late)
        self._answer(descriptors[0], result, blob)
        self._close_streams(late)

    # The twin

    def _fork_twin(self, descriptor: int, others: list[int], notes: Message) -> bool:
        """Leave a frozen copy of this process behind. True in the copy, once it was woken."""
        before = _usage()[0]
        own = {self.control.fileno(), self._late, descriptor, *others}
        outside = guest_describe.guarded(functools.partial(guest_outside.Outside, own))
        twin = self._forker.fork()
        if not twin:
            os.close(descriptor)
            if twin is False:
                # The process in the middle has done the same work again.
                notes["fork_seconds"] = 2 * (_usage()[0] - before)
            return False
        self._freeze(descriptor, others, outside)
        return True

    def _freeze(self, descriptor: int, others: list[int], outside: guest_outside.Outside | None) -> None:
        """Wait for the call to take over; then put right what is shared with the ended process, and say what cannot be.

        The line to the supervisor takes the place of the worker's own.
        """
        line = self.control
        os.dup2(descriptor, line.fileno(), inheritable=False)
        for spare in (descriptor, *others):
            os.close(spare)
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
            self._stdin = io.TextIOWrapper(io.BufferedReader(guest_hints.Nobody(0, "r", closefd=False)), "utf-8")
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
        """Make all output late from now on. None of the three is free for a descriptor of the next request."""
        self._point_streams_at(late)

    # Around a step

    def enter(self, source: str, filename: str) -> None:
        """Prepare for user code, in which SIGINT raises KeyboardInterrupt from now on."""
        guest_runner.mend(self._main)
        self._restore_folder()
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        signal.signal(signal.SIGINT, self._on_interrupt)
        guest_linux.heed_nudges()
        guest_linux.hold_reserve(True)
        self.armed.append(True)
        if self._interrupted:
            raise KeyboardInterrupt
        guest_runner.enter(source, filename)

    def look(self, tree: ast.Module | str) -> dict[str, Any]:
        """Note what there is before a step, and return the names in which it runs."""
        self._step.look(tree, self.space)
        return self.space

    def show(self) -> None:
        """Show the value of the last expression."""
        self._step.show(self.space)

    def drive(self, coroutine: Any) -> None:
        """Run a step that awaits."""
        self._loop.run(coroutine)

    @property
    def space(self) -> dict[str, Any]:
        """The global names of the steps."""
        return self._main.__dict__

    def _on_interrupt(self, signum: int, frame: FrameType | None) -> None:
        if self.armed:
            raise KeyboardInterrupt
        self._interrupted = True

    @staticmethod
    def _disarm() -> None:
        """Stop timers and traces of a step, which must not go off in the guest or in the next step."""
        for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
            signal.setitimer(timer, 0)
        sys.settrace(None)
        sys.setprofile(None)
        if "faulthandler" in sys.modules:
            sys.modules["faulthandler"].cancel_dump_traceback_later()

    def _restore_folder(self) -> tuple[bool, bool]:
        """Stay in the folder of the last step, or go to the work folder. True for each of the two that was gone.

        The work folder comes first.
        """
        try:
            gone = not stat.S_ISDIR(os.stat(self._work).st_mode)
            if not os.access(self._work, os.R_OK | os.W_OK | os.X_OK):
                os.chmod(self._work, 0o755)
        except OSError:
            gone = True
        if gone:
            guest_describe.guarded(lambda: os.unlink(self._work))
            os.makedirs(self._work, exist_ok=True)
        try:
            os.getcwd()
        except OSError:
            os.chdir(self._work)
            return gone, True
        return gone, False

    def end_child(self, error: BaseException | None = None) -> None:
        """End a fork of user code that came out of its step: it must not serve requests."""
        self._flush()
        if isinstance(error, SystemExit):
            os._exit(error.code if isinstance(error.code, int) else int(error.code is not None))
        if error is not None:
            error = error.with_traceback(guest_runner.own_frames(error))
            guest_describe.guarded(lambda: sys.excepthook(type(error), error, error.__traceback__))
            self._flush()
        os._exit(int(error is not None))


def _usage() -> tuple[float, float, int]:
    """The seconds that this process has run, those of them in the kernel, and its page faults."""
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
    guest_seal.serve(worker)


def _set_up(control: socket.socket, late: int, config: Message) -> Worker:
    os.dup2(late, 2)
    guest_linux.die_with_parent(signal.SIGKILL)
    signal.set_wakeup_fd(-1)
    for signum in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(signum, signal.SIG_DFL)
    for signum in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(signum, signal.SIG_IGN)
    guest_linux.bound(config["limits"])
    os.makedirs(config["work"], exist_ok=True)
    os.chdir(config["work"])
    os.environ.clear()
    os.environ.update(config["env"])
    os.umask(0o022)
    if hasattr(time, "tzset"):
        time.tzset()
    own = {"call_host": guest_calls.call_host, "HostCallError": guest_calls.HostCallError}
    guest_runner.provide({"display": guest_displays.display, **own})
    worker = Worker(control, late, config)
    worker._point_streams_at(os.dup(late))
    if "filter" in config:
        guest_filter.install(config["filter"])
    _set_up_imports(config)
    guest_linux.set_dumpable(True)
    guest_linux.be_killed_first()
    return worker


def _drop_flag() -> None:
    """Have `sys.flags` say that there is a `site`, as there is now: libraries hand these flags on to their children."""
    names = re.findall(r"(\w+)=", repr(sys.flags))
    made = collections.namedtuple("flags", names)  # type: ignore[misc]
    sys.flags = made(**{**{name: getattr(sys.flags, name) for name in names}, "no_site": 0})  # type: ignore[assignment]


def _set_up_imports(config: Message) -> None:
    import site

    site.main()
    first = [*config["import_first"], config["work"], *config["import_then"]]
    sys.path[:] = first + [path for path in sys.path if path not in first]
    for name in [name for name in sys.modules if name.startswith("guest_")]:
        del sys.modules[name]
    host = guest_calls.module()
    host.__dict__.update(display=guest_displays.display, loaded=guest_plain.loaded)
    guest_runner.provide_module(host)
    sys.meta_path.insert(0, guest_displays.Hooks())
    _drop_flag()
    sys.argv = [""]
    sys.breakpointhook = guest_hints.refuse_debugger
    sys.dont_write_bytecode = True
    warnings.filterwarnings("ignore", message=".*is non-interactive, and thus cannot be shown")
