"""`codenav eval`: benchmarks, their runs, and reports."""

from __future__ import annotations

import click

from codenav.cli.lazy import LazyGroup

COMMANDS: dict[str, str] = {
    "list": "eval_list",
    "prepare": "eval_prepare",
    "run": "eval_run",
    "resume": "eval_resume",
    "report": "eval_report",
    "judge": "eval_judge",
    "merge": "eval_merge",
    "ablate": "eval_ablate",
    "selfcheck": "eval_selfcheck",
}
"""Command name to module of this package, whose attribute `command` is the command."""


@click.group("eval", cls=LazyGroup, modules=COMMANDS)
def command() -> None:
    """Run benchmarks, and report their scores beside those of the CodeNav paper.

    A benchmark's code and data are not part of codenav: --data names a checkout of its repository.

    \b
    Examples:
      codenav eval list
      codenav eval run m3tooleval --data ~/code-act --model gpt-5 --jobs 8 --out runs/a
      codenav eval resume runs/a
      codenav eval report runs/a --html a.html
    """
