"""Questions to the person at the terminal."""

from __future__ import annotations

import click

from codenav.cli.display import paused
from codenav.system.terminal_text import neutral


def confirm(question: str) -> bool:
    """Ask a yes-or-no question. True if the person says yes; the end of the input (Ctrl-D) is a no."""
    try:
        with paused():
            return click.confirm(question, default=False, err=True)
    except click.Abort as abort:
        _end_of_input(abort)
        return False


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
