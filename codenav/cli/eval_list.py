"""`codenav eval list`: the benchmarks."""

from __future__ import annotations

import click

from codenav.cli.options import json_option, print_json, say


@click.command("list")
@json_option
def command(as_json: bool) -> None:
    """List the benchmarks, each with the repository that --data names a checkout of.

    \b
    Examples:
      codenav eval list
      codenav eval list --json
    """
    from codenav.evals.registry import BENCHMARKS

    if as_json:
        rows = [{"name": name, "about": one.about, "checkout": one.checkout} for name, one in BENCHMARKS.items()]
        print_json({"benchmarks": rows})
        return
    for name, one in BENCHMARKS.items():
        say(f"{name:<12} {one.about}")
        say(f"{'':<12} {one.checkout}")
