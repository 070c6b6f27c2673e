"""Shared parts of the commands on a named sandbox: the display of a step, Ctrl-C, and the exit code."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from codenav.cli.options import counted, one_line, say
from codenav.core.execution import Outcome

if TYPE_CHECKING:
    from codenav.core.execution import Execution, Output, ToolCall
    from codenav.sandboxes.daemon.client import NamedSandbox

_SUFFIXES = {
    "image/png": "png", "image/jpeg": "jpg", "image/svg+xml": "svg", "text/html": "html", "text/markdown": "md",
    "text/latex": "tex", "application/json": "json",
}  # fmt: skip
_LISTED = 5
"""Most files named after a step. The rest is counted."""


class Printer:
    """A listener that prints what a step writes as it arrives, each stream to its own.

    If the reader of a stream has gone away the step goes on, just as if it had not printed yet.
    """

    def __init__(self) -> None:
        self._gone: dict[str, OSError] = {}

    def __call__(self, piece: Output) -> None:
        if piece.stream in self._gone:
            return
        try:
            click.echo(piece.text, nl=False, err=piece.stream == "stderr")
        except OSError as error:
            self._gone[piece.stream] = error

    def finish(self) -> None:
        """Raise OSError if nobody reads stdout any more."""
        if "stdout" in self._gone:
            raise self._gone["stdout"]


def show(execution: Execution, *, name: str, saved: list[Path]) -> None:
    """Print on stderr what a step yielded besides its output."""
    if execution.late_output:
        say(f"Output of earlier threads:\n{execution.late_output.rstrip()}", err=True)
    error = execution.error
    if error:
        trace = error.traceback.rstrip()
        if trace:
            say(trace, err=True)
        if not trace.rpartition("\n")[2].startswith(error.type):
            # At a timeout, for example, the exception raised is not what happened.
            say(f"{error.type}: {error.message}", err=True)
    if execution.notice:
        say(f"Note: {execution.notice}", err=True)
    for path in saved:
        say(f"wrote {path}", err=True)
    if execution.displays and not saved:
        say(f"{counted(len(execution.displays), 'display')}; to keep them: --displays DIR", err=True)
    for file in execution.files[:_LISTED]:
        say(f"changed {name}:{one_line(file)}", err=True)
    if len(execution.files) > _LISTED:
        say(f"changed {len(execution.files) - _LISTED} more", err=True)


def tell_calls(calls: Sequence[ToolCall]) -> None:
    """Print on stderr which tools a step has called."""
    from codenav.cli.steps import Room, called

    for line in called(calls, Room.of_terminal()):
        say(line.text.strip(), err=True)


def save_displays(execution: Execution, folder: Path | None) -> list[Path]:
    """Write displays into a folder, under names that are free there. Raises OSError."""
    found = []
    for item in execution.displays if folder else ():
        number = 1
        while True:
            path = Path(str(folder), f"display-{number}.{_SUFFIXES.get(item.mime, 'bin')}")
            try:
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
                break
            except FileExistsError:
                number += 1
        with os.fdopen(descriptor, "wb") as file:
            file.write(item.data)
        found.append(path)
    return found


def exit_code(execution: Execution) -> int:
    """Return 0 if a step ended well, 3 for a limit, 130 for an interrupt, and else 1."""
    if execution.ok:
        return 0
    if execution.outcome in (Outcome.TIMEOUT, Outcome.OUT_OF_MEMORY):
        return 3
    return 130 if execution.error and execution.error.type == "KeyboardInterrupt" else 1


@contextlib.contextmanager
def interruptible(box: NamedSandbox) -> Iterator[None]:
    """Let Ctrl-C interrupt the step. The second one ends it, the third does not wait for that."""
    pressed = 0

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed += 1
        if pressed > 2:
            raise KeyboardInterrupt
        if pressed == 2:
            say("A step that does not answer is ended; its variables are then those from before it.", err=True)
        box.interrupt()

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
