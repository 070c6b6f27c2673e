"""`codenav eval selfcheck`: the expected answers of a benchmark, replayed without a model."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click

from codenav.cli.eval_options import factory_options, task_options
from codenav.cli.options import json_option, print_json, python_option, say
from codenav.cli.sections import SectionedCommand


@click.command("selfcheck", cls=SectionedCommand)
@click.argument("name")
@task_options
@python_option
@json_option
def command(name: str, data: Path, python: str | None, as_json: bool, **options: Any) -> int:
    """Replay the expected answers of the benchmark NAME, and compare the figures with those that are known.

    It needs no model. A figure that differs means that the checkout, the environment or the scorers are not those
    that the known scores belong to.

    \b
    Examples:
      codenav eval selfcheck m3tooleval --data ~/code-act
      codenav eval selfcheck api-bank --data ~/DAMO-ConvAI --prepared ~/api-bank-env

    \b
    Exit codes: 0 all figures are as known, 1 one differs, 2 wrong usage, 4 something is missing.
    """
    from codenav.cli import display
    from codenav.evals.registry import make

    factory = factory_options(options)
    task = make(name, data, factory, python=python)
    with tempfile.TemporaryDirectory(prefix="codenav-selfcheck-") as folder:
        checks = task.selfcheck(Path(folder), notice=display.notice)
    if as_json:
        rows = [
            {"name": one.name, "expected": one.expected, "found": one.found, "ok": one.ok, "detail": one.detail}
            for one in checks
        ]
        print_json({"task": name, "ok": all(one.ok for one in checks), "checks": rows})
    else:
        for one in checks:
            known = "" if one.ok else f", not {_shown(one.expected)}"
            say(f"{'ok  ' if one.ok else 'FAIL'}  {one.name}: {_shown(one.found)}{known}")
            for line in one.detail.splitlines():
                say(f"      {line}")
    return 0 if all(one.ok for one in checks) else 1


def _shown(figure: Any) -> str:
    """A figure for a person; of counts by name a list."""
    return "; ".join(f"{count} {name}" for name, count in figure.items()) if isinstance(figure, dict) else str(figure)
