"""`codenav elasticsearch`: a local server, run through Docker."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from codenav.cli.options import Duration, print_json, say

if TYPE_CHECKING:
    from codenav.retrieval.elastic.container import Container


@click.command("elasticsearch")
@click.argument("action", type=click.Choice(["up", "down", "status"]))
@click.option("--image", metavar="IMAGE", help="up: Docker image.  [default: the vendor's, version 8.19.8]")
@click.option("--port", type=click.IntRange(1, 65535), metavar="N", help="up: port on 127.0.0.1.  [default: 9200]")
@click.option("--memory", metavar="SIZE", help="up: memory of the server; half of it is the heap.  [default: 1g]")
@click.option("--wait", type=Duration(least=1, most=86_400), help="up: time for the first answer.  [default: 180s]")
@click.option("--show-password", is_flag=True, help="up: also print the password of the user elastic.")
@click.option("--delete-data", is_flag=True, help="down: also delete all its indexes.")
@click.option("--json", "as_json", is_flag=True, help="status: print one JSON document on stdout.")
def command(action: str, **options: Any) -> int:
    """Run an Elasticsearch on this machine, in Docker.

    up starts the server and waits until it answers; down stops it and removes its container; status tells whether it
    runs, where, and how it is. The data are kept in the Docker volume codenav-elasticsearch and outlive the server. It
    listens on 127.0.0.1 only and asks for a password. Whatever takes --store elasticsearch uses it by itself, where no
    elasticsearch.url is set.

    \b
    Exit codes: 0 done, 1 status: it does not run, 2 up: it runs with another image or port,
    4 it cannot run here.

    \b
    Examples:
      codenav elasticsearch up --port 9201 --memory 4g
      codenav index . --store elasticsearch
      codenav elasticsearch status --json
      codenav elasticsearch down --delete-data
    """
    own = {"up": ("image", "port", "memory", "wait", "show_password"), "down": ("delete_data",), "status": ("as_json",)}
    for name, value in options.items():
        if value and name not in own[action]:
            raise click.UsageError(f"{action} takes no --{name.removeprefix('as_').replace('_', '-')}.")
    with _container() as container:
        if action == "up":
            _up(container, options)
        elif action == "down":
            stopped = container.down(delete_data=options["delete_data"])
            say("Elasticsearch stopped." if stopped else "Elasticsearch was not running.")
            if options["delete_data"]:
                say("Its data are deleted.")
        else:
            return _tell(container.status(), options["as_json"])
    return 0


def _up(container: Container, options: dict[str, Any]) -> None:
    from codenav.retrieval.elastic.local_server import USER, remembered

    status, started = container.up(
        image=options["image"],
        port=options["port"],
        memory=options["memory"] or "1g",
        patience=options["wait"] or 180.0,
    )
    say(f"Elasticsearch {status['version']} {'answers' if started else 'already runs'} at {status['url']}")
    server = remembered()
    if options["show_password"] and server:
        say(f"User {USER}, password {server.password}")
    say("Next: codenav index . --store elasticsearch")


def _tell(found: dict[str, Any], as_json: bool) -> int:
    """Print the state of the server, and return the exit code."""
    if as_json:
        print_json(found)
    elif not found["running"]:
        say("Elasticsearch is down" + (f"; its data are in the volume {found['volume']}." if found["volume"] else "."))
        say("Try: codenav elasticsearch up", err=True)
    else:
        say(f"Elasticsearch {found['version']}".strip() + f" at {found['url']}: {found['health']}")
        size = f"{found['size_bytes'] / (1 << 20):.1f} MiB"
        say(f"{size} of indexes in the volume {found['volume']}, image {found['image']}")
    return 0 if found["running"] else 1


@contextmanager
def _container() -> Iterator[Container]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress

    from codenav.retrieval.elastic.container import Container

    quiet = not sys.stderr.isatty()
    with Progress(BarColumn(), DownloadColumn(), console=Console(stderr=True), transient=True, disable=quiet) as bar:
        task = bar.add_task("", visible=False)
        container = Container(
            tell=lambda line: say(line, err=True),
            pulled=lambda done, total: bar.update(task, completed=done, total=total, visible=True),
        )
        with contextlib.closing(container):
            yield container
