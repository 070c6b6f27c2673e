"""`codenav callers`: the callers of a definition."""

from __future__ import annotations

from typing import Any

import click

from codenav.cli.options import block_line, on_option, print_json, reading_options, say
from codenav.cli.sections import SectionedCommand


@click.command("callers", cls=SectionedCommand)
@click.argument("name")
@on_option
@click.option(
    "--limit", type=click.IntRange(min=0), default=20, show_default=True, metavar="N", help="Callers to print."
)
@reading_options
def command(name: str, sources: tuple[str, ...], limit: int, as_json: bool, **options: Any) -> None:
    """List the blocks that call NAME: certain callers first, those that match by the last part of the name only last.

    In between are calls of a method that may be overridden: the one that runs depends on the class of the object.

    NAME is given as for `codenav show`, or is the full name of something outside the index, such as numpy.mean.

    \b
    Examples:
      codenav callers shortest_path --on pkg:networkx
      codenav callers Graph.add_node --on pkg:networkx --limit 50
      codenav callers numpy.mean --on ./my-repo --json
    """
    from codenav.cli.display import opening
    from codenav.navigation import verbs

    with opening(sources, options) as keywords:
        found = verbs.callers(name, on=sources, limit=limit, **keywords)
    if as_json:
        print_json(found.to_dict())
        return
    for caller in found:
        say(block_line(caller.block, min(line for call in caller.calls for line in call.lines)))
        say("           " + ", ".join(f"{call.name} ({call.evidence.value})" for call in caller.calls)[:200])
    shown = f"{len(found)} of {found.total}" if len(found) < found.total else str(found.total)
    told = f"{shown} caller{'' if shown == '1' else 's'}: {found.certain} certain, "
    told += f"{found.possible} of a method that may be overridden, " if found.possible else ""
    told += f"{found.by_name} by name only"
    if len(found.targets) > 1:
        told += f"; the name stands for {len(found.targets)} definitions"
    if found.others:
        told += f"; {found.others} that call another one of that name left out"
    say(told, err=True)
