"""`codenav models remove`: take a model off this machine."""

from __future__ import annotations

import click

from codenav.cli import completing
from codenav.cli.options import say


@click.command("remove")
@click.argument("name", shell_complete=completing.models)
def command(name: str) -> None:
    """Remove the file of the model NAME, or the beginning of it that a `get` left, and end its server.

    \b
    Examples:
      codenav models remove qwen2.5-coder-1.5b
    """
    from codenav.agents.models.local import catalogue, getting, serving

    entry = catalogue.find(name.removeprefix("local:"))
    serving.stop(entry.path)
    if getting.remove(entry):
        say(f"removed {entry.name}")
    else:
        say(f"{entry.name} is not here.", err=True)
