"""The host's side of a sandbox. It speaks the protocol, enforces deadlines and validates all that comes back."""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from codenav.core.errors import NotFound, SandboxUnavailable, UsageError
from codenav.core.execution import Execution, Output, SandboxInfo, SandboxSpec
from codenav.core.protocols import CallHandler
from codenav.core.system.closing import Closing
from codenav.core.system.terminal_text import neutral
from codenav.sandboxes.calls import Calls, is_answering
from codenav.sandboxes.channel import Channel, Closed, TooLate
from codenav.sandboxes.commands import Commands
from codenav.sandboxes.decoding import Malformed, execution_of
from codenav.sandboxes.endings import LOST, broken_off, closed_while_running, completed, refused, starved_of_memory
from codenav.sandboxes.files import Files, WithFiles
from codenav.sandboxes.guest_files import GuestFiles
from codenav.sandboxes.launch import Launched
from codenav.sandboxes.rpc import Failed, Questions, answer_of
from codenav.sandboxes.streaming import Streaming
from codenav.sandboxes.values import checked_code
from codenav.sandboxes.workfolder import WorkFolder

T = TypeVar("T")

START_SECONDS = 30.0
"""Time for a start. A cold one takes 0.1 s; a loaded machine or a network file system may need far longer."""
SLACK_SECONDS = 0.8
"""Time that the supervisor has after a timeout to kill, wake the snapshot and answer."""
CODE_CHARACTERS = 2 << 20
"""Most characters of a step."""
REBUILD_SECONDS = 15.0
"""Time for earlier steps to run again, on top of twice the time they first took.

It slightly exceeds what the supervisor may ask for.
"""
ABANDON_SECONDS = 1.0
"""Time for an answer that nobody waits for any more, as after Ctrl-C.

It passes once before a second interrupt, and again before the sandbox is ended.
"""
CLOSE_SECONDS = 1.0
"""Time for a running step to answer an interrupt when its sandbox is closed."""

_open: weakref.WeakSet[GuestSandbox] = weakref.WeakSet()


