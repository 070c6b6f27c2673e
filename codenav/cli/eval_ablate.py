"""`codenav eval ablate`: the runs of one of the CodeNav paper's tables 2 to 5."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from codenav.cli.eval_options import factory_options, run_keywords, run_options, task_options
from codenav.cli.options import print_json, say
from codenav.cli.sections import SectionedCommand
from codenav.core.errors import UsageError


@click.command("ablate", cls=SectionedCommand)
@click.argument("table", metavar="TABLE", type=click.Choice(["2", "3", "4", "5"]))
@task_options
@run_options
def command(table: str, data: Path, out: Path, models: tuple[str, ...], **options: Any) -> int:
    """Run one row after another of a TABLE of the CodeNav paper, each in a folder of its own below RUN.

    \b
    2  m&m's by level of description: none, names, descriptions, prototypes, library
    3  m&m's by content of search results: prototypes, code, shorter
    4  M3ToolEval by library description: paths, and paths with a line each
    5  m&m's by model: each --model is a row

    All other options are those of codenav eval run. Started again, it goes on where it was.

    \b
    Examples:
      codenav eval ablate 2 --data ~/mnms --tasks tasks.json --sample 200 --stub-tools \\
          --model gpt-5 --out runs/table2
      codenav eval report runs/table2/* --mixed

    \b
    Exit codes: as codenav eval run.
    """
    from codenav.cli.eval_run import carry_out, shown
    from codenav.evals.paper import grid
    from codenav.evals.runs import RunFolder

    found = grid(table, models)
    factory = factory_options(options)
    keywords = {**run_keywords(options), "model": models[0] if models else None}
    option = found.option
    if option in factory or (option == "shows" and keywords["shows"] != "shorter"):
        raise UsageError(f"table {table} sets --{option.replace('_', '-')} itself", hint="leave it out")
    ends = []
    for name, value in found.rows.items():
        varied = {} if value is None else {option: value}
        of_run = option in ("shows", "model")
        folder = out / name
        if not options["as_json"]:
            say(f"{found.benchmark}: {name}", err=True)
        run = carry_out(
            found.benchmark,
            data,
            factory if of_run else {**factory, **varied},
            {**keywords, **varied} if of_run else keywords,
            folder,
            quiet=options["quiet"] or options["as_json"],
            resume=RunFolder.holds(folder),
        )
        ends.append(shown(run, as_json=options["as_json"]))
    if options["as_json"]:
        print_json(ends)
    return 4 if any(end["missing"] for end in ends) else 0
