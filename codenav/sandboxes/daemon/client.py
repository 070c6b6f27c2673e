"""The client of a named sandbox: a `codenav.core.protocols.Sandbox` over the socket of its host process."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, cast

from codenav.core.errors import CodeNavError, NotFound, SandboxUnavailable
from codenav.core.execution import Execution, FileEntry, Held, Output, SandboxInfo, ToolCall, Variable
from codenav.core.system.closing import Closing
from codenav.sandboxes.commands import Commands
from codenav.sandboxes.daemon import places
from codenav.sandboxes.daemon.places import FORCE
from codenav.sandboxes.daemon.wire import ConnectionClosed, Wire
from codenav.sandboxes.files import Files, WithFiles

STATUS_SECONDS = 3.0
"""Time for a host process to report its status."""
STOP_SECONDS = 5.0
"""Time for a host process to end by itself."""


class NamedSandbox(Commands, WithFiles, Closing):
    """A connection to a sandbox that others may use at the same time. Closing it does not end the sandbox."""

    def __init__(self, record: places.Record) -> None:
        self.record = record
        self.calls: Sequence[ToolCall] = ()
        """The calls to tools that the last step made."""
        self._wire = _connected(record)

    def __repr__(self) -> str:
        return f"<NamedSandbox {self.record.name}: {self.info.backend} Python {self.info.python_version}>"

    @property
    def info(self) -> SandboxInfo:
        """The description of the sandbox."""
        if self.record.info is None:
            raise SandboxUnavailable(f"the sandbox {self.record.name!r} is just starting", hint="try again")
        return self.record.info

    def run(
        self, code: str, *, timeout: float | None = None, on_output: Callable[[Output], None] | None = None
    ) -> Execution:
        """Run one step, after those of other clients. See `protocols.Sandbox.run`."""
        execution, self.calls = self._ask("run", code, timeout, on_output is not None, on_output=on_output)
        return cast("Execution", execution)

    def get(self, name: str) -> Any:
        """Return the value of a name. See `protocols.Sandbox.get`."""
        return self._ask("get", name)

    def variables(self) -> Mapping[str, Variable]:
        """Return the variables that steps have bound. See `protocols.Sandbox.variables`."""
        return cast("Mapping[str, Variable]", self._ask("variables"))

    def digests(self, first: Sequence[str] = ()) -> Held:
        """Return digests of what steps have bound. See `protocols.Sandbox.digests`."""
        return cast("Held", self._ask("digests", list(first)))

    def checkpoint(self) -> int:
        """Keep the current variables. See `protocols.Sandbox.checkpoint`."""
        return cast("int", self._ask("checkpoint"))

    def restore(self, number: int) -> str:
        """Return to the variables of a checkpoint. See `protocols.Sandbox.restore`."""
        return cast("str", self._ask("restore", number))

    @property
    def files(self) -> Files:
        """The files of the work folder. See `protocols.SandboxFiles`."""
        return Files(self)

    def get_file(self, name: str, file: IO[bytes]) -> None:
        """Copy a file of the work folder into `file`. See `protocols.SandboxFiles.read_into`."""
        self._ask("files.read_into", name, into=file)

    def put_file(self, name: str, file: IO[bytes], *, executable: bool | None) -> None:
        """Copy `file` into the work folder. See `protocols.SandboxFiles.write_from`."""
        self._ask("files.write_from", name, file=file, executable=executable)

    def list_files(self, folder: str, *, recursive: bool) -> Sequence[FileEntry]:
        """Return the entries of a folder. See `protocols.SandboxFiles.list`."""
        return cast("Sequence[FileEntry]", self._ask("files.list", folder, recursive=recursive))

    def stat_file(self, name: str) -> FileEntry:
        """Return the entry of a file or folder. See `protocols.SandboxFiles.stat`."""
        return cast("FileEntry", self._ask("files.stat", name))

    def remove_file(self, name: str) -> None:
        """Remove a file or folder. See `protocols.SandboxFiles.remove`."""
        self._ask("files.remove", name)

    def make_folder(self, name: str) -> None:
        """Make a folder. See `protocols.SandboxFiles.make_folder`."""
        self._ask("files.make_folder", name)

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the step that `run` waits for. Callable from a signal handler.

        A second interrupt ends the step: see `protocols.Sandbox.interrupt`.
        """
        with contextlib.suppress(ConnectionClosed):
            self._wire.send(("interrupt", (), {}))

    def status(self) -> dict[str, Any]:
        """Return the number of steps, seconds that one has been running (or None), and seconds without one.

        Raises:
            SandboxUnavailable: the host process does not answer.
        """
        self._wire.patience(STATUS_SECONDS)
        try:
            return cast("dict[str, Any]", self._ask("status"))
        finally:
            self._wire.patience(None)

    def close(self, *, force: bool = False) -> None:
        """Disconnect. A running step is interrupted; the sandbox keeps running. Safe to call twice."""
        self._wire.close()

    def _ask(
        self,
        operation: str,
        *arguments: Any,
        file: IO[bytes] | None = None,
        into: IO[bytes] | None = None,
        on_output: Callable[[Output], None] | None = None,
        **named: Any,
    ) -> Any:
        """Have the host process call a method of its sandbox, and return the result.

        Raises OSError if `into` does not accept the data.
        """
        name = self.record.name
        try:
            self._wire.send((operation, arguments, named), file)
            answer, size = self._wire.receive()
            while isinstance(answer, Output):
                if on_output is not None:
                    self._hand(on_output, answer)
                answer, size = self._wire.receive()
            if into is not None:
                self._wire.receive_into(into, size)
        except TimeoutError:
            raise SandboxUnavailable(
                f"the sandbox {name!r} does not answer", hint=f"codenav sandbox stop {name}"
            ) from None
        except ConnectionClosed:
            raise NotFound(f"the sandbox {name!r} has ended", hint=f"codenav sandbox start --name {name}") from None
        if isinstance(answer, CodeNavError):
            raise answer
        return answer

    def _hand(self, on_output: Callable[[Output], None], piece: Output) -> None:
        """Pass a piece of output on. If the callback raises, leave the step, which ends it, and connect again."""
        try:
            on_output(piece)
        except BaseException:
            self._wire.close()
            self._wire = _connected(self.record)
            raise


