"""The entry point: the command group, and the only place where errors become exit codes."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

import click

from codenav import __version__
from codenav.cli.former import refuse_option
from codenav.cli.lazy import LazyGroup
from codenav.cli.options import leave_terminal, say
from codenav.core.errors import CodeNavError

COMMANDS = {
    "index": "index",
    "search": "search",
    "show": "navigation:show",
    "callers": "navigation:callers",
    "callees": "navigation:callees",
    "outline": "navigation:outline",
    "describe": "navigation:describe",
    "run": "run",
    "resume": "resume",
    "chat": "chat",
    "models": "models",
    "sources": "sources",
    "episodes": "episodes",
    "sandbox": "sandbox",
    "tools": "tools",
    "graph": "graph",
    "train-retriever": "train_retriever",
    "prompt": "shipped:prompt",
    "eval": "eval",
    "elasticsearch": "elasticsearch",
    "doctor": "doctor",
    "schema": "shipped:schema",
    "completion": "shipped:completion",
}
"""Command name to module of this package, whose attribute `command` is the command."""


@click.command(
    cls=LazyGroup, modules=COMMANDS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="codenav")
def cli() -> None:
    """An LLM agent that uses real code instead of registered tools.

    \b
    Examples:
      codenav index pkg:networkx
      codenav search 'shortest path' --on pkg:networkx
      codenav run "Which node of the karate club graph has the highest betweenness?" --on pkg:networkx
      codenav episodes show last

    Everything that codenav writes lies under CODENAV_HOME, where that is set.
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command line and exit with its exit code (docs/errors.md)."""
    _open_standard_streams()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    code = _run(arguments)
    try:
        sys.stdout.flush()
    except OSError as error:
        code = _cannot_write(error)
    sys.exit(code)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        if list(sys.argv[1:] if arguments is None else arguments)[:2] != ["sandbox", "stop"]:
            _sweep()
        code = cli.main(args=arguments, prog_name="codenav", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.ClickException as error:
        if isinstance(error, click.NoSuchOption):
            error = click.UsageError(refuse_option(error), error.ctx)
        error.show()
        return error.exit_code
    except CodeNavError as error:
        say(f"Error: {error}", err=True)
        if error.hint:
            say(f"Try: {error.hint}", err=True)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        say("Interrupted.", err=True)
        return 130
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ENOSPC, errno.EDQUOT):
            raise
        return _cannot_write(error)


def _sweep() -> None:
    """Remove what sandboxes of killed processes have left."""
    with contextlib.suppress(OSError):
        if os.listdir(f"{tempfile.gettempdir()}/codenav-{os.geteuid()}"):
            from codenav.sandboxes.sweeper import sweep

            sweep()


def _cannot_write(error: OSError) -> int:
    """Return the exit code if stdout cannot be written: its reader left (`codenav … | head`), or its disk is full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if error.errno == errno.EPIPE:
        return 1
    say(f"Error: cannot write the output: {error.strerror}", err=True)
    say("Try: free some space where it goes; the answer of a run is kept: codenav episodes show last", err=True)
    return 4


def _open_standard_streams() -> None:
    """Open /dev/null for standard descriptors that the parent closed: the next file would get their number."""
    for number, mode in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, mode)
            if opened != number:
                os.dup2(opened, number)
    sys.stdin = sys.stdin or os.fdopen(0)
    sys.stdout = sys.stdout or os.fdopen(1, "w")
    sys.stderr = sys.stderr or os.fdopen(2, "w")


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """End a command on SIGTERM and SIGHUP the way Ctrl-C does: the record is closed, and no process stays."""
    if number == signal.SIGHUP:
        leave_terminal()
    raise KeyboardInterrupt
