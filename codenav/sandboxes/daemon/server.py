"""The host process of one named sandbox. Standard input says what to start.

Run as `python -m codenav.sandboxes.daemon.server`.

It reports on standard output that the sandbox runs, or why not, and then detaches from its starter. From then on it
serves clients on its socket, which only its user can reach, until it is stopped or reaches the idle limit.
"""

from __future__ import annotations

import contextlib
import functools
import os
import select
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from codenav.core.errors import CodeNavError, SandboxUnavailable, StorageFull
from codenav.core.execution import Execution, ExecutionError, Outcome, Output, SandboxSpec, ToolCall
from codenav.core.protocols import CallHandler, CallsOfStep, Sandbox
from codenav.core.secrets.masking import masker
from codenav.sandboxes import start
from codenav.sandboxes.daemon import places, steps
from codenav.sandboxes.daemon.wire import PIECE, ConnectionClosed, Starting, Wire, plain
from codenav.sandboxes.masked import MaskedSandbox

AGAIN_SECONDS = 2.0
"""Time between interrupts of a step whose client has left. The second one ends the step."""
STOP_SECONDS = 3.0
"""Time for a stopped sandbox to end, including the second in which a step may answer its interrupt."""
OF_THE_SANDBOX = ("variables", "get", "digests", "checkpoint", "restore")
OF_ITS_FILES = ("list", "stat", "remove", "make_folder", "read_into", "write_from")
"""Methods that clients may call, those of the sandbox's files with `files.` before them."""


class Signal:
    """The request to end this process, made by SIGTERM, SIGINT or `FORCE`. It may come before the sandbox runs."""

    def __init__(self) -> None:
        self.seen, self._giving = os.pipe()
        self.force = False
        for number in (signal.SIGTERM, signal.SIGINT, places.FORCE):
            signal.signal(number, self._give)
        # Not SIG_IGN, which child processes would inherit.
        signal.signal(signal.SIGHUP, lambda number, frame: None)

    def _give(self, number: int, frame: object) -> None:
        self.force = number == places.FORCE
        os.write(self._giving, b"!")


class Step:
    """One request to run code. It keeps the interrupts of its client away from steps of others."""

    def __init__(self) -> None:
        self.interrupted = False
        self.done = threading.Event()


@dataclass(frozen=True)
class Tools:
    """The tools that code in a sandbox can call."""

    handler: CallHandler
    calls: CallsOfStep
    """Collects the calls of a step."""
    secrets: Mapping[str, str]
    """Values by name, to be masked in all output."""
    close: Callable[[], None]


OpenTools = Callable[[Mapping[str, Any]], Tools]
"""Opens the tools that the starter has described."""


class Host:
    """The server of one sandbox."""

    def __init__(
        self, record: places.Record, sandbox: Sandbox, secrets: Mapping[str, str], end: Signal, tools: Tools | None
    ) -> None:
        self._record, self._sandbox, self._ending, self._tools = record, sandbox, end, tools
        self._mask = masker(secrets)
        self._folder = places.folder_of(record.name)
        self._turn = threading.Lock()
        self._guard = threading.Lock()
        self._running: Step | None = None
        self._since = 0.0
        self._steps = self._working = 0
        self._last_use = time.monotonic()

    def serve(self, listener: socket.socket) -> None:
        """Accept clients until a signal or the idle limit."""
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        poll.register(self._ending.seen, select.POLLIN)
        while True:
            left = self._left()
            if left is not None and left <= 0:
                break
            ready = [descriptor for descriptor, _ in poll.poll(None if left is None else left * 1000 + 1)]
            if self._ending.seen in ready:
                break
            if ready:
                client, _ = listener.accept()
                threading.Thread(target=self._serve_client, args=(client,), daemon=True).start()
        listener.close()
        self._end()

    def _left(self) -> float | None:
        """Return the seconds until the idle limit, or None if there is no limit. While busy that is the whole limit."""
        with self._guard:
            if not self._record.idle_seconds:
                return None
            if self._working:
                return self._record.idle_seconds
            return self._last_use + self._record.idle_seconds - time.monotonic()

    def _end(self) -> None:
        """End the sandbox with everything that runs, and remove what is left."""
        closing = threading.Thread(target=self._sandbox.close, kwargs={"force": self._ending.force}, daemon=True)
        closing.start()
        # A step that does not answer ends when this process does.
        closing.join(STOP_SECONDS)
        if self._tools is not None:
            self._tools.close()
        places.remove(self._record.name)
        os._exit(0)

    # Clients

    def _serve_client(self, client: socket.socket) -> None:
        wire, step = Wire(client), None
        try:
            while True:
                (operation, arguments, named), size = wire.receive()
                if operation == "run":
                    step = Step()
                    threading.Thread(target=self._serve_step, args=(wire, step, *arguments), daemon=True).start()
                elif operation == "interrupt":
                    self._interrupt(step)
                elif operation == "status":
                    wire.send(self._status())
                else:
                    self._answer(wire, operation, arguments, named, size)
        except ConnectionClosed:
            # Nobody waits for the step any more. An interrupt that comes before it begins is lost, hence the loop.
            while step is not None and not step.done.wait(0.0 if not step.interrupted else AGAIN_SECONDS):
                self._interrupt(step)
        finally:
            wire.close()

    def _interrupt(self, step: Step | None) -> None:
        if step is not None:
            with self._guard:
                step.interrupted = True
                if self._running is step:
                    self._sandbox.interrupt()

    def _status(self) -> dict[str, Any]:
        now = time.monotonic()
        with self._guard:
            busy = self._running is not None
            return {
                "steps": self._steps,
                "running_seconds": round(now - self._since, 1) if busy else None,
                "idle_seconds": 0.0 if self._working else round(now - self._last_use, 1),
            }

    def _serve_step(self, wire: Wire, step: Step, code: str, timeout: float | None, stream: bool) -> None:
        answer: Any
        try:
            answer = self._run(step, code, timeout, functools.partial(_send_output, wire) if stream else None)
        except CodeNavError as error:
            answer = plain(error)
        finally:
            step.done.set()
        with contextlib.suppress(ConnectionClosed):
            wire.send(answer)

    def _run(
        self, step: Step, code: str, timeout: float | None, on_output: Callable[[Output], None] | None
    ) -> tuple[Execution, Sequence[ToolCall]]:
        with self._use(), self._turn:
            with self._guard:
                if step.interrupted:
                    error = ExecutionError("KeyboardInterrupt", "interrupted before it began")
                    return Execution(Outcome.ERROR, error=error), ()
                self._running, self._since = step, time.monotonic()
                self._steps += 1
            try:
                with self._tools.calls.collected() if self._tools else contextlib.nullcontext(()) as calls:
                    execution = self._sandbox.run(code, timeout=timeout, on_output=on_output)
            finally:
                with self._guard:
                    self._running = None
            # A full disk must not fail the step, only the log.
            with contextlib.suppress(OSError):
                steps.write(self._folder, self._steps, self._mask(code), execution, calls)
            return execution, calls

    def _answer(
        self, wire: Wire, operation: str, arguments: Sequence[Any], named: Mapping[str, Any], size: int
    ) -> None:
        # Data go over the disk: a slow client must not hold up the sandbox, nor large files fill the memory.
        with tempfile.SpooledTemporaryFile(max_size=PIECE, dir=str(self._folder)) as file:
            try:
                wire.receive_into(file, size)
                file.seek(0)
                answer = self._call(operation, *arguments, file=file, **named)
                file.seek(0)
            except CodeNavError as error:
                answer = plain(error)
            except OSError as error:
                answer = StorageFull(f"cannot write in {self._folder}: {error.strerror}", hint="free some space")
            wire.send(answer, file if operation == "files.read_into" and answer is None else None)

    def _call(self, operation: str, *arguments: Any, file: IO[bytes], **named: Any) -> Any:
        of_files, method = operation.startswith("files."), operation.removeprefix("files.")
        if method not in (OF_ITS_FILES if of_files else OF_THE_SANDBOX):
            raise SandboxUnavailable(f"a named sandbox has no {operation!r}")
        given = (*arguments, file) if method in ("read_into", "write_from") else arguments
        with self._use():
            return getattr(self._sandbox.files if of_files else self._sandbox, method)(*given, **named)

    @contextlib.contextmanager
    def _use(self) -> Any:
        """Mark the sandbox as busy, so that it does not count as idle."""
        with self._guard:
            self._working += 1
        try:
            yield
        finally:
            with self._guard:
                self._working -= 1
                self._last_use = time.monotonic()