def connect(name: str) -> NamedSandbox:
    """Connect to a running sandbox.

    Raises:
        NotFound: there is none of that name, or it has ended.
        SandboxUnavailable: it belongs to another machine, is just starting, or does not answer.
    """
    record = places.record_of(name)
    if not record.owner.lives():
        raise SandboxUnavailable(
            f"the sandbox {name!r} belongs to {record.owner.host}, where it can be reached", hint="codenav sandbox ps"
        )
    return NamedSandbox(record)


def _connected(record: places.Record) -> Wire:
    name = record.name
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connected.settimeout(STATUS_SECONDS)
        with places.socket_address(name) as address:
            connected.connect(address)
    except OSError as error:
        connected.close()
        if record.info is None:
            raise SandboxUnavailable(f"the sandbox {name!r} is just starting", hint="try again") from error
        raise SandboxUnavailable(
            f"the sandbox {name!r} does not answer: {error.strerror or error}", hint=f"codenav sandbox stop {name}"
        ) from error
    connected.settimeout(None)
    return Wire(connected)


def stop(name: str, *, force: bool = False) -> None:
    """End a sandbox and everything in it, and remove what it left.

    A host process that does not answer is killed. A running step has a second to answer an interrupt; `force` ends it
    at once.

    Raises:
        NotFound: there is none of that name.
        SandboxUnavailable: it belongs to another machine.
    """
    record = places.Record.read(places.checked_name(name)) or places.record_of(name)
    if record.owner.lives():
        for ending in (FORCE if force else signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.kill(record.owner.pid, ending)
            if _ended(record, within=STOP_SECONDS):
                break
    elif not record.owner.ended():
        raise SandboxUnavailable(f"the sandbox {name!r} belongs to {record.owner.host}", hint="stop it there")
    places.remove(name)


def _ended(record: places.Record, *, within: float) -> bool:
    deadline = time.monotonic() + within
    while record.owner.lives():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
