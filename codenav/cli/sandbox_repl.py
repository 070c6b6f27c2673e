"""`codenav sandbox repl`: a prompt in a named sandbox."""

from __future__ import annotations

import codeop
import contextlib
import os
import sys
import warnings
from collections.abc import Iterator

import click

from codenav.cli.options import Seconds, say

HISTORY_LINES = 1000
_FIRST, _MORE = ">>> ", "... "


@click.command("repl")
@click.argument("name")
@click.option("--timeout", type=Seconds(min=0, min_open=True), metavar="SECONDS", help="Time limit of a step.")
def command(name: str, timeout: float | None) -> int:
    """Work in the sandbox NAME as at Python's own prompt.

    Ctrl-C interrupts a step, or drops what was typed. Ctrl-D or exit leaves; the sandbox and its variables stay.
    The history is kept. Without a terminal the lines come from stdin, with no prompts.

    \b
    Examples:
      codenav sandbox repl lab
    """
    from codenav.cli.sandbox_show import Printer, interruptible, show, tell_calls
    from codenav.sandboxes.daemon.client import connect

    terminal = sys.stdin.isatty()
    with connect(name) as box, _history(terminal):
        if terminal:
            of = box.info
            say(f"Sandbox {name}: {of.backend}, Python {of.python_version}, network: {of.network}. Ctrl-D leaves.")
        for code in _steps(terminal):
            with interruptible(box):
                printer = Printer()
                execution = box.run(code, timeout=timeout, on_output=printer)
            printer.finish()
            sys.stdout.flush()
            tell_calls(box.calls)
            error = execution.error
            if error and error.type == "KeyboardInterrupt":
                say("\nKeyboardInterrupt", err=True)
                if execution.notice:
                    say(f"Note: {execution.notice}", err=True)
            else:
                show(execution, name=name, saved=[])
    return 0


def _steps(terminal: bool) -> Iterator[str]:
    """Yield each complete statement that is typed, until the end of the input or `exit`."""
    lines: list[str] = []
    while True:
        try:
            line = _read(_MORE if lines else _FIRST, terminal)
        except KeyboardInterrupt:
            if not terminal:
                raise
            click.echo("\nKeyboardInterrupt")
            lines = []
            continue
        if line is None:
            if terminal:
                click.echo()
            if not lines:
                return
        else:
            lines.append(line)
        code = "\n".join(lines)
        if code.strip() in ("exit", "exit()", "quit", "quit()"):
            return
        if line is not None and not _complete(lines):
            continue
        lines = []
        if code.strip():
            yield code
        if line is None:
            return


def _read(prompt: str, terminal: bool) -> str | None:
    """Return the next line, or None at the end of the input."""
    if not terminal:
        line = sys.stdin.readline()
        return line.rstrip("\n") if line else None
    try:
        return input(prompt)
    except EOFError:
        return None


def _complete(lines: list[str]) -> bool:
    """True if no more lines are needed.

    The sandbox's Python may understand what this one does not. In that case a block ends with an empty line.
    """
    code = "\n".join(lines)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return codeop.compile_command(code, symbol="single") is not None or not code.strip()
    except (SyntaxError, ValueError, OverflowError):
        block = lines[0].rstrip().endswith(":") or lines[0].startswith("@")
        return not block or not lines[-1].strip()


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
