"""The prompt of `codenav sandbox exec`."""

from __future__ import annotations

import code
import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from codenav.cli.options import say
from codenav.cli.sandbox_show import Printer, interruptible, show, tell_calls

if TYPE_CHECKING:
    from codenav.sandboxes.daemon.client import NamedSandbox

HISTORY_LINES = 1000
_LEAVE = ("exit", "exit()", "quit", "quit()")


def prompt(name: str, timeout: float | None) -> int:
    """Run what is typed in a sandbox, a statement at a time, and return the exit code."""
    from codenav.sandboxes.daemon.client import connect

    terminal = sys.stdin.isatty()
    with connect(name) as box, _history(terminal):
        if terminal:
            of = box.info
            say(f"Sandbox {name}: {of.backend}, Python {of.python_version}, network: {of.network}. Ctrl-D leaves.")
        console = Prompt(box, name, timeout, terminal)
        with contextlib.suppress(SystemExit):
            console.interact(banner="", exitmsg="")
            # What the end of the input cut off.
            console.run_step("\n".join(console.buffer))
    return 0


class Prompt(code.InteractiveConsole):
    """Python's own prompt, of which each statement is a step of a sandbox."""

    def __init__(self, box: NamedSandbox, name: str, timeout: float | None, terminal: bool) -> None:
        """Without a terminal the lines come from stdin, with no prompts."""
        super().__init__()
        self._box, self._name, self._timeout, self._terminal = box, name, timeout, terminal

    def raw_input(self, prompt: str = "") -> str:
        """Return the next line. Raises EOFError at the end of the input."""
        if self._terminal:
            return input(prompt)
        try:
            line = sys.stdin.readline()
        except KeyboardInterrupt:
            raise click.Abort from None
        if not line:
            raise EOFError
        return line.rstrip("\n")

    def write(self, data: str) -> None:
        """Print what the prompt itself says, such as `KeyboardInterrupt`."""
        if self._terminal:
            click.echo(data, nl=False)

    def runsource(self, source: str, filename: str = "<input>", symbol: str = "single") -> bool:
        """Run a statement if it is complete; return True if more lines are needed.

        The sandbox's Python may understand what this one does not. In that case a block ends with an empty line.
        """
        if source.strip() in _LEAVE:
            raise SystemExit
        lines = source.split("\n")
        try:
            if self.compile(source, filename, symbol) is None:
                return True
        except (SyntaxError, ValueError, OverflowError):
            if (lines[0].rstrip().endswith(":") or lines[0].startswith("@")) and lines[-1].strip():
                return True
        self.run_step(source)
        return False

    def run_step(self, source: str) -> None:
        """Run a step, and show what it yields."""
        if not source.strip():
            return
        with interruptible(self._box):
            printer = Printer()
            execution = self._box.run(source, timeout=self._timeout, on_output=printer)
        printer.finish()
        sys.stdout.flush()
        tell_calls(self._box.calls)
        if execution.error and execution.error.type == "KeyboardInterrupt":
            say("\nKeyboardInterrupt", err=True)
            if execution.notice:
                say(f"Note: {execution.notice}", err=True)
        else:
            show(execution, name=self._name, saved=[])


@contextlib.contextmanager
def _history(terminal: bool) -> Iterator[None]:
    """Enable line editing and a history that includes earlier sessions."""
    if not terminal:
        yield
        return
    from codenav.core.config import home

    try:
        import readline
    except ImportError:
        yield
        return
    path = home("data") / "repl_history"
    readline.parse_and_bind("tab: tab-insert")
    readline.set_history_length(HISTORY_LINES)
    with contextlib.suppress(OSError):
        readline.read_history_file(path)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            # Created first, so that nobody else can read it.
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
            readline.write_history_file(path)
