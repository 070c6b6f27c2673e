"""`codenav sandbox`: sandboxes on their own, without an agent."""

from __future__ import annotations

import click

from codenav.cli.lazy import LazyGroup

COMMANDS: dict[str, str] = {
    "build": "sandbox_build",
    "start": "sandbox_start",
    "exec": "sandbox_exec",
    "repl": "sandbox_repl",
    "ps": "sandbox_ps",
    "logs": "sandbox_logs",
    "cp": "sandbox_cp",
    "checkpoint": "sandbox_checkpoint",
    "restore": "sandbox_restore",
    "stop": "sandbox_stop",
    "check": "sandbox_check",
    "prune": "sandbox_prune",
}
"""Command name to module of this package, whose attribute `command` is the command."""


@click.group("sandbox", cls=LazyGroup, modules=COMMANDS)
def command() -> None:
    """Run code in sandboxes of your own, without a model.

    A sandbox that was started keeps its variables from one command to the next, until it is stopped.

    \b
    Examples:
      codenav sandbox start --name lab
      codenav sandbox exec lab -c "x = 1"
      codenav sandbox exec lab -c "x + 1"
      codenav sandbox stop lab
    """
