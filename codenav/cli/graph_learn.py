"""`codenav graph learn`: teach the tool graph of a source."""

from __future__ import annotations

from typing import Any

import click

from codenav.cli import completing
from codenav.cli.options import counted, print_json, reading_options, say
from codenav.cli.sections import SectionedCommand


@click.command("learn", cls=SectionedCommand)
@click.option(
    "--from",
    "given",
    multiple=True,
    metavar="FILE|SOURCE|episodes",
    help="Traces in a file that ends in .jsonl or .json, the code of a source, or the episodes on this machine;"
    " repeatable. Without it, the code of the --on SOURCE itself.",
)
@click.option(
    "--on", "source", required=True, metavar="SOURCE", shell_complete=completing.sources,
    help="Source whose graph learns, as for `codenav index`.",
)  # fmt: skip
@click.option(
    "--forget",
    "forgetting",
    is_flag=True,
    help="Take the same out again: traces, episodes, or what was read from code.",
)
@reading_options
def command(given: tuple[str, ...], source: str, forgetting: bool, as_json: bool, **options: Any) -> None:
    """Teach the graph of a source what is called after what, and whose result goes into which call.

    Traces and episodes count once, however often they are learnt. What was read from code is replaced by what is read
    now: tests, examples, documentation and specifications.

    \b
    Examples:
      codenav graph learn --on pkg:networkx
      codenav graph learn --on pkg:networkx --from ./my-notebooks
      codenav graph learn --on openapi:shop.json --from traces.jsonl
      codenav graph learn --on openapi:shop.json --from episodes
    """
    from codenav.cli.display import opening
    from codenav.cli.left_out import tell_unknown, telling_few
    from codenav.toolgraph.teaching import teach

    with telling_few() as tell, opening([source], options) as keywords:
        taught = teach(source, given, forgetting=forgetting, tell=tell, **keywords)
    if as_json:
        print_json(taught.to_dict())
        return
    tell_unknown(taught.unknown, taught.source)
    for line in _lines(taught):
        say(line)


def _lines(taught: Any) -> list[str]:
    found = []
    if taught.tests or taught.examples or taught.docs or taught.specs:
        parts = [counted(getattr(taught, field), what) for field, what in _READ.items() if getattr(taught, field)]
        found.append(f"read {', '.join(parts)}")
    if taught.traces or taught.again or taught.empty:
        new = f"learnt {counted(taught.traces, 'trace')}"
        new += f", {taught.unverified} of them not verified" if taught.unverified else ""
        new += f"; {taught.again} were known" if taught.again else ""
        new += f"; {counted(taught.empty, 'trace')} without a call of {taught.source}" if taught.empty else ""
        found.append(new)
    if taught.forgotten:
        found.append(f"forgot {counted(taught.forgotten, 'trace')}")
    found.append(
        f"the graph of {taught.source} has {counted(taught.nodes, 'node')} and {counted(taught.edges, 'edge')}"
    )
    return found


_READ = {"tests": "test", "examples": "example", "docs": "documented example", "specs": "specified flow"}
