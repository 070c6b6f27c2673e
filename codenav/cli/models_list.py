"""`codenav models list`: the catalogue, and what of it is here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from codenav.cli.options import json_option, print_json, say

if TYPE_CHECKING:
    from codenav.agents.models.local.catalogue import Entry
    from codenav.agents.models.local.serving import Server


@click.command("list")
@json_option
def command(as_json: bool) -> None:
    """List the models of the catalogue, with those that are installed or running, and the files that are served.

    \b
    Examples:
      codenav models list
      codenav models list --json
    """
    from codenav.agents.models.local import catalogue, serving

    entries, servers = catalogue.entries().values(), serving.running()
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
