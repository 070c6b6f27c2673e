"""Processes that never outlive the test run, however it ends: a guard runs them, linked to the test by a pipe.

    running = Guarded(["dockerd", …], output=log, after="rm -rf FOLDER")
    running.end()

The guard ends its command when the pipe closes: by `end()`, or because the test process is gone, after kill -9 too.
A death signal would follow the thread that started the process, and does not survive a change of user.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
"""prctl(2): orphans below the guard become its children, so that it sees them end."""


class Guarded:
    """A running command, with everything that it starts in its session."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        output: Path,
        env: Mapping[str, str] | None = None,
        grace: float = 0.0,
        after: str = "",
    ) -> None:
        """`grace`: seconds between SIGTERM and SIGKILL at the end; 0: SIGKILL at once. `after`: a shell command that
        cleans up if the test process died, or if `end(tidy=True)` asks for it."""
        guard = [sys.executable, __file__, f"--grace={grace}", f"--after={after}", "--", *command]
        with output.open("ab") as file:
            self._guard = subprocess.Popen(guard, stdin=subprocess.PIPE, stdout=file, stderr=file, env=env)

    @property
    def running(self) -> bool:
        """True until the command has ended."""
        return self._guard.poll() is None

    def end(self, *, tidy: bool = False) -> None:
        """End the command and wait until nothing of it is left; safe to call twice."""
        assert self._guard.stdin
        with contextlib.suppress(BrokenPipeError):
            if not tidy and not self._guard.stdin.closed:
                self._guard.stdin.write(b".")
            self._guard.stdin.close()
        self._guard.wait()


def _end_group(running: subprocess.Popen[bytes]) -> int:
    """Kill the rest of a command and its children, and wait until they are gone; return the command's exit status."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(running.pid, signal.SIGKILL)
    code = running.wait()
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        try:
            os.killpg(running.pid, 0)
        except ProcessLookupError:
            return code
        time.sleep(0.01)


def main() -> int:
    """Run as the guard."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--grace", type=float, default=0.0)
    parser.add_argument("--after", default="")
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    running = subprocess.Popen(given.command, stdin=subprocess.DEVNULL, start_new_session=True)
    told = b""
    while running.poll() is None:
        if select.select([0], [], [], 0.2)[0]:
            told = os.read(0, 1)
            break
    if given.grace and running.poll() is None:
        running.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(given.grace)
    code = _end_group(running)
    if not told and given.after and not os.read(0, 1):
        subprocess.run(["sh", "-c", given.after])
    return code


if __name__ == "__main__":
    sys.exit(main())
