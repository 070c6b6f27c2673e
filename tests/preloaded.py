"""Starts `codenav` from a process that has imported it already: a command costs a fork in place of 0.7 s of imports.

    process = Command(["--version"], cwd=folder, env=variables, stdin=0, stdout=1, stderr=2)
    process.wait()

Each command is a process of its own all the same: a child of the tests', with a session, an environment, a working
folder and streams of its own, which ends as any interpreter does and can be signalled and killed. Run as a program,
this file is the process that has imported it and forks; it ends with the tests.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Self

PR_SET_CHILD_SUBREAPER = 36
"""prctl(2): orphans below this process become its own children."""
AT_START = ("PYTHON", "LC_", "LANG", "LD_")
"""Variables that an interpreter reads before its first line begin so."""
IMPORTED_LATE = (
    "docker.errors", "elasticsearch", "encodings.idna", "openai.resources.chat.completions", "platformdirs",
    "rich.console", "rich.jupyter", "rich.progress", "rich.text", "tantivy", "tree_sitter", "zoneinfo",
)  # fmt: skip
"""What `codenav` imports inside functions and many commands need. None of them may start a thread: a fork loses it."""
LARGEST = 1 << 20
"""Bytes of a request: arguments and variables."""


class Command:
    """A running `codenav`, with the methods of `subprocess.Popen` that tests use."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        cwd: Path | str,
        env: Mapping[str, str],
        stdin: int,
        stdout: int,
        stderr: int,
    ) -> None:
        """The descriptors stay the caller's.

        Raises:
            RuntimeError: a variable has changed that only a new interpreter would read.
        """
        if _at_start(env) != _forker().at_start:
            raise RuntimeError(f"{', '.join(AT_START)}…: changed; start `python -m codenav` with subprocess")
        request = {"arguments": list(arguments), "cwd": str(cwd), "env": dict(env)}
        self.args, self.returncode = ["codenav", *arguments], None
        self.stdout: IO[str] | None = None
        self.stderr: IO[str] | None = None
        self.pid = _forker().fork(request, [stdin, stdout, stderr])
        self._descriptor = os.pidfd_open(self.pid)
        self._ended = threading.Lock()

    def poll(self) -> int | None:
        """The exit code, or the negative number of the signal; None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code once it has ended; TimeoutExpired after `timeout` seconds."""
        with self._ended:
            if self.returncode is None:
                poll = select.poll()
                poll.register(self._descriptor, select.POLLIN)
                if not poll.poll(None if timeout is None else timeout * 1000):
                    raise subprocess.TimeoutExpired(self.args, timeout or 0)
                try:
                    self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
                except ChildProcessError:
                    # `command_line.children` was faster, as with Popen.
                    self.returncode = 0
                os.close(self._descriptor)
            return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end; what is left of stdout and stderr."""
        texts = ["", ""]

        def read(number: int, stream: IO[str]) -> None:
            texts[number] = stream.read()
            stream.close()

        streams = [
            threading.Thread(target=read, args=(number, stream), daemon=True)
            for number, stream in enumerate((self.stdout, self.stderr))
            if stream and not stream.closed
        ]
        until = None if timeout is None else time.monotonic() + timeout
        for thread in streams:
            thread.start()
        for thread in streams:
            thread.join(None if until is None else max(0.0, until - time.monotonic()))
            if thread.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
        self.wait(None if until is None else max(0.0, until - time.monotonic()))
        return texts[0], texts[1]

    def send_signal(self, number: int) -> None:
        """To this process alone; nothing where it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.stdout, self.stderr):
            if stream:
                stream.close()
        self.wait()


def reading(arguments: Sequence[str], *, cwd: Path | str, env: Mapping[str, str]) -> Command:
    """A command with no stdin, whose stdout and stderr are pipes."""
    pipes = os.pipe(), os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        command = Command(arguments, cwd=cwd, env=env, stdin=nothing, stdout=pipes[0][1], stderr=pipes[1][1])
    except BaseException:
        for ours, _ in pipes:
            os.close(ours)
        raise
    finally:
        for number in (nothing, *(theirs for _, theirs in pipes)):
            os.close(number)
    command.stdout, command.stderr = (os.fdopen(ours, encoding="utf-8") for ours, _ in pipes)
    return command


def helpers() -> set[str]:
    """Process ids of what forks for these tests: no leftovers of a command."""
    return {str(_forker().pid)} if _forker.cache_info().currsize else set()


def _at_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(AT_START)}


class _Forker:
    """The process that has imported everything, as the tests see it."""

    def __init__(self) -> None:
        # Orphans of that process are then children of this one, which alone can wait for them.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.at_start = _at_start(os.environ)
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (self._control, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LARGEST)
        self._one = threading.Lock()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True, cwd="/",
            )  # fmt: skip
        self.pid = self._process.pid
        atexit.register(self._close)

    def _close(self) -> None:
        self._control.close()
        self._process.wait()

    def fork(self, request: Mapping[str, Any], streams: list[int]) -> int:
        """Process id of a new command."""
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        with self._one:
            socket.send_fds(self._control, [json.dumps(request).encode()], streams)
            answer = self._control.recv(64)
        if not answer:
            raise RuntimeError("the process that starts commands has ended: see its stderr above")
        return int(answer)


@functools.cache
def _forker() -> _Forker:
    return _Forker()


# The process that forks


def _import_all() -> None:
    import codenav

    for found in pkgutil.walk_packages(codenav.__path__, "codenav."):
        # What runs inside sandboxes is for other interpreters; Inspect and Harbor are no part of any command.
        if not any(part in found.name for part in (".guest", ".harbor_", ".inspect_", ".__main__")):
            importlib.import_module(found.name)
    for name in IMPORTED_LATE:
        # Without it a command is slower, or says itself what is missing.
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(name)
    assert threading.active_count() == 1, threading.enumerate()


def _next_command(control: socket.socket) -> None:
    """Forks a command per request; returns in the new process, and never in this one."""
    while True:
        message, streams, _, _ = socket.recv_fds(control, LARGEST, 3)
        if not message:
            os._exit(0)
        read, write = os.pipe()
        between = os.fork()
        if between == 0:
            pid = os.fork()
            if pid:
                os.write(write, str(pid).encode())
                os._exit(0)
            for number in (read, write, control.detach()):
                os.close(number)
            return _become(json.loads(message), streams)
        # Once the process between has ended, the command is a child of the tests'.
        os.waitpid(between, 0)
        control.send(os.read(read, 64))
        for number in (read, write, *streams):
            os.close(number)


def _become(request: Mapping[str, Any], streams: list[int]) -> None:
    """What `python -m codenav` has before its first line."""
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    os.chdir(request["cwd"])
    sys.path[0] = os.getcwd()
    sys.argv = [str(Path(sys.modules["codenav"].__file__ or "").with_name("__main__.py")), *request["arguments"]]
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        old = getattr(sys, name)
        by_line = 1 if name == "stderr" or os.isatty(number) else -1
        new = os.fdopen(number, mode, by_line, encoding=old.encoding, errors=old.errors, closefd=False)
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def main() -> None:
    """Import, then fork until the tests close their end."""
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    _import_all()
    # Not looked at again by any collection, whose marks would copy every page.
    gc.collect()
    gc.freeze()
    _next_command(control)
    from codenav.cli.main import main as codenav

    codenav()


if __name__ == "__main__":
    main()
