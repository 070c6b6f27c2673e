"""`codenav search`: ask an index by hand, as the agent does."""

from __future__ import annotations

from typing import Any

import click

from codenav.cli.options import (
    json_option,
    on_option,
    one_line,
    print_json,
    python_option,
    say,
    store_of,
    store_options,
)


@click.command("search")
@click.argument("query")
@on_option
@click.option("--limit", type=click.IntRange(min=0), default=10, show_default=True, help="Hits to print.")
@click.option("--no-refresh", is_flag=True, help="Do not look for changed files first.")
@store_options
@python_option
@json_option
def command(
    query: str,
    sources: tuple[str, ...],
    limit: int,
    no_refresh: bool,
    python: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Search code bases. A query that is not well formed is repaired, never refused.

    Fields: text (default), name, type, file_path, doc, signature, calls, language, source, lines.

    \b
    Examples:
      codenav search 'shortest path' --on pkg:networkx
      codenav search '(type: FUNCTION) AND name: resiz*' --on ./my-repo --on pkg:pillow
      codenav search 'file_path: */io/*.py AND NOT csv' --on pkg:pandas --json
    """
    from codenav import api
    from codenav.cli.display import indexing, notice

    with indexing(", ".join(sources)) as progress:
        result = api.search(
            query,
            on=sources,
            limit=limit,
            python=python,
            refresh=not no_refresh,
            progress=progress,
            notice=notice,
            **store_of(options),
        )
    if as_json:
        print_json(result.to_dict())
        return
    if result.repairs:
        say(f"Read as: {result.read_as or 'nothing'} ({'; '.join(result.repairs)})", err=True)
    tagged = len(sources) > 1 or any(source.startswith("name:") for source in sources)
    for hit in result:
        block = hit.block
        place = one_line(f"{block.path}:{block.lines.start}")
        tag = f"  {one_line(block.source)}" if tagged else ""
        say(f"{block.kind.value:<10} {one_line(block.qualname or block.name)}  {place}{tag}")
        signature = " ".join(block.signature.split())
        if signature:
            say(f"           {signature[:160]}")
    shown = f"{len(result)} of {result.total}" if len(result) < result.total else str(result.total)
    say(f"{shown} match{'' if shown == '1' else 'es'}", err=True)
