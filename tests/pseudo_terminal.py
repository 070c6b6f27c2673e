"""The real command line on a pseudo-terminal, run as a person would, with answers to its questions."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path

END_OF_INPUT = "\x04"
"""The character that Ctrl-D sends."""
INTERRUPT = "\x03"


def on_terminal(
    *arguments: str | Path, answers: Mapping[str, str], env: Mapping[str, str] | None = None, seconds: float = 120.0
) -> tuple[int, str]:
    """Exit code and everything on the terminal; `answers`: what to type once each text appears, in this order."""
    pid, terminal = pty.fork()
    if pid == 0:
        try:
            os.execve(
                sys.executable,
                [sys.executable, "-m", "codenav", *map(str, arguments)],
                {**os.environ, "TERM": "xterm", "COLUMNS": "200", **(env or {})},
            )
        finally:
            os._exit(127)
    shown, waiting, typed = "", list(answers.items()), ""
    until = time.monotonic() + seconds
    try:
        while time.monotonic() < until:
            if not select.select([terminal], [], [], 1.0)[0]:
                if typed == INTERRUPT and "Interrupted." not in shown:
                    # One that comes between the question and the read of its answer does not wake that read.
                    os.write(terminal, INTERRUPT.encode())
                continue
            until = time.monotonic() + seconds
            try:
                shown += os.read(terminal, 65536).decode(errors="replace")
            except OSError:
                break
            if waiting and waiting[0][0] in shown:
                typed = waiting.pop(0)[1]
                os.write(terminal, typed.encode())
        else:
            os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"nothing more came: {shown}")
    finally:
        status = os.waitpid(pid, 0)[1]
        os.close(terminal)
    return os.waitstatus_to_exitcode(status), shown


def screen(shown: str) -> list[str]:
    """The lines that stay on a screen: overwritten or erased text is gone."""
    lines, row, column = [""], 0, 0
    for token in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b.|[\s\S]", shown):
        if token == "\n":
            row, column = row + 1, column
            lines += [""] * (row + 1 - len(lines))
        elif token == "\r":
            column = 0
        elif re.fullmatch(r"\x1b\[\d*A", token):
            row = max(0, row - int(token[2:-1] or 1))
        elif token in ("\x1b[2K",):
            lines[row] = ""
        elif not token.startswith("\x1b"):
            lines[row] = lines[row].ljust(column)[:column] + token + lines[row][column + 1 :]
            column += 1
    return [line.rstrip() for line in lines]