def _send_output(wire: Wire, piece: Output) -> None:
    """Send output to a client, unless it has left: its step is interrupted elsewhere."""
    with contextlib.suppress(ConnectionClosed):
        wire.send(piece)


def main(open_tools: OpenTools | None = None) -> None:
    """Start what standard input says, report on standard output, and serve."""
    os.umask(0o077)
    end = Signal()
    said = Wire(socket.socket(fileno=os.dup(0)))
    try:
        asked: Starting = said.receive()[0]
    except ConnectionClosed:
        return
    tools = None
    try:
        with contextlib.ExitStack() as undoing:
            record = places.claim(asked.name, created=steps.now(), idle_seconds=asked.idle_seconds)
            undoing.callback(places.remove, record.name)
            spec = _with_work_dir(asked.spec, record)
            if open_tools and asked.tools:
                tools = open_tools(asked.tools)
                undoing.callback(tools.close)
            sandbox: Sandbox = start(asked.backend, spec, calls=tools.handler if tools else None)
            undoing.callback(sandbox.close)
            record = replace(record, info=sandbox.info, work_dir=str(spec.work_dir))
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            with places.socket_address(record.name) as address:
                listener.bind(address)
            listener.listen(64)
            record.write()
            _let_go(places.folder_of(record.name))
            said.send(record.name)
            undoing.pop_all()
    except CodeNavError as error:
        said.send(plain(error))
        return
    said.close()
    secrets = {**spec.env, **(tools.secrets if tools else {})}
    Host(record, MaskedSandbox(sandbox, secrets) if secrets else sandbox, secrets, end, tools).serve(listener)


def _with_work_dir(spec: SandboxSpec, record: places.Record) -> SandboxSpec:
    """Give the sandbox a work folder of its own if none was named. Its files survive a restart of the sandbox."""
    if spec.work_dir is not None:
        return spec
    folder = places.folder_of(record.name) / "work"
    folder.mkdir()
    return replace(spec, work_dir=folder)


def _let_go(folder: Path) -> None:
    """Replace the standard streams. Errors from here on go to `host.log`."""
    null = os.open(os.devnull, os.O_RDWR)
    log = os.open(folder / "host.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number, descriptor in ((0, null), (1, null), (2, log)):
        os.dup2(descriptor, number)
    os.close(null)
    os.close(log)


def detached(open_tools: OpenTools | None = None) -> None:
    """Carry out `main` in a process of its own. Nothing returns from here."""
    if os.fork():
        # The starter waits for this process only. Its child has no parent to wait for it.
        os._exit(0)
    os.setsid()
    os.chdir("/")
    main(open_tools)
    sys.exit(0)


if __name__ == "__main__":
    detached()
