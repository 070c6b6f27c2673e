"""`codenav sandbox checkpoint`: keep the variables of a named sandbox."""

from __future__ import annotations

import click

from codenav.cli.options import json_option, print_json, say


@click.command("checkpoint")
@click.argument("name")
@json_option
def command(name: str, as_json: bool) -> None:
    """Keep the variables of the sandbox NAME as they are now; print the number of the checkpoint.

    Files are not part of it. Each is a frozen process: of more than the sandbox may keep the oldest is dropped.

    \b
    Examples:
      codenav sandbox checkpoint lab
    """
    from codenav.sandboxes.daemon.client import connect

    with connect(name) as box:
        number = box.checkpoint()
    if as_json:
        print_json({"number": number})
    else:
        say(str(number))
