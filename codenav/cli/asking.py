"""Questions to the person at the terminal."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import click

from codenav.cli.display import paused
from codenav.cli.options import leave_terminal
from codenav.core.approval import Approval, Question
from codenav.core.system.terminal_text import neutral

UNANSWERED = "nobody answered"


def confirm(question: Question) -> Approval:
    """Ask on the terminal. The end of the input (Ctrl-D) is a no."""
    try:
        with paused():
            for line in _shown(question):
                click.echo(line, err=True)
            while True:
                click.echo(_asked(question), nl=False, err=True)
                answer = _read(question, input())
                if answer is not None:
                    return answer
    except (EOFError, OSError):
        leave_terminal()
        click.echo(err=True)
        return Approval(False, reason=UNANSWERED)


class Confirm:
    """`confirm` and `ask` for a run, whose calls to tools are asked about from another thread. `cancel` answers no."""

    def __init__(self, pause: Callable[[], AbstractContextManager[None]]) -> None:
        """`pause` takes the status line off the terminal."""
        self._pause = pause
        self._cancelled, self._cancel = os.pipe()
        os.set_blocking(self._cancelled, False)

    def __call__(self, question: Question) -> Approval:
        """Ask, and return the answer."""
        if threading.current_thread() is threading.main_thread():
            with self._pause():
                return confirm(question)
        with self._pause(), paused():
            self._forget()
            while said := self._line(_asked(question)):
                if (answer := _read(question, said)) is not None:
                    return answer
        return Approval(False, reason=UNANSWERED)

    def ask(self, question: str) -> str | None:
        """Ask for a line of text. See the function."""
        with self._pause():
            if threading.current_thread() is threading.main_thread():
                return ask(question)
            with paused():
                self._forget()
                said = self._line(f"{neutral(question)}: ")
                return said.strip() if said else None

    def _line(self, text: str) -> str:
        """Return what is written after a text, with its line end; empty at the end of the input, or if cancelled."""
        said = b""
        with contextlib.suppress(OSError):
            click.echo(text, nl=False, err=True)
            # `input` in a thread could not be ended, and would keep the process from ending.
            ready, _, _ = select.select([sys.stdin.fileno(), self._cancelled], [], [])
            said = b"" if self._cancelled in ready else os.read(sys.stdin.fileno(), 1000)
        if not said:
            leave_terminal()
            click.echo(err=True)
        return said.decode("utf-8", "replace")

    def _forget(self) -> None:
        """Forget what was cancelled before."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._cancelled, 100):
                pass

    def cancel(self) -> None:
        """Answer the open question with no. Callable from any thread."""
        os.write(self._cancel, b"!")


def _shown(question: Question) -> Iterator[str]:
    """The code of a step, with line numbers."""
    for number, line in enumerate(question.code.splitlines(), 1):
        yield f"{number:4} {neutral(line)}"


def _asked(question: Question) -> str:
    """The question with its possible answers."""
    if question.kind == "step":
        return f"{question.text} [y]es, [e]dit it first, or no with a reason [N]: "
    if question.kind != "call":
        return f"{neutral(question.text)} [y/N]: "
    times = "once" if question.earlier == 1 else f"{question.earlier} times"
    earlier = f" It was called {times} in this run." if question.earlier else ""
    return f"{neutral(question.text)}{earlier} [y]es, a number of times, [a]ll of this run, or no with a reason [N]: "


def _read(question: Question, said: str) -> Approval | None:
    """The answer that a person wrote; None to ask again."""
    word = said.strip()
    small = word.lower()
    if small in ("y", "yes"):
        return Approval(True)
    if question.kind == "call" and small in ("a", "all"):
        return Approval(True, calls=None)
    if question.kind == "call" and small.isdecimal() and int(small):
        return Approval(True, calls=int(small))
    if question.kind == "step" and small in ("e", "edit"):
        code = click.edit(question.code, extension=".py")
        return Approval(True, code=code.rstrip("\n")) if code and code.strip() else None
    return Approval(False, reason="" if small in ("n", "no", "0") else word)


def ask(question: str) -> str | None:
    """Ask for a line of text. None at the end of the input (Ctrl-D), which is also the case if nobody is there."""
    try:
        return str(click.prompt(neutral(question), err=True))
    except (click.Abort, OSError) as error:
        _end_of_input(error)
        return None


def _end_of_input(error: Exception) -> None:
    """Tell Ctrl-C from Ctrl-D: click raises one exception for both, and ends the line of neither."""
    leave_terminal()
    click.echo(err=True)
    if isinstance(error, click.Abort) and not isinstance(error.__context__, EOFError):
        raise KeyboardInterrupt from None
