"""The client of a named sandbox: a `codenav.core.protocols.Sandbox` over the socket of its host process."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

from codenav.core.errors import CodeNavError, NotFound, SandboxUnavailable
from codenav.core.execution import Execution, FileEntry, Held, Output, SandboxInfo, ToolCall, Variable
from codenav.core.system.closing import Closing
from codenav.sandboxes.commands import Commands
from codenav.sandboxes.daemon import places
from codenav.sandboxes.daemon.wire import ConnectionClosed, Wire, error_from_dict
from codenav.sandboxes.files import Files, WithFiles
from codenav.sandboxes.values import decoded

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
        asked = {"op": "run", "code": code, "timeout": timeout, "stream": on_output is not None}
        answer, _ = self._ask(asked, on_output=on_output)
        self.calls = tuple(ToolCall.from_dict(item) for item in answer.get("calls", ()))
        return Execution.from_dict(answer["execution"])

    def get(self, name: str) -> Any:
        """Return the value of a name. See `protocols.Sandbox.get`."""
        return decoded(self._ask({"op": "get", "name": name})[0]["value"])

    def variables(self) -> Mapping[str, Variable]:
        """Return the variables that steps have bound. See `protocols.Sandbox.variables`."""
        answer, _ = self._ask({"op": "variables"})
        return {item["name"]: Variable(**item) for item in answer["variables"]}

    def digests(self, first: Sequence[str] = ()) -> Held:
        """Return digests of what steps have bound. See `protocols.Sandbox.digests`."""
        return Held.from_dict(self._ask({"op": "digests", "first": list(first)})[0]["held"])

    def checkpoint(self) -> int:
        """Keep the current variables. See `protocols.Sandbox.checkpoint`."""
        answer, _ = self._ask({"op": "checkpoint"})
        number: int = answer["number"]
        return number

    def restore(self, number: int) -> str:
        """Return to the variables of a checkpoint. See `protocols.Sandbox.restore`."""
        answer, _ = self._ask({"op": "restore", "number": number})
        return str(answer["notice"])

    @property
    def files(self) -> Files:
        """The files of the work folder. See `protocols.SandboxFiles`."""
        return Files(self)

    def read_file_into(self, name: str, file: IO[bytes]) -> None:
        """Copy a file of the work folder into `file`. See `protocols.Sandbox.read_file_into`."""
        self._ask({"op": "read_file", "name": name}, into=file)

    def put_file(self, name: str, file: IO[bytes], *, executable: bool | None) -> None:
        """Copy `file` into the work folder. See `protocols.SandboxFiles.write_from`."""
        self._ask({"op": "write_file", "name": name, "executable": executable}, file)

    def list_files(self, folder: str, *, recursive: bool) -> Sequence[FileEntry]:
        """Return the entries of a folder. See `protocols.SandboxFiles.list`."""
        answer, _ = self._ask({"op": "list_files", "folder": folder, "recursive": recursive})
        return [FileEntry(**item) for item in answer["entries"]]

    def stat_file(self, name: str) -> FileEntry:
        """Return the entry of a file or folder. See `protocols.SandboxFiles.stat`."""
        return FileEntry(**self._ask({"op": "stat_file", "name": name})[0]["entry"])

    def remove_file(self, name: str) -> None:
        """Remove a file or folder. See `protocols.SandboxFiles.remove`."""
        self._ask({"op": "remove_file", "name": name})

    def make_folder(self, name: str) -> None:
        """Make a folder. See `protocols.SandboxFiles.make_folder`."""
        self._ask({"op": "make_folder", "name": name})

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the step that `run` waits for. Callable from a signal handler.

        A second interrupt ends the step: see `protocols.Sandbox.interrupt`.
        """
        with contextlib.suppress(ConnectionClosed):
            self._wire.send({"op": "interrupt"})

    def status(self) -> dict[str, Any]:
        """Return the number of steps, seconds that one has been running (or None), and seconds without one.

        Raises:
            SandboxUnavailable: the host process does not answer.
        """
        self._wire.patience(STATUS_SECONDS)
        try:
            answer, _ = self._ask({"op": "status"})
        finally:
            self._wire.patience(None)
        return {key: answer[key] for key in ("steps", "running_seconds", "idle_seconds")}

    def close(self, *, force: bool = False) -> None:
        """Disconnect. A running step is interrupted; the sandbox keeps running. Safe to call twice."""
        self._wire.close()

    def _ask(
        self,
        message: Mapping[str, Any],
        data: bytes | IO[bytes] = b"",
        *,
        into: IO[bytes] | None = None,
        on_output: Callable[[Output], None] | None = None,
    ) -> tuple[dict[str, Any], bytes]:
        """Send a request. Return the answer and its data, unless the data go to `into`.

        Raises OSError if `into` does not accept them.
        """
        name, attached = self.record.name, b""
        try:
            self._wire.send(message, data)
            if into is None:
                answer, attached = self._wire.receive()
                while "output" in answer:
                    if on_output is not None:
                        self._hand(on_output, Output(**answer["output"]))
                    answer, attached = self._wire.receive()
            else:
                answer, size = self._wire.receive_message()
                self._wire.receive_into(into, size)
        except TimeoutError:
            raise SandboxUnavailable(
                f"the sandbox {name!r} does not answer", hint=f"codenav sandbox stop {name}"
            ) from None
        except ConnectionClosed:
            raise NotFound(f"the sandbox {name!r} has ended", hint=f"codenav sandbox start --name {name}") from None
        if "error" in answer:
            raise error_from_dict(answer["error"])
        return answer, attached

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
        with contextlib.suppress(CodeNavError), connect(name) as box:
            box._wire.patience(STOP_SECONDS)
            with contextlib.suppress(NotFound):
                box._ask({"op": "stop", "force": force})
        if not _ended(record, within=STOP_SECONDS):
            os.kill(record.owner.pid, signal.SIGKILL)
            _ended(record, within=STOP_SECONDS)
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
