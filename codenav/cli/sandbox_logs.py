"""`codenav sandbox logs`: the steps that ran in a named sandbox."""

from __future__ import annotations

from typing import Any

import click

from codenav.cli.options import json_option, print_json, say
from codenav.cli.steps import Room, called
from codenav.core.execution import ExecutionError, ToolCall


@click.command("logs")
@click.argument("name")
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Show only the last N steps.")
@json_option
def command(name: str, tail: int | None, as_json: bool) -> None:
    """Show the steps that ran in the sandbox NAME with their output, oldest first.

    Values of --env and --secret are masked. The log keeps the last 8 to 16 MiB.

    \b
    Examples:
      codenav sandbox logs lab
      codenav sandbox logs lab --tail 1 --json
    """
    from codenav.sandboxes.daemon import places, steps

    if places.Record.read(places.checked_name(name)) is None:
        places.record_of(name)
    found = list(steps.read(places.folder_of(name)))
    found = found if tail is None else found[len(found) - min(tail, len(found)) :]
    if as_json:
        print_json(found)
        return
    for step in found:
        _show(step)


def _show(step: dict[str, Any]) -> None:
    execution = step["execution"]
    say(f"{step['number']}. {step['at']}  {execution['outcome']}, {execution['seconds']:.2f} s")
    for line in step["code"].rstrip("\n").split("\n"):
        say(f"    {line}")
    calls = [ToolCall.from_dict(item) for item in step.get("calls", ())]
    for call in called(calls, Room.of_terminal()):
        say(f"  | {call.text.strip()}")
    error = ExecutionError(**execution["error"]) if execution["error"] else None
    told = [execution["stdout"], execution["stderr"], execution["late_output"]]
    told.append(f"{error.type}: {error.message}" if error else "")
    told.append(f"Note: {execution['notice']}" if execution["notice"] else "")
    told += [f"[{item['mime']}, {item['bytes']} bytes]" for item in execution["displays"]]
    for text in filter(None, told):
        for line in text.rstrip("\n").split("\n"):
            say(f"  | {line}")
