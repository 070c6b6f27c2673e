"""`codenav sandbox`: sandboxes on their own, without an agent."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from codenav.cli.lazy import LazyGroup
from codenav.cli.options import counted, duration_text, json_option, print_json, say
from codenav.core.errors import CodeNavError, Unavailable
from codenav.core.execution import ToolCall

if TYPE_CHECKING:
    from codenav.sandboxes.daemon.places import Record
    from codenav.sandboxes.sweeper import Leftover

COMMANDS: dict[str, str] = {
    "build": "sandbox_build",
    "start": "sandbox_start",
    "exec": "sandbox_exec",
    "cp": "sandbox_cp",
}
"""Command name to module of this package, whose attribute `command` is the command."""


@click.group("sandbox", cls=LazyGroup, modules=COMMANDS)
def command() -> None:
    """Run code in sandboxes of your own, without a model.

    A sandbox that was started keeps its variables from one command to the next, until it is stopped.

    \b
    Examples:
      codenav sandbox start --name lab
      codenav sandbox exec lab -c "x = 1"
      codenav sandbox exec lab -c "x + 1"
      codenav sandbox stop lab
    """


@command.command("ps")
@click.argument("name", required=False)
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="With NAME: show only its last N steps.")
@json_option
def ps(name: str | None, tail: int | None, as_json: bool) -> None:
    """List the sandboxes that were started and not stopped, oldest first.

    With NAME the steps that ran in that sandbox with their output. Values of --env and --secret are masked. The log
    keeps the last 8 to 16 MiB.

    \b
    Examples:
      codenav sandbox ps
      codenav sandbox ps lab
      codenav sandbox ps lab --tail 1 --json
    """
    from codenav.sandboxes.daemon import places

    if name is not None:
        _show_steps(name, tail, as_json)
        return
    rows = [row_of(record) for record in places.records()]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        where = row["image"] or f"Python {row['python_version']}" if row["python_version"] else ""
        state = row["state"]
        if state == "running":
            state = f"running for {duration_text(row['running_seconds'])}"
        elif state == "idle":
            state = f"idle for {duration_text(row['idle_seconds'])}"
        steps = f"  {counted(row['steps'], 'step')}" if row["steps"] is not None else ""
        say(f"{row['name']:<12} {row['backend']:<10} {state:<20} {where}{steps}")
    if not rows:
        say("No sandbox. Try: codenav sandbox start", err=True)


@command.command("checkpoint")
@click.argument("name")
@click.option(
    "--restore",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    help="Take up the variables of that checkpoint again, which stays.",
)
@json_option
def checkpoint(name: str, restore: int | None, as_json: bool) -> None:
    """Keep the variables of the sandbox NAME as they are now; print the number of the checkpoint.

    Files are not part of it. Each is a frozen process: of more than the sandbox may keep the oldest is dropped.

    \b
    Exit codes: 0 done, 2 there is no such sandbox or checkpoint.

    \b
    Examples:
      codenav sandbox checkpoint lab
      codenav sandbox checkpoint lab --restore 3
    """
    from codenav.sandboxes.daemon.client import connect

    with connect(name) as box:
        notice = box.restore(restore) if restore else ""
        number = restore or box.checkpoint()
    if as_json:
        print_json({"number": number, "notice": notice} if restore else {"number": number})
    elif notice or not restore:
        say(notice or str(number))


@command.command("stop")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--all", "everything", is_flag=True, help="Stop every sandbox that ps shows.")
@click.option("--force", is_flag=True, help="Kill a running step at once instead of giving it a second.")
@click.option("--leftovers", is_flag=True, help="Remove what killed processes left behind, and list it.")
@click.option("--dry-run", is_flag=True, help="With --leftovers: show what would be removed, and remove nothing.")
@json_option
def stop(names: tuple[str, ...], everything: bool, force: bool, leftovers: bool, dry_run: bool, as_json: bool) -> int:
    """Stop the sandboxes NAME and everything that runs in them, and remove their containers, files and logs.

    Files that were copied out stay, and so does a --work-dir.

    Leftovers are containers on the engine at DOCKER_HOST if one answers, control groups and temporary folders of this
    machine, and the folders of named sandboxes under CODENAV_HOME, work folders included. Whatever belongs to a living
    process, or to a process on another machine, stays.

    \b
    Exit codes: 0 done, 1 something could not be removed, 2 no such sandbox.

    \b
    Examples:
      codenav sandbox stop lab
      codenav sandbox stop --all
      codenav sandbox stop --leftovers --dry-run
    """
    if [bool(names), everything, leftovers].count(True) != 1:
        raise click.UsageError("name a sandbox, or --all, or --leftovers.")
    if (dry_run or as_json) and not leftovers:
        raise click.UsageError("--dry-run and --json go with --leftovers.")
    if leftovers:
        return _prune(dry_run, as_json)
    from codenav.sandboxes.daemon import places
    from codenav.sandboxes.daemon.client import stop

    for name in [record.name for record in places.records()] if everything else names:
        stop(name, force=force)
        say(f"stopped {name}")
    return 0


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


def _show_steps(name: str, tail: int | None, as_json: bool) -> None:
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
    from codenav.cli.steps import Line, Room, call_lines, run_lines

    room, execution = Room(), step["execution"]
    calls = [ToolCall.from_dict(item) for item in step.get("calls", ())]
    pictures = [Line(f"   [{item['mime']}, {item['bytes']} bytes]") for item in execution["displays"]]
    say(f"{step['number']}. {step['at']}")
    code = [*room.block(step["code"]), Line("   ──")]
    for line in (*code, *call_lines(calls, Room.of_terminal()), *run_lines(execution, room), *pictures):
        say(line.text)


def _prune(dry_run: bool, as_json: bool) -> int:
    """Remove what killed processes left behind, and return the exit code."""
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
