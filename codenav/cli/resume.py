"""`codenav resume`: go on from a recorded run."""

from __future__ import annotations

from typing import Any

import click

from codenav.cli.options import SectionedCommand, on_option
from codenav.cli.run import carry_out, run_options


@click.command("resume", cls=SectionedCommand)
@click.argument("episode")
@click.argument("request", required=False, default="")
@on_option(required=False)
@run_options
def command(episode: str, request: str, **options: Any) -> int:
    """Go on from EPISODE: an id, the beginning of one, or last. Without REQUEST its own request is tried again.

    Its variables are restored first: its steps run again in a fresh sandbox, with the input files of then and the
    recorded answers of tools; nothing is sent twice. A line says what became of each. Steps that timed out, crashed or
    ran out of memory do not run again. The sources are those of EPISODE, without --on.

    \b
    Examples:
      codenav resume last
      codenav resume last "and now for 2024"
      codenav resume 20261128-0912 "the same as a table" --model gpt-5 --max-steps 30
    """
    return carry_out(request, options, after=episode)
