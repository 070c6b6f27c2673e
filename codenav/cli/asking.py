"""Questions to the person at the terminal."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

import click

from codenav.cli.display import paused
from codenav.core.system.terminal_text import neutral


def confirm(question: str) -> bool:
    """Ask a yes-or-no question. True if the person says yes; the end of the input (Ctrl-D) is a no."""
    try:
        with paused():
            return click.confirm(question, default=False, err=True)
    except click.Abort as abort:
        _end_of_input(abort)
        return False


class Confirm:
    """`confirm` for a run, whose calls to tools are asked for from another thread. `cancel` answers with no."""

    def __init__(self, pause: Callable[[], AbstractContextManager[None]]) -> None:
        """`pause` takes the status line off the terminal."""
        self._pause = pause
        self._cancelled, self._cancel = os.pipe()
        os.set_blocking(self._cancelled, False)

    def __call__(self, question: str) -> bool:
        """Ask, and return True if the person says yes."""
        if threading.current_thread() is threading.main_thread():
            with self._pause():
                return confirm(question)
        with self._pause(), paused():
            self._forget()
            click.echo(f"{neutral(question)} [y/N]: ", nl=False, err=True)
            # `input` in a thread could not be ended, and would keep the process from ending.
            ready, _, _ = select.select([sys.stdin.fileno(), self._cancelled], [], [])
            if self._cancelled in ready:
                click.echo(err=True)
                return False
            return os.read(sys.stdin.fileno(), 1000).strip().lower() in (b"y", b"yes")

    def _forget(self) -> None:
        """Forget what was cancelled before."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._cancelled, 100):
                pass

    def cancel(self) -> None:
        """Answer the open question with no. Callable from any thread."""
        os.write(self._cancel, b"!")


def ask(question: str) -> str | None:
    """Ask for a line of text. None at the end of the input (Ctrl-D), which is also the case if nobody is there."""
    try:
        return str(click.prompt(neutral(question), err=True))
    except click.Abort as abort:
        _end_of_input(abort)
        return None


def _end_of_input(abort: click.Abort) -> None:
    """Tell Ctrl-C from Ctrl-D: click raises one exception for both, and ends the line of neither."""
    click.echo(err=True)
    if not isinstance(abort.__context__, EOFError):
        raise KeyboardInterrupt from None
