"""`codenav sandbox prune`: remove what dead processes have left."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from codenav.cli.options import counted, json_option, print_json, say
from codenav.core.errors import CodeNavError, Unavailable

if TYPE_CHECKING:
    from codenav.sandboxes.sweeper import Leftover


@click.command("prune")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
@json_option
def command(dry_run: bool, as_json: bool) -> int:
    """Remove what killed processes left behind, and list it.

    These are containers on the engine at DOCKER_HOST if one answers, control groups and temporary folders of this
    machine, and the folders of named sandboxes under CODENAV_HOME, work folders included. Whatever belongs to a living
    process, or to a process on another machine, stays.

    \b
    Exit codes: 0 all of it is gone, 1 something could not be removed.

    \b
    Examples:
      codenav sandbox prune --dry-run
      codenav sandbox prune --json
    """
    rows, failed = [], 0
    with _found() as leftovers:
        for leftover in leftovers:
            removed, why = False, ""
            if not dry_run:
                try:
                    removed = leftover.remove()
                except CodeNavError as error:
                    why = str(error)
                failed += not removed
            rows.append({**leftover.to_dict(), "removed": removed})
            if not as_json:
                verb = "removed" if removed else "would remove" if dry_run else "could not remove"
                whose = f" of process {leftover.owner.pid}" if leftover.owner else ""
                say(f"{verb} {leftover.kind} {leftover.name}{whose}" + (f": {why}" if why else ""))
    if as_json:
        print_json(rows)
    else:
        say(f"{counted(len(rows) - failed, 'leftover')} {'found' if dry_run else 'removed'}.", err=bool(rows))
    return 1 if failed else 0


@contextlib.contextmanager
def _found() -> Iterator[list[Leftover]]:
    """Yield the leftovers of this machine and of the engine. They can be removed until the context ends."""
    from codenav.core.system import docker_engine
    from codenav.sandboxes.daemon import places
    from codenav.sandboxes.sweeper import engine_leftovers, local_leftovers

    with contextlib.ExitStack() as open_until_removed:
        leftovers = [*local_leftovers(), *places.leftovers()]
        try:
            client = docker_engine.connect(timeout=20.0)
            open_until_removed.callback(client.close)
            leftovers += engine_leftovers(client.api)
        except Unavailable as error:
            if os.environ.get("DOCKER_HOST"):
                say(f"Containers are not looked at: {error}", err=True)
        yield leftovers
