"""`codenav models stop`: end the servers of local models."""

from __future__ import annotations

import click

from codenav.cli.options import say


@click.command("stop")
def command() -> None:
    """End the servers of local models, which end by themselves when nobody uses them for a while (keep_alive).

    A run that is asking one starts it again.

    \b
    Examples:
      codenav models stop
    """
    from codenav.agents.models.local import serving

    stopped = serving.stop()
    for name in stopped:
        say(f"stopped {name}")
    if not stopped:
        say("No model is running.", err=True)
