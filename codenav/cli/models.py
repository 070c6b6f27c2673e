"""`codenav models`: language models on this machine."""

from __future__ import annotations

import click

from codenav.cli.lazy import LazyGroup

COMMANDS: dict[str, str] = {
    "get": "models_get",
    "list": "models_list",
    "show": "models_show",
    "stop": "models_stop",
    "remove": "models_remove",
}
"""Command name to module of this package, whose attribute `command` is the command."""


@click.group("models", cls=LazyGroup, modules=COMMANDS)
def command() -> None:
    """Language models on this machine: without key, server or GPU.

    One that is installed is the model of `codenav run` where no other is named.

    \b
    Examples:
      codenav models get
      codenav models list
      codenav run "Which node of the karate club graph has the highest betweenness?" --on pkg:networkx
    """
