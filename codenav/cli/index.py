"""`codenav index`: build or refresh an index."""

from __future__ import annotations

import click

from codenav.cli.options import json_option, print_json, python_option, say


@click.command("index")
@click.argument("source")
@python_option
@json_option
def command(source: str, python: str | None, as_json: bool) -> None:
    """Build the index of SOURCE, or bring it up to date: unchanged files are not read again.

    SOURCE is a directory, a file, or pkg:NAME for an installed package.

    \b
    Examples:
      codenav index .
      codenav index pkg:networkx --python ./venv
    """
    from codenav import api
    from codenav.cli.display import indexing, notice

    with (
        indexing(source) as progress,
        api.index(source, python=python, progress=progress, notice=notice) as index,
    ):
        stats = index.stats()
    if as_json:
        print_json(stats.to_dict(details=False))
        return
    say(f"{stats.files} files, {stats.blocks} blocks, {stats.seconds:.1f} s")
    if stats.skipped:
        count = "1 file was" if len(stats.skipped) == 1 else f"{len(stats.skipped)} files were"
        say(f"{count} skipped: codenav sources show {source}", err=True)
