"""`codenav sandbox stop`: end named sandboxes."""

from __future__ import annotations

import click

from codenav.cli.options import say


@click.command("stop")
@click.argument("names", nargs=-1, metavar="NAME...")
@click.option("--all", "everything", is_flag=True, help="Every sandbox that ps shows.")
@click.option("--force", is_flag=True, help="End a step that runs at once, not after a second.")
def command(names: tuple[str, ...], everything: bool, force: bool) -> None:
    """End the sandboxes NAME with all that runs in them; remove their containers, files and logs.

    What was copied out, and a --work-dir, stay.

    \b
    Examples:
      codenav sandbox stop lab
      codenav sandbox stop --all
    """
    if bool(names) == everything:
        raise click.UsageError("name a sandbox, or --all.")
    from codenav.sandboxes.daemon import places
    from codenav.sandboxes.daemon.client import stop

    for name in [record.name for record in places.listed()] if everything else names:
        stop(name, force=force)
        say(f"stopped {name}")
