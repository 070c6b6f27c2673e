"""`codenav models show`: everything about one model."""

from __future__ import annotations

import click

from codenav.cli import completing
from codenav.cli.models_list import gigabytes, row_of
from codenav.cli.options import json_option, print_json, say


@click.command("show")
@click.argument("name", shell_complete=completing.models)
@json_option
def command(name: str, as_json: bool) -> None:
    """Show the model NAME: licence, size, the memory that it needs, where it is from, and whether it runs.

    \b
    Examples:
      codenav models show qwen2.5-coder-1.5b
      codenav models show qwen2.5-coder-7b --json
    """
    from codenav.agents.models.local import catalogue, serving

    row = row_of(catalogue.find(name.removeprefix("local:")), serving.running())
    if as_json:
        print_json(row)
        return
    say(f"{row['name']}: {row['title']}" + ("" if row["tried"] else " (not run by us)"))
    say(f"licence      {row['licence']}")
    say(f"size         {gigabytes(row['bytes'])}, {row['parameters'] / 1e9:.1f} billion weights")
    say(f"memory       {gigabytes(row['memory_bytes'])} free to load it")
    say(f"context      trained for {row['context']:,} tokens")
    say(f"SHA-256      {row['sha256']}")
    if row["hub"]:
        say(f"hub          {row['hub']}")
    if row["wheels"]:
        say(f"index        {row['wheels']} wheels")
    say(f"file         {row['path']} ({row['state']})")
    if running := row["server"]:
        idle = f"idle for {running['idle_seconds']:.0f} s, ends after {running['keep_alive']:.0f} s"
        say(f"server       process {running['pid']}, {running['context']:,} tokens of context, {idle}")
