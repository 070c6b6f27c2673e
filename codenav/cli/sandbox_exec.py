"""`codenav sandbox exec`: a step of code in a named sandbox, or a prompt in it."""

from __future__ import annotations

import code as python_code
import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from codenav.cli.options import Duration, counted, json_option, one_line, print_json, say
from codenav.core.errors import NotFound, UsageError
from codenav.core.execution import Outcome

if TYPE_CHECKING:
    from codenav.core.execution import Execution, Output, ToolCall
    from codenav.sandboxes.daemon.client import NamedSandbox

HISTORY_LINES = 1000
_LEAVE = ("exit", "exit()", "quit", "quit()")
_SUFFIXES = {
    "image/png": "png", "image/jpeg": "jpg", "image/svg+xml": "svg", "text/html": "html", "text/markdown": "md",
    "text/latex": "tex", "application/json": "json",
}  # fmt: skip
_LISTED = 5
"""Most files named after a step. The rest is counted."""


@click.command("exec")
@click.argument("name")
@click.argument("script", required=False, metavar="[SCRIPT]")
@click.option("-c", "--code", metavar="CODE", help="Code to run, instead of a SCRIPT.")
@click.option("--timeout", type=Duration(least=0.001, most=86_400), metavar="SECONDS", help="Time limit of this step.")
@click.option(
    "--displays",
    metavar="DIR",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder for pictures; no file in it is overwritten.",
)
@json_option
def command(
    name: str, script: str | None, code: str | None, timeout: float | None, displays: Path | None, as_json: bool
) -> int:
    """Run a SCRIPT (- is stdin) or CODE in the sandbox NAME; without either, work in it as at Python's own prompt.

    It is one step and sees the variables of earlier ones. Its output is on stdout as it arrives, then the value of its
    last expression. Ctrl-C interrupts the step and keeps the sandbox.

    At the prompt Ctrl-D or exit leaves; the history is kept. Without a terminal the lines come from stdin, with no
    prompts.

    \b
    Exit codes: 0 it ran to its end, 1 it raised or ended its process, 2 wrong usage or no such
    sandbox, 3 the timeout or the memory limit, 4 the sandbox does not answer, 130 interrupted.

    \b
    Examples:
      codenav sandbox exec lab script.py
      codenav sandbox exec lab -c "x = 41"
      codenav sandbox exec lab -c "x + 1" --json
    """
    if script is not None and code is not None:
        raise click.UsageError("name a SCRIPT, or code with -c.")
    from codenav.sandboxes.daemon.client import connect

    if script is None and code is None:
        if displays or as_json:
            raise click.UsageError("--displays and --json go with a SCRIPT, or with -c.")
        return prompt(name, timeout)
    source = _read(script) if script is not None else str(code)
    with connect(name) as box, interruptible(box):
        printer = None if as_json else Printer()
        execution = box.run(source, timeout=timeout, on_output=printer)
    try:
        saved = save_displays(execution, displays)
    finally:
        if as_json:
            print_json(execution.to_dict())
    if printer is not None:
        printer.finish()
        tell_calls(box.calls)
        show(execution, name=name, saved=saved)
    return exit_code(execution)


def _read(script: str) -> str:
    """Return the text of a script, decoded as it declares."""
    import io
    import tokenize

    try:
        data = sys.stdin.buffer.read() if script == "-" else Path(script).read_bytes()
    except OSError as error:
        raise NotFound(
            f"cannot read {script}: {error.strerror}", hint="name a Python file, - for stdin, or -c CODE"
        ) from error
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding).replace("\r\n", "\n")
    except (SyntaxError, UnicodeDecodeError) as error:
        raise UsageError(f"{script} is not Python source: {error}", hint="save it as UTF-8") from error


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
    from codenav.cli.steps import Room, call_lines

    for line in call_lines(calls, Room.of_terminal()):
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


class Prompt(python_code.InteractiveConsole):
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
