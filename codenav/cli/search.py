"""`codenav search`: search an index by hand, as the agent does."""

from __future__ import annotations

from typing import Any

import click

from codenav.cli.options import (
    block_line,
    json_option,
    on_option,
    one_line,
    print_json,
    reading_options,
    say,
    setting_option,
    signature_line,
)
from codenav.core.blocks import Moved


@click.command("search")
@click.argument("query", default="")
@on_option()
@click.option(
    "--request",
    metavar="TEXT",
    default="",
    help="What the search is for, in plain text: without QUERY its words are searched for; with it they rank the hits.",
)
@click.option("--explain", is_flag=True, help="Say where each hit that was moved stood before, and what moved it.")
@setting_option("embeddings")
@click.option("--limit", type=click.IntRange(min=0), default=10, show_default=True, metavar="N", help="Hits to print.")
@reading_options
@json_option
def command(
    query: str,
    sources: tuple[str, ...],
    request: str,
    explain: bool,
    embeddings: str | None,
    limit: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Search code bases. A query that is not well formed is repaired, never refused.

    The first 100 hits are ranked by what verified episodes and codenav graph learn taught about a source. To those of
    a --request, callables are added that answered similar requests. --set rerank=no leaves out all of that.

    Fields: text (default), name, type, file_path, doc, signature, calls, language, source, lines.

    \b
    Examples:
      codenav search 'shortest path' --on pkg:networkx
      codenav search '(type: FUNCTION) AND name: resiz*' --on ./my-repo --on pkg:pillow
      codenav search 'file_path: */io/*.py AND NOT csv' --on pkg:pandas --json
      codenav search --request 'Which nodes are central?' --on pkg:networkx --explain
    """
    if not query and not request:
        raise click.UsageError("Missing argument 'QUERY', or --request TEXT.")
    from codenav.cli.display import opening
    from codenav.session import api

    with opening(sources, options) as keywords:
        result = api.search(query, on=sources, request=request, limit=limit, embeddings=embeddings, **keywords)
    if as_json:
        print_json(result.to_dict())
        return
    if result.repairs:
        say(f"Read as: {result.read_as or 'nothing'} ({'; '.join(result.repairs)})", err=True)
    for sentence in result.advice:
        say(one_line(f"Note: {sentence}"), err=True)
    tagged = len(sources) > 1 or any(source.startswith("name:") for source in sources)
    for hit in result:
        block = hit.block
        say(block_line(block, block.lines.start, tagged=tagged, imported=True))
        if signature := signature_line(block):
            say(f"           {signature}")
        if hit.weight < 1:
            say(one_line(f"           {hit.why.partition('; ')[2]}"))
        if explain and hit.moved:
            say(one_line(f"           {_votes_text(hit.moved)}"))
    shown = f"{len(result)} of {result.total}" if len(result) < result.total else str(result.total)
    say(f"{shown} match{'' if shown == '1' else 'es'}", err=True)
    if explain and not any(hit.moved for hit in result):
        say("no hit was moved", err=True)


def _votes_text(moved: Moved) -> str:
    votes = [f"{vote.name} {vote.weight:+.2f}" + (f" ({vote.because})" if vote.because else "") for vote in moved.votes]
    if not moved.place:
        return f"brought in: {', '.join(votes)}"
    return f"moved from place {moved.place}: {', '.join(votes) or 'others passed it'}"
