"""`codenav sandbox stop`: end named sandboxes."""

from __future__ import annotations

import click

from codenav.cli.options import say


@click.command("stop")
@click.argument("names", nargs=-1, metavar="NAME...")
@click.option("--all", "everything", is_flag=True, help="Stop every sandbox that ps shows.")
@click.option("--force", is_flag=True, help="Kill a running step at once instead of giving it a second.")
def command(names: tuple[str, ...], everything: bool, force: bool) -> None:
    """Stop the sandboxes NAME and everything that runs in them, and remove their containers, files and logs.

    Files that were copied out stay, and so does a --work-dir.

    \b
    Examples:
      codenav sandbox stop lab
      codenav sandbox stop --all
    """
    if bool(names) == everything:
        raise click.UsageError("name a sandbox, or --all.")
    from codenav.sandboxes.daemon import places
    from codenav.sandboxes.daemon.client import stop

    for name in [record.name for record in places.records()] if everything else names:
        stop(name, force=force)
        say(f"stopped {name}")
