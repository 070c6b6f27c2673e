"""The stream of an attached container as plain descriptors, with the engine's frames decoded."""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import threading
from typing import Any

from codenav.sandboxes.decoding import Malformed

HEADER = struct.Struct(">BxxxL")
"""Header of the engine's frames: the stream, and the number of bytes that follow."""
STDOUT, STDERR = 1, 2
KEPT_ERRORS = 4000
"""Bytes kept from the end of standard error."""
PIECE = 1 << 16


class Demultiplexer:
    """A decoder of the frames of a container without a terminal: passes standard output on, keeps the end of errors."""

    def __init__(self) -> None:
        self._header = bytearray()
        self._stream = self._left = 0
        self._errors = bytearray()

    def __call__(self, data: bytes) -> bytes:
        """Return the standard output in the next piece of data.

        Raises:
            Malformed: it is not the engine's framing, for example because the container has a terminal.
        """
        found, view = [], memoryview(data)
        while view:
            if not self._left:
                view = self._begin(view)
                continue
            piece, view = view[: self._left], view[self._left :]
            self._left -= len(piece)
            if self._stream == STDERR:
                self._errors = (self._errors + piece)[-KEPT_ERRORS:]
            else:
                found.append(piece)
        return b"".join(found)

    @property
    def errors(self) -> str:
        """The end of standard error."""
        return self._errors.decode("utf-8", "replace").strip()

    def _begin(self, view: memoryview) -> memoryview:
        missing = HEADER.size - len(self._header)
        self._header += view[:missing]
        if len(self._header) == HEADER.size:
            self._stream, self._left = HEADER.unpack(self._header)
            self._header.clear()
            if self._stream not in (STDOUT, STDERR):
                raise Malformed(f"the engine sent a frame of stream {self._stream}")
        return view[missing:]


class AttachedStream:
    """The standard streams of an attached container. Closing it is the end of file for the process inside."""

    def __init__(self, attached: Any) -> None:
        """Wrap the result of `APIClient.attach_socket`: a raw socket, a TLS socket, or a channel over SSH."""
        self.unwrap = Demultiplexer()
        self._ends: list[Any] = []
        raw = getattr(attached, "_sock", attached)
        if isinstance(raw, socket.socket) and not _in_tls(raw):
            self._socket = socket.socket(fileno=raw.detach())
        else:
            self._socket, far = socket.socketpair()
            self._ends = [raw, far]
            for work in [(_carry, raw, far)] if _in_tls(raw) else [(_pump, raw, far), (_pump, far, raw)]:
                threading.Thread(target=work[0], args=work[1:], name="codenav-attach", daemon=True).start()
        self.sink = self.source = self._socket.fileno()

    def cut(self) -> None:
        """End the stream for whoever waits on it, from any thread. `close` must still follow."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def abandon(self) -> None:
        """Close the descriptors in a forked process, including those of threads that do not exist here."""
        for end in (self._socket, *self._ends):
            end.close()

    def close(self) -> None:
        """Close the stream. Safe to call twice."""
        self._socket.close()


def _in_tls(raw: Any) -> bool:
    import ssl

    return isinstance(raw, ssl.SSLSocket)


def _pump(source: Any, target: Any) -> None:
    """Copy bytes one way until either end closes, then close both."""
    try:
        while data := source.recv(PIECE):
            target.sendall(data)
    except OSError:
        return
    finally:
        _end(source)
        _end(target)


def _end(one: Any) -> None:
    """Close a socket for all threads, including one that waits on it."""
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
    response = getattr(one, "_response", None)
    if response is not None:
        # The client library's response holds the socket open.
        response.close()


def _carry(remote: Any, near: socket.socket) -> None:
    """Copy bytes between a TLS socket and a plain one until either ends.

    One thread serves both directions: a TLS connection must not be read and written at the same time.
    """
    import ssl

    later = (BlockingIOError, TimeoutError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
    remote.setblocking(False)
    near.setblocking(False)
    outward, inward = bytearray(), bytearray()
    poll = select.poll()
    try:
        while True:
            poll.register(near, (select.POLLIN if len(outward) < PIECE else 0) | (select.POLLOUT if inward else 0))
            poll.register(remote, (select.POLLIN if len(inward) < PIECE else 0) | (select.POLLOUT if outward else 0))
            pending = getattr(remote, "pending", int)()
            poll.poll(0 if pending and len(inward) < PIECE else None)
            for source, kept in ((near, outward), (remote, inward)):
                while len(kept) < PIECE:
                    try:
                        data = source.recv(PIECE)
                    except later:
                        break
                    if not data:
                        near.setblocking(True)
                        near.sendall(inward)
                        return
                    kept += data
            for target, kept in ((remote, outward), (near, inward)):
                while kept:
                    try:
                        del kept[: target.send(kept)]
                    except later:
                        break
    except OSError:
        return
    finally:
        _end(near)
        _end(remote)
