"""A process that owns a sandbox with a busy step in it, to be killed or cut off.

Run as `python -c ENTRY`. It reads the specification and the backend, pickled, from standard input, prints a line once
the step runs, and has a forked child. After a line on standard input it closes every descriptor but the standard
ones, and stays.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Self

from codenav.errors import CodeNavError, SandboxUnavailable
from codenav.execution import SandboxSpec
from codenav.sandboxes.conformance.witness import processes_of
from codenav.sandboxes.owned_resources import OWNER_LABEL
from codenav.system.process_identity import Owner

_ROOT = Path(__file__).resolve().parents[3]
START_SECONDS = 20.0
_ENTRY = "import sys; sys.path.append(sys.argv[1]); from codenav.sandboxes.conformance.victim import main; main()"
_BUSY = """
import subprocess, sys
children = [subprocess.Popen([sys.executable, '-c', 'while True: pass']) for _ in range(2)]
while True: pass
"""


class Victim:
    """A process that owns a sandbox, started and busy once this object is made."""

    def __init__(self, spec: SandboxSpec, backend: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _ENTRY, str(_ROOT)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._backend = backend
        pickle.dump((spec, backend), self.process.stdin)
        self.process.stdin.flush()
        self.namespace = self.process.stdout.readline().decode("utf-8", "replace").strip()
        if not self.namespace.startswith("pid:"):
            self.__exit__()
            raise SandboxUnavailable(f"a sandbox of another process did not start: {self.namespace}")
        self._await_step()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def alive(self) -> list[str]:
        """The parts of its sandbox: processes, of which a container's may be hidden from its user, and containers.

        While the step runs they are the supervisor, the worker, a twin and two children.
        """
        found = [f"process {one.pid}" for one in processes_of(self.namespace)]
        return found + (containers_of(self.process.pid) if self._backend == "docker" else [])

    def _await_step(self) -> None:
        until = time.monotonic() + START_SECONDS
        while len(self.alive()) < 5 and time.monotonic() < until:
            if self._backend == "docker" and os.geteuid() and self.alive():
                return
            time.sleep(0.02)

    def cut(self) -> None:
        """Cut its connections to the sandbox; they are gone once this returns."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(b"cut\n")
        self.process.stdin.flush()
        self.process.stdout.readline()


def containers_of(pid: int) -> list[str]:
    """The containers on the engine that a process owns."""
    from codenav.system import docker_engine

    client = docker_engine.connect().api
    try:
        listed = client.containers(all=True, filters={"label": [OWNER_LABEL]})
    finally:
        client.close()
    owners = [(item["Id"][:12], Owner.from_text(item["Labels"][OWNER_LABEL])) for item in listed]
    return [f"container {id}" for id, owner in owners if owner is not None and owner.pid == pid]


def main() -> None:
    """Run the process itself."""
    from codenav.sandboxes import start

    spec, backend = pickle.load(sys.stdin.buffer)
    try:
        box = start(backend, spec)
    except CodeNavError as error:
        print(f"{error}", flush=True)
        return
    namespace = box.run("import os\nprint(os.readlink('/proc/self/ns/pid'))").stdout.strip()
    threading.Thread(target=lambda: box.run(_BUSY, timeout=600.0), daemon=True).start()
    if os.fork() == 0:
        # A child as of `multiprocessing`: it must not keep the sandbox alive. Whoever began its session ends it.
        time.sleep(60.0)
        os._exit(0)
    sys.stdout.write(namespace + "\n")
    sys.stdout.flush()
    sys.stdin.buffer.readline()
    _close_all()
    sys.stdout.write("cut\n")
    sys.stdout.flush()
    threading.Event().wait(60.0)
    os._exit(0)


def _close_all() -> None:
    """Close all connections, shut down first: the kernel keeps one open while a thread waits on it."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            with contextlib.suppress(OSError), socket.socket(fileno=int(name)) as connection:
                connection.shutdown(socket.SHUT_RDWR)
    os.closerange(3, 4096)
