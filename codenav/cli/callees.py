"""`codenav callees`: the calls that a definition makes."""

from __future__ import annotations

from typing import Any

import click

from codenav.cli.options import block_line, on_option, print_json, reading_options, say, signature_line
from codenav.cli.sections import SectionedCommand


@click.command("callees", cls=SectionedCommand)
@click.argument("name")
@on_option
@click.option(
    "--limit", type=click.IntRange(min=0), default=100, show_default=True, metavar="N", help="Names to print."
)
@reading_options
def command(name: str, sources: tuple[str, ...], limit: int, as_json: bool, **options: Any) -> None:
    """List the callables that NAME calls, with signature and place, and the names that are not in the index.

    NAME is given as for `codenav show`.

    \b
    Examples:
      codenav callees DiGraph.add_edges_from --on pkg:networkx
      codenav callees lib/io.py:30 --on ./my-repo --json
    """
    from codenav.cli.display import opening
    from codenav.navigation import verbs
    from codenav.navigation.resolve import Evidence

    with opening(sources, options) as keywords:
        found = verbs.callees(name, on=sources, limit=limit, **keywords)
    if as_json:
        print_json(found.to_dict())
        return
    for callee in found:
        if callee.call.evidence is Evidence.EXTERNAL:
            continue
        more = callee.candidates - len(callee.blocks)
        say(f"{callee.call.name} ({callee.call.evidence.value})")
        for block in callee.blocks:
            say("  " + block_line(block, block.lines.start))
            if signature := signature_line(block):
                say(f"             {signature}")
        if more > 0:
            say(f"  … {more} more")
    outside = [callee.dotted or callee.call.name for callee in found if callee.call.evidence is Evidence.EXTERNAL]
    if outside:
        say(f"external: {', '.join(outside)}")
    shown = f"{len(found)} of {found.total}" if len(found) < found.total else str(found.total)
    say(f"{shown} name{'' if shown == '1' else 's'}, {len(outside)} external", err=True)