class GuestSandbox(Questions, Commands, WithFiles, Closing):
    """A `codenav.core.protocols.Sandbox` over a guest. Thread-safe: steps queue, `interrupt` does not."""

    def __init__(self, backend: str, spec: SandboxSpec, launch: Callable[[SandboxSpec], Launched]) -> None:
        self._backend, self._spec, self._launch, self._lock = backend, spec, launch, threading.RLock()
        self._folder = WorkFolder(spec.work_dir, spec.resources, copy_out=spec.copy_out, mounts=spec.mounts)
        self._steps = self._checkpoints = 0
        self._ran = 0.0
        """Total seconds of all steps."""
        self._closed = self._ended = self._forked = self._busy = False
        self.calls: CallHandler | None = None
        """The handler of calls from steps to the host. None refuses them."""
        self._notice = ""
        self._launched: Launched | None = None
        self._channel: Channel | None = None
        self._info: SandboxInfo
        try:
            self._start()
        except BaseException:
            self._folder.close()
            raise
        self.after_close: Callable[[], None] | None = None
        """Called once, when the sandbox is closed."""
        self.uncopied: Sequence[str] = ()
        """After `close`, lines about files that could not be copied out and are lost."""
        _open.add(self)

    def __repr__(self) -> str:
        return f"<Sandbox {self._backend} Python {self._info.python_version}{' closed' if self._closed else ''}>"

    @property
    def info(self) -> SandboxInfo:
        """The description of this sandbox."""
        return self._info

    def run(
        self, code: str, *, timeout: float | None = None, on_output: Callable[[Output], None] | None = None
    ) -> Execution:
        """Run one step. See `codenav.core.protocols.Sandbox.run`."""
        checked_code(code)
        streaming = None if on_output is None else Streaming(on_output, self._spec.resources.output_bytes)
        done = self._run(code, timeout, streaming)
        if streaming is not None:
            streaming.finish(done)
        return done

    def _run(self, code: str, timeout: float | None, streaming: Streaming | None) -> Execution:
        seconds = self._spec.resources.step_seconds if timeout is None else timeout
        if not 0 < seconds < math.inf:
            raise UsageError("the timeout of a step has to be over 0 seconds", hint="None takes the default")
        with self._alone():
            channel = self._ready()
            if len(code) > CODE_CHARACTERS:
                return refused(f"a step of {len(code)} characters; {CODE_CHARACTERS} are allowed")
            self._steps += 1
            notice, self._notice = self._notice, ""
            starved = self._launched.watch_memory() if self._launched else bool
            deadline = time.monotonic() + seconds + SLACK_SECONDS
            calls = Calls(self.calls, self, channel, self._steps, seconds=seconds)
            try:
                asked = {"op": "run", "number": self._steps, "code": code, "timeout": seconds}
                asked |= {"stream": streaming is not None, "calls": self.calls is not None}
                channel.send(asked, deadline=deadline)
                with contextlib.closing(calls):
                    frame, blob = channel.receive(
                        deadline=deadline, streaming=streaming, on_call=calls.hear, clock=calls.clock
                    )
                resources = self._spec.resources
                done = execution_of(frame, blob, number=self._steps, display_bytes=resources.display_bytes)
                self._ran += done.seconds
                if self._ended:
                    return closed_while_running(seconds)
                copied = self._folder.collect(channel, time.monotonic() + resources.copy_seconds)
            except (Malformed, Closed, TooLate) as error:
                done = closed_while_running(seconds) if self._ended else broken_off(error, seconds)
                if isinstance(error, Closed) and not self._ended and starved():
                    done = starved_of_memory(self._spec.resources)
                self._stop(patience=0.0)
                return done
            except BaseException:
                self._abandon(channel)
                raise
            if copied.broken:
                self._stop(patience=0.0)
            return completed(done, notice, copied)

    def checkpoint(self) -> int:
        """Keep the current variables. See `codenav.core.protocols.Sandbox.checkpoint`."""
        seconds = self._spec.resources.step_seconds

        def ask(channel: Channel, deadline: float) -> int:
            # Counted here, because a sandbox that was started again must not reuse a number.
            number = self._checkpoints + 1
            answer_of(channel, {"op": "checkpoint", "number": number, "timeout": seconds}, deadline)
            self._checkpoints = number
            return number

        return self._ask("keep a checkpoint", seconds, ask)

    def restore(self, number: int) -> str:
        """Return to the variables of a checkpoint. See `codenav.core.protocols.Sandbox.restore`."""
        seconds = self._spec.resources.step_seconds

        def ask(channel: Channel, deadline: float) -> str:
            wanted = {"op": "restore", "number": number, "timeout": seconds}
            frame, _ = answer_of(channel, wanted, deadline, expected=("restored", "missing"))
            if frame["op"] == "missing":
                raise NotFound(f"no checkpoint {number}, or no more", hint="keep one with checkpoint before")
            self._notice = ""
            return neutral(frame["notice"])

        return self._ask(f"go back to checkpoint {number}", seconds, ask)

    @property
    def files(self) -> Files:
        """The files of its work folder. See `codenav.core.protocols.SandboxFiles`."""
        return Files(GuestFiles(self._spec.resources, self._ask))

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the running step. See `codenav.core.protocols.Sandbox.interrupt`."""
        channel = self._channel
        if channel is not None:
            with contextlib.suppress(Closed, TooLate):
                channel.send({"op": "interrupt"}, deadline=time.monotonic() + 1.0)

    def close(self, *, force: bool = False) -> None:
        """End every process inside. See `codenav.core.protocols.Sandbox.close`."""
        self._closed = True
        self._end_running(force=force)
        with self._lock:
            if not (force or self._ended):
                self._collect_last()
            self._stop()
            self._folder.close()
            callback, self.after_close = self.after_close, None
        if callback is not None:
            callback()

    def _end_running(self, *, force: bool) -> None:
        """End a step of another thread: interrupt it, then end everything inside. With `force` do so at once.

        A step whose `on_output` is calling this cannot be waited for.
        """
        if mine := self._lock.acquire(blocking=False):
            self._lock.release()
            if not self._busy:
                return
        if not (force or mine):
            self.interrupt()
            if self._lock.acquire(timeout=CLOSE_SECONDS):
                self._lock.release()
                return
        self._ended = True
        launched = self._launched
        if launched is not None:
            launched.cut()

    def _leave_to_parent(self) -> None:
        """In a forked process, give up a sandbox that belongs to the parent."""
        self._lock = threading.RLock()
        launched, self._launched, self._channel = self._launched, None, None
        self._closed, self._forked, self._busy = True, True, False
        self.after_close = None
        if launched is not None:
            launched.abandon()

    def begin_with(self, work_dir: Path | None, *, copy_out: bool) -> None:
        """Take a work folder before the first step. The answer shows that the sandbox is alive.

        Raises:
            UsageError: the folder is missing, too large, or cannot be read.
            SandboxUnavailable: the sandbox has ended.
        """
        with self._lock:
            if self._channel is None:
                raise SandboxUnavailable("the sandbox has ended")
            folder = WorkFolder(work_dir, self._spec.resources, copy_out=copy_out, mounts=self._spec.mounts)
            files = folder.files()
            deadline = time.monotonic() + START_SECONDS
            try:
                folder.fill(self._channel, files, deadline)
                answer_of(self._channel, {"op": "stat", "name": ""}, deadline)
            except (Malformed, Closed, TooLate, Failed) as error:
                self._stop(patience=0.0)
                raise SandboxUnavailable("the sandbox has ended") from error
            self._folder.close()
            self._folder, self._spec = folder, replace(self._spec, work_dir=work_dir, copy_out=copy_out)
            self._info = replace(self._info, notice="; ".join(filter(None, (self._info.notice, folder.notice))))

    def _ask(self, what: str, seconds: float, ask: Callable[[Channel, float], T]) -> T:
        """Ask the supervisor for something other than a step.

        Raises:
            UsageError: raised by `ask`.
            SandboxUnavailable: there is no valid answer.
        """
        with self._alone():
            channel = self._ready()
            try:
                return ask(channel, time.monotonic() + seconds + SLACK_SECONDS)
            except UsageError:
                raise
            except Failed as error:
                reason = str(error)
            except (Malformed, Closed, TooLate) as error:
                self._stop(patience=0.0)
                reason = str(error) or f"no answer in {seconds:g} s"
            except BaseException:
                self._abandon(channel)
                raise
        raise SandboxUnavailable(f"the sandbox cannot {what}: {reason}", hint="run another step")

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the sandbox for one request. Other threads wait; this one and a handler of the step's calls cannot."""
        hint = "use it after the step; on_output and a handler of calls may interrupt or close it"
        if is_answering(self):
            raise UsageError("the sandbox is running a step", hint=hint)
        with self._lock:
            if self._busy:
                raise UsageError("the sandbox is running a step", hint=hint)
            self._busy = True
            try:
                yield
            finally:
                self._busy = False

    def _ready(self) -> Channel:
        if self._forked:
            raise SandboxUnavailable(
                "the sandbox belongs to the process that this one was forked from", hint="start another one here"
            )
        if self._closed:
            raise SandboxUnavailable("the sandbox is closed", hint="start another one")
        channel = self._channel
        if channel is not None:
            try:
                channel.settle(deadline=time.monotonic() + ABANDON_SECONDS)
            except (Malformed, Closed, TooLate):
                self._stop(patience=0.0)
                channel = None
        if channel is None:
            try:
                channel = self._start()
            except UsageError as error:
                raise SandboxUnavailable(f"the sandbox cannot be started again: {error}", hint=error.hint) from error
            self._notice = LOST
        channel.patience = REBUILD_SECONDS + 2 * self._ran
        return channel

    def _start(self) -> Channel:
        files = self._folder.files()
        self._launched = launched = self._launch(self._spec)
        channel = Channel(launched.sink, launched.source, launched.unwrap)
        deadline = time.monotonic() + START_SECONDS
        try:
            asked = {"op": "start", "snapshots": self._spec.snapshots, **launched.config}
            channel.send(asked, deadline=deadline)
            frame, _ = channel.receive(deadline=deadline)
            if frame["op"] != "ready":
                raise Malformed(neutral(frame.get("why", ""))[:4000])
            self._folder.fill(channel, files, deadline)
        except (Malformed, Closed, TooLate) as error:
            reason = launched.reason() or str(error).strip(" ;") or "it does not answer"
            self._stop()
            raise SandboxUnavailable(f"the {self._backend} sandbox does not start: {reason}") from error
        except BaseException:
            self._stop()
            raise
        self._channel = channel
        self._info = _info_of(self._backend, self._spec, launched, frame, self._folder.notice)
        return channel

    def _abandon(self, channel: Channel) -> None:
        """End the step after its caller was interrupted, and drop its answer. The state is kept if possible."""
        for _ in range(2):
            deadline = time.monotonic() + ABANDON_SECONDS
            try:
                channel.send({"op": "interrupt"}, deadline=deadline)
                channel.settle(deadline=deadline)
                return
            except TooLate:
                continue
            except (Malformed, Closed):
                break
        self._stop(patience=0.0)

    def _collect_last(self) -> None:
        """Try once more to copy out what failed at the last try."""
        self.uncopied = self._folder.left
        if self._channel is not None and self.uncopied:
            with contextlib.suppress(Malformed, Closed, TooLate):
                deadline = time.monotonic() + self._spec.resources.copy_seconds
                self._channel.settle(deadline=deadline)
                self.uncopied = self._folder.collect(self._channel, deadline, silent=True).left

    def _stop(self, *, patience: float = 1.0) -> None:
        launched, self._launched, self._channel = self._launched, None, None
        if launched is not None:
            launched.end(patience=patience)


def _info_of(backend: str, spec: SandboxSpec, launched: Launched, ready: Mapping[str, Any], notice: str) -> SandboxInfo:
    """Describe a sandbox that has started. `ready` is the first frame from inside, `notice` that of its work folder."""
    why = neutral(ready.get("unfiltered", ""))
    notices = (launched.notice, f"no filter of system calls: {why}" if why else "", notice)
    return SandboxInfo(
        backend=backend,
        isolated=backend != "process",
        python_version=neutral(ready["version"]),
        work_dir=str(launched.config["work"]),
        network=spec.network,
        image=launched.image,
        notice="; ".join(filter(None, notices)),
    )


def _leave_to_parents() -> None:
    """Give up the parent's sandboxes: one ends with its last descriptor, so a child's would keep it alive."""
    for sandbox in list(_open):
        sandbox._leave_to_parent()


os.register_at_fork(after_in_child=_leave_to_parents)
