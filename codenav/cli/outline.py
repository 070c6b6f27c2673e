"""`codenav outline`: a map of a code base."""

from __future__ import annotations

from typing import Any

import click

from codenav.cli import completing
from codenav.cli.options import print_json, reading_options, say
from codenav.cli.sections import SectionedCommand


@click.command("outline", cls=SectionedCommand)
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, shell_complete=completing.sources)
@click.option("--path", default="", metavar="PATH", help="Show only this folder or file of the sources.")
@click.option(
    "--tokens",
    type=click.IntRange(min=32),
    default=1024,
    show_default=True,
    help="Size of the outline; a token is 4 bytes.",
)
@reading_options
def command(sources: tuple[str, ...], path: str, tokens: int, as_json: bool, **options: Any) -> None:
    """Print a map of code bases: the files that the rest refers to most, and their most central definitions.

    SOURCE is a directory, a file, pkg:NAME, git:URL@REV, openapi:FILE, or name:NAME. Tests and vendored code come last.

    \b
    Examples:
      codenav outline pkg:networkx
      codenav outline pkg:networkx --path algorithms/shortest_paths --tokens 300
      codenav outline ./my-repo --json
    """
    from codenav.cli.display import opening
    from codenav.navigation import verbs

    with opening(sources, options) as keywords:
        outline = verbs.outline(sources, path=path, tokens=tokens, **keywords)
    if as_json:
        print_json(outline.to_dict())
        return
    if outline.files or outline.files_left_out:
        say(str(outline))
    else:
        say("nothing is defined there", err=True)
