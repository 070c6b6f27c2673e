"""`codenav schema`: the JSON Schemas of all `--json` output, and of tool set files."""

from __future__ import annotations

import click

from codenav.cli import completing
from codenav.cli.options import print_json


@click.command("schema")
@click.argument("name", required=False, shell_complete=completing.schemas)
def command(name: str | None) -> None:
    """Print the JSON Schema NAME; without NAME, the names.

    They describe what --json prints, and the tool set files that tools:FILE reads (toolset).

    \b
    Examples:
      codenav schema
      codenav schema episode
      codenav schema toolset
    """
    from codenav.core import schemas

    if name is None:
        click.echo("\n".join(schemas.names()))
    else:
        print_json(schemas.load(name))
