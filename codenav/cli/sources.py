"""`codenav sources`: the indexes that are there."""

from __future__ import annotations

import click

from codenav.cli.options import json_option, print_json, python_option


@click.group("sources")
def command() -> None:
    """List, show and remove indexes.

    \b
    Examples:
      codenav sources list
      codenav sources show pkg:networkx
      codenav sources remove pkg:networkx
    """
