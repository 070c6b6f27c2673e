"""`codenav sandbox ps`: a list of the named sandboxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from codenav.cli.options import counted, json_option, print_json, say
from codenav.core.errors import CodeNavError

if TYPE_CHECKING:
    from codenav.sandboxes.daemon.places import Record


@click.command("ps")
@json_option
def command(as_json: bool) -> None:
    """List the sandboxes that were started and not stopped, oldest first.

    \b
    Examples:
      codenav sandbox ps
      codenav sandbox ps --json
    """
    from codenav.sandboxes.daemon import places

    rows = [row_of(record) for record in places.records()]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        where = row["image"] or f"Python {row['python_version']}" if row["python_version"] else ""
        state = row["state"]
        if state == "running":
            state = f"running for {_seconds(row['running_seconds'])}"
        elif state == "idle":
            state = f"idle for {_seconds(row['idle_seconds'])}"
        told = f"  {counted(row['steps'], 'step')}" if row["steps"] is not None else ""
        say(f"{row['name']:<12} {row['backend']:<10} {state:<20} {where}{told}")
    if not rows:
        say("No sandbox. Try: codenav sandbox start", err=True)


def row_of(record: Record) -> dict[str, Any]:
    """Return the JSON of one sandbox, including the current status from its host process."""
    from codenav.sandboxes.daemon.client import connect
    from codenav.sandboxes.daemon.places import to_dict

    status: dict[str, Any] = {"steps": None, "running_seconds": None, "idle_seconds": None}
    if record.owner.ended():
        state = "dead"
    elif not record.owner.lives():
        state = "elsewhere"
    elif record.info is None:
        state = "starting"
    else:
        try:
            with connect(record.name) as box:
                status = box.status()
            state = "idle" if status["running_seconds"] is None else "running"
        except CodeNavError:
            state = "silent"
    return to_dict(record, state=state, **status)


def _seconds(value: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if value >= 2 * length:
            return f"{value / length:.0f} {unit}"
    return f"{value:.0f} s"
