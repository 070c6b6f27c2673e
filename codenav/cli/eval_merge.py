"""`codenav eval merge`: the shards of a run as one."""

from __future__ import annotations

from pathlib import Path

import click

from codenav.cli.eval_options import FOLDER
from codenav.cli.options import counted, say


@click.command("merge")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=FOLDER)
@click.option("--out", metavar="RUN", required=True, type=FOLDER, help="Folder of the joined run.")
@click.option("--anyway", is_flag=True, help="Mix runs of different settings: the report names both.")
def command(runs: tuple[Path, ...], out: Path, anyway: bool) -> int:
    """Join the shards of one run, made with --shard, in a new folder.

    Runs of different settings, versions, models or servers are refused without --anyway, and so are two different
    results of one attempt. A result replaces an error.

    \b
    Examples:
      codenav eval merge runs/a.1 runs/a.2 --out runs/a

    \b
    Exit codes: 0 every attempt has a result, 2 wrong usage, 4 some are missing (codenav eval resume).
    """
    from codenav.evals.results import ERROR
    from codenav.evals.runs import merge

    merged = merge(runs, out, anyway=anyway)
    results = merged.results()
    missing = len(merged.head.attempts) - sum(one.status != ERROR for one in results)
    say(f"{out}: {counted(len(results), 'attempt')} of {counted(len(runs), 'run')}")
    if missing:
        say(f"Note: {counted(missing, 'attempt')} without a result: codenav eval resume {out}", err=True)
    return 4 if missing else 0
