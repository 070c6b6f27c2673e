"""`codenav describe`: the description of a code base that a run gives the model if it got no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from codenav.cli import completing
from codenav.cli.options import python_option, say, store_options
from codenav.cli.sections import SectionedCommand


@click.command("describe", cls=SectionedCommand)
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, shell_complete=completing.sources)
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the description to this file, ready for editing.",
)
@click.option("--no-refresh", is_flag=True, help="Use the index as it is, without looking for changed files.")
@store_options
@python_option
def command(sources: tuple[str, ...], out: Path | None, **options: Any) -> None:
    """Print a description of code bases: purpose, layout and entry points, in at most 2,000 characters each.

    It is made by rule from the index, the metadata and the README, and is the default of `codenav run --description`.
    To add what the code cannot tell, write it to a file, edit it, and pass it with --description.

    \b
    Examples:
      codenav describe pkg:networkx
      codenav describe ./my-repo --out description.txt
      codenav run "…" --on ./my-repo --description description.txt
    """
    from codenav.cli.display import opening
    from codenav.navigation.verbs import describe

    if out and not out.absolute().parent.is_dir():
        raise click.UsageError(f"--out: there is no folder {out.absolute().parent}.")
    with opening(sources, options) as keywords:
        text = describe(sources, **keywords)
    if out is None:
        say(text)
        return
    try:
        out.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"--out: {out} cannot be written: {error.strerror}.") from error
    say(f"written to {out}", err=True)
