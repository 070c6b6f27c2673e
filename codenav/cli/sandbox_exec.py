"""`codenav sandbox exec`: a step of code in a named sandbox, or a prompt in it."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from codenav.cli.options import Seconds, json_option, print_json
from codenav.core.errors import NotFound, UsageError


@click.command("exec")
@click.argument("name")
@click.argument("script", required=False, metavar="[SCRIPT]")
@click.option("-c", "--code", metavar="CODE", help="Code to run, instead of a SCRIPT.")
@click.option("--timeout", type=Seconds(min=0, min_open=True), metavar="SECONDS", help="Time limit of this step.")
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
    from codenav.cli.sandbox_show import Printer, exit_code, interruptible, save_displays, show, tell_calls
    from codenav.sandboxes.daemon.client import connect

    if script is None and code is None:
        if displays or as_json:
            raise click.UsageError("--displays and --json go with a SCRIPT, or with -c.")
        from codenav.cli.sandbox_prompt import prompt

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
