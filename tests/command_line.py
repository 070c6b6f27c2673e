"""The real command line in a process of its own, and the processes that it leaves behind."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import preloaded
from preloaded import Command as Command

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Ran:
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON document on stdout."""
        return json.loads(self.out)


def codenav(
    *arguments: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None, within: float = 120
) -> Ran:
    """Run `codenav` to its end, which comes `within` seconds, with no terminal and no stdin."""
    with start(*arguments, env=env, cwd=cwd) as process:
        out, err = process.communicate(timeout=within)
    assert process.returncode is not None
    return Ran(process.returncode, out, err)


def start(*arguments: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Command:
    """Start `codenav`; its stdout and stderr are pipes."""
    return preloaded.reading([str(one) for one in arguments], cwd=cwd or os.getcwd(), env={**os.environ, **(env or {})})


def on_a_terminal(*arguments: str | Path, until: str = "", then: Callable[[], object] | None = None) -> tuple[int, str]:
    """Run `codenav` with a terminal of 80 columns as its stderr; return its exit code and everything written there.

    Once that contains `until`, `then` is called; without `then` the command is interrupted, as by Ctrl-C.
    """
    ours, theirs = pty.openpty()
    nothing = os.open(os.devnull, os.O_RDWR)
    process = Command(
        [str(one) for one in arguments],
        cwd=os.getcwd(), env={**os.environ, "COLUMNS": "80"}, stdin=nothing, stdout=nothing, stderr=theirs,
    )  # fmt: skip
    os.close(nothing)
    os.close(theirs)
    shown = b""
    try:
        # The terminal of a process that has ended can no longer be read (EIO).
        while data := os.read(ours, 65536):
            shown += data
            if until and until.encode() in shown:
                until = ""
                then() if then else os.killpg(process.pid, signal.SIGINT)
    except OSError:
        pass
    finally:
        os.close(ours)
    return process.wait(timeout=60), shown.decode(errors="replace")


def screen(shown: str) -> list[str]:
    """The lines that are left on a terminal: text that was drawn and erased again is gone."""
    lines = [re.split(r"\r(?=\x1b\[K)", line.rstrip("\r"))[-1].removeprefix("\x1b[K") for line in shown.split("\n")]
    return [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]


def children() -> set[str]:
    """The process ids of this process's children, including orphans of earlier commands."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        # A thread may end while it is read.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found.update((task / "children").read_text().split())
    return found - preloaded.helpers()


def left_behind(before: set[str], *, within: float = 5.0) -> list[str]:
    """The command lines of processes that were not there `before` and outlive their command by `within` seconds."""
    deadline = time.monotonic() + within
    while True:
        left = children() - before
        if not left or time.monotonic() > deadline:
            return [_command(child) for child in left]
        time.sleep(0.02)


def _command(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace") or pid
    except OSError:
        return pid


def offered(*words: str) -> dict[str, str]:
    """What zsh is told for the last word: each value with its help."""
    ran = subprocess.run(
        [sys.executable, "-c", "from codenav.cli.main import main; main()"],
        env={**os.environ, "COMP_WORDS": " ".join(("codenav", *words)), "COMP_CWORD": str(len(words)),
             "_CODENAV_COMPLETE": "zsh_complete"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stderr == ""
    lines = ran.stdout.splitlines() if ran.stdout.strip() else []
    return {
        value.replace("\\:", ":"): help
        for kind, value, help in zip(lines[::3], lines[1::3], lines[2::3], strict=True)
        if kind == "plain"
    }


def without_evidence(out: str) -> str:
    """The output of a run with the verdict alone, without what was compared."""
    return re.sub(r"^(summary: [a-z ]+) \(.*?\)(?=$|[,:])", r"\1", out, flags=re.MULTILINE)
