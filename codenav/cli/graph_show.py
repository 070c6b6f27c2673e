"""`codenav graph show`: a tool graph, or one node of it with its edges, as text."""

from __future__ import annotations

from pathlib import Path

import click

from codenav.cli.graph_files import graph_of, graph_options, node_of
from codenav.cli.options import json_option, one_line, print_json, say


@click.command("show")
@graph_options
@click.option(
    "--around",
    default="",
    metavar="NAME",
    help="Show this node with its edges. The end of its name, or the public name, will do.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Most edges of one relation, or most nodes.",
)
@json_option
def command(source: str | None, path: Path | None, python: str | None, around: str, limit: int, as_json: bool) -> None:
    """Print the size of a tool graph, or the node NAME: how usable it proved, and its edges with their weights.

    \b
    Examples:
      codenav graph show --on pkg:networkx
      codenav graph show --on openapi:shop.yaml --around create_order
      codenav graph show --graph actions.yaml --around order
    """
    from codenav.toolgraph.showing import show

    graph, _ = graph_of(source, path, python)
    shown = show(graph, node_of(graph, around, source, python), limit=limit)
    if as_json:
        print_json(shown.to_dict())
        return
    for line in shown.lines():
        say(one_line(line))
