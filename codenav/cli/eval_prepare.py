"""`codenav eval prepare`: the adapted code base of a benchmark, and the environment that it needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from codenav.cli.eval_options import FOLDER, factory_options, task_options
from codenav.cli.options import python_option, say
from codenav.cli.sections import SectionedCommand
from codenav.core.errors import UsageError


@click.command("prepare", cls=SectionedCommand)
@click.argument("name")
@task_options
@click.option(
    "--out", metavar="DIR", required=True, type=FOLDER, help="New folder, or one that this command made before."
)
@python_option
def command(name: str, data: Path, out: Path, python: str | None, **options: Any) -> None:
    """Write the adapted code base of the benchmark NAME, and make the environment that it needs.

    Below DIR are code-use and tool-use, the folders that the agent would be given, each with its description in a text
    file beside it, and the environment of benchmarks that need one: --prepared DIR names it to the other commands.
    Expected answers are not in it.

    \b
    Examples:
      codenav eval prepare m3tooleval --data ~/code-act --out m3
      codenav eval prepare api-bank --data ~/DAMO-ConvAI --out ~/api-bank-env

    \b
    Exit codes: 0 done, 2 wrong usage, 4 something cannot be fetched.
    """
    from codenav.cli import display
    from codenav.evals.registry import make
    from codenav.evals.task import Mode

    out = out.expanduser().absolute()
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is not a folder", hint="name another one with --out")
    factory = factory_options(options)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make {out}: {error.strerror}", hint="name another folder with --out") from None
    task = make(name, data, factory, python=python)
    prepared = task.prepare(out, notice=display.notice)
    if prepared:
        task = make(name, data, {**factory, "prepared": out}, python=python)
    for mode in Mode:
        setting = task.setting(mode, out / mode.value)
        (out / f"{mode.value}.txt").write_text(setting.description, encoding="utf-8")
        say(f"{mode.value}: {', '.join(str(path) for path in setting.on)}")
    if prepared:
        say(f"Run it: codenav eval run {name} --data {data} --prepared {out} --out RUN", err=True)
