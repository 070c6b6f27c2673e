"""Questions to the person at the terminal."""

from __future__ import annotations

import click

from codenav.cli.display import paused
from codenav.system.terminal_text import neutral


def confirm(question: str) -> bool:
    """Whether the person says yes; the end of the input (Ctrl-D) is a no."""
    try:
        with paused():
            return click.confirm(question, default=False, err=True)
    except click.Abort as abort:
        _end_of_input(abort)
        return False


def ask(question: str) -> str | None:
    """What the person answers; None at the end of the input (Ctrl-D), as where nobody is there."""
    try:
        return str(click.prompt(neutral(question), err=True))
    except click.Abort as abort:
        _end_of_input(abort)
        return None


def _end_of_input(abort: click.Abort) -> None:
    """Click makes one exception of Ctrl-C and Ctrl-D, and ends the line of neither."""
    click.echo(err=True)
    if not isinstance(abort.__context__, EOFError):
        raise KeyboardInterrupt from None
