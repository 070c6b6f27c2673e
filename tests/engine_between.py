"""A proxy between a client and the engine of the tests: a socket of its own, and threads that pass data on."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Any, Self

from docker_engine import Engine


class BetweenEngine:
    """A proxy whose connections `_accept` of a subclass takes; everything opened is closed at the end."""

    def __init__(self, engine: Engine, listener: socket.socket) -> None:
        self._target = engine.host.removeprefix("unix://")
        self._listener = listener
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._thread(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for one in (self._listener, *self._open):
            one.close()

    def _accept(self) -> None:
        raise NotImplementedError

    def _thread(self, work: Callable[..., Any], *arguments: Any) -> None:
        thread = threading.Thread(target=work, args=arguments)
        self._threads.append(thread)
        thread.start()
