"""`codenav search`: search an index by hand, as the agent does."""

from __future__ import annotations

from typing import Any

import click

from codenav.cli.options import block_line, on_option, one_line, print_json, reading_options, say, signature_line


@click.command("search")
@click.argument("query")
@on_option
@click.option("--limit", type=click.IntRange(min=0), default=10, show_default=True, help="Hits to print.")
@reading_options
def command(query: str, sources: tuple[str, ...], limit: int, as_json: bool, **options: Any) -> None:
    """Search code bases. A query that is not well formed is repaired, never refused.

    Fields: text (default), name, type, file_path, doc, signature, calls, language, source, lines.

    \b
    Examples:
      codenav search 'shortest path' --on pkg:networkx
      codenav search '(type: FUNCTION) AND name: resiz*' --on ./my-repo --on pkg:pillow
      codenav search 'file_path: */io/*.py AND NOT csv' --on pkg:pandas --json
    """
    from codenav import api
    from codenav.cli.display import opening

    with opening(sources, options) as keywords:
        result = api.search(query, on=sources, limit=limit, **keywords)
    if as_json:
        print_json(result.to_dict())
        return
    if result.repairs:
        say(f"Read as: {result.read_as or 'nothing'} ({'; '.join(result.repairs)})", err=True)
    tagged = len(sources) > 1 or any(source.startswith("name:") for source in sources)
    for hit in result:
        block = hit.block
        say(block_line(block, block.lines.start, tagged=tagged))
        if signature := signature_line(block):
            say(f"           {signature}")
        if hit.weight < 1:
            say(one_line(f"           {hit.why.partition('; ')[2]}"))
    shown = f"{len(result)} of {result.total}" if len(result) < result.total else str(result.total)
    say(f"{shown} match{'' if shown == '1' else 'es'}", err=True)
