"""`codenav graph`: what is called after what, and whose result goes into which call."""

from __future__ import annotations

import click

from codenav.cli.lazy import LazyGroup

COMMANDS: dict[str, str] = {
    "learn": "graph_learn",
    "show": "graph_show",
    "draw": "graph_draw",
    "sample": "graph_sample",
}
"""Command name to module of this package, whose attribute `command` is the command."""


@click.group("graph", cls=LazyGroup, modules=COMMANDS)
def command() -> None:
    """Learn, show, draw and sample tool graphs: what is called after what, whose result goes into which call.

    \b
    Examples:
      codenav graph learn --on pkg:networkx
      codenav graph show --on pkg:networkx
      codenav graph show --on openapi:shop.yaml --around shop.create_order
      codenav graph draw --on pkg:networkx --out networkx.html
      codenav graph sample --on pkg:networkx --kind chain -n 2..4
    """
