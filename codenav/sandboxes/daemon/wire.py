"""The protocol between a named sandbox's host process and its clients: pickled objects and bytes over a socket.

Both ends are codenav of the same user, and nothing from inside a sandbox is unpickled: results were decoded before.
Only classes of codenav are made from what arrives, and of the standard library what their fields hold.
"""

from __future__ import annotations

import contextlib
import io
import pickle
import socket
import threading
from collections.abc import Mapping
from typing import IO, Any, NamedTuple

from codenav.core import errors
from codenav.core.errors import CodeNavError, UsageError
from codenav.core.execution import SandboxSpec
from codenav.sandboxes.guest_files import left_in
from codenav.sandboxes.shared import frames

MOST_BYTES = (1 << 32) - 1
"""Largest file that can be copied: the highest length that a frame can state."""
MOST_OBJECT = 64 << 20
PIECE = 1 << 20


PLAIN = {("pathlib", "PosixPath"), ("pathlib", "Path"), ("builtins", "set"), ("builtins", "frozenset"),
         ("types", "MappingProxyType"), ("builtins", "bytearray"), ("builtins", "TimeoutError")}  # fmt: skip
"""Classes of the standard library that objects on the wire may hold."""


class ConnectionClosed(Exception):
    """The other end closed the connection, or sent something that is not part of the protocol."""


class Starting(NamedTuple):
    """The first object that a host process gets: what to start."""

    name: str
    backend: str
    spec: SandboxSpec
    idle_seconds: float
    tools: Mapping[str, Any] | None


class Wire:
    """One end of a connection. One thread receives, any may send."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._buffer = bytearray()
        self._lock = threading.Lock()

    def send(self, message: Any, file: IO[bytes] | None = None) -> None:
        """Send an object, and a file from its current position to its end, without holding it in memory.

        Raises:
            UsageError: the file is too large or has become shorter.
            ConnectionClosed
            TimeoutError: the timeout of the socket passed.
        """
        file = io.BytesIO() if file is None else file
        size = left_in(file)
        if size > MOST_BYTES:
            raise UsageError(f"a file of {size} bytes; {MOST_BYTES} can be copied at once", hint="copy it in pieces")
        body = pickle.dumps(message)
        try:
            with self._lock:
                self._socket.sendall(frames.HEADER.pack(len(body), size) + body)
                while size:
                    piece = file.read(min(PIECE, size))
                    if not piece:
                        self.close()
                        raise UsageError("the file has become shorter while it was copied", hint="copy it again")
                    self._socket.sendall(piece)
                    size -= len(piece)
        except TimeoutError:
            raise
        except OSError as error:
            raise ConnectionClosed(str(error)) from None

    def receive(self) -> tuple[Any, int]:
        """Return the next object and the number of bytes that follow it, for `receive_into`.

        Raises:
            ConnectionClosed, TimeoutError
        """
        body, data = frames.HEADER.unpack(self._take(frames.HEADER.size))
        if body > MOST_OBJECT:
            raise ConnectionClosed("an object that is too large")
        pickled = self._take(body)
        try:
            return _Reader(io.BytesIO(pickled)).load(), data
        except Exception as error:
            raise ConnectionClosed(f"it is of another version of codenav: {error}") from None

    def receive_into(self, file: IO[bytes], size: int) -> None:
        """Write the next bytes to a file, without holding them in memory.

        Raises:
            OSError: the file does not accept them. All of them were read nevertheless.
            ConnectionClosed, TimeoutError
        """
        failed: OSError | None = None
        for start in range(0, size, PIECE):
            piece = self._take(min(PIECE, size - start))
            try:
                if failed is None:
                    file.write(piece)
            except OSError as error:
                failed = error
        if failed is not None:
            raise failed

    def patience(self, seconds: float | None) -> None:
        """Set how many seconds the other end may be silent. None means any time."""
        self._socket.settimeout(seconds)

    def close(self) -> None:
        """Close the connection, even while another thread receives. Safe to call twice."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _take(self, count: int) -> bytes:
        """Read exactly `count` bytes. Received data are kept if a signal handler raises meanwhile."""
        while len(self._buffer) < count:
            try:
                data = self._socket.recv(min(1 << 20, max(count - len(self._buffer), 1 << 16)))
            except TimeoutError:
                raise
            except OSError as error:
                raise ConnectionClosed(str(error)) from None
            if not data:
                raise ConnectionClosed("closed")
            self._buffer += data
        taken = bytes(memoryview(self._buffer)[:count])
        # A new buffer: one that once held a large file would keep its size.
        self._buffer = self._buffer[count:]
        return taken


class _Reader(pickle.Unpickler):
    """An unpickler that makes objects of codenav and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class that may be made.

        Raises:
            pickle.UnpicklingError: it is not one of those.
        """
        found = super().find_class(module, name) if module.startswith("codenav.") or (module, name) in PLAIN else None
        if not isinstance(found, type):
            raise pickle.UnpicklingError(f"{module}.{name} has no place on the wire")
        return found


def plain(error: CodeNavError) -> CodeNavError:
    """Return an error that can be pickled: of its nearest type that needs no more than a message."""
    kinds = (kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    nearest = next(kind for kind in kinds if kind.__init__ is CodeNavError.__init__)  # type: ignore[misc]
    made: CodeNavError = nearest(str(error), hint=error.hint)
    return made
