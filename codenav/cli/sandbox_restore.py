"""`codenav sandbox restore`: return to the variables of a checkpoint."""

from __future__ import annotations

import click

from codenav.cli.options import json_option, print_json, say


@click.command("restore")
@click.argument("name")
@click.argument("number", type=click.IntRange(min=1))
@json_option
def command(name: str, number: int, as_json: bool) -> None:
    """Take up the variables of checkpoint NUMBER in the sandbox NAME. The checkpoint stays.

    \b
    Exit codes: 0 done, 2 there is no such checkpoint, or no more.

    \b
    Examples:
      codenav sandbox restore lab 3
    """
    from codenav.sandboxes.daemon.client import connect

    with connect(name) as box:
        notice = box.restore(number)
    if as_json:
        print_json({"number": number, "notice": notice})
    elif notice:
        say(notice)
