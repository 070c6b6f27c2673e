"""`codenav elasticsearch`: a local server, run through Docker."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from codenav.cli.options import Seconds, json_option, print_json, say

if TYPE_CHECKING:
    from codenav.retrieval.elastic.container import Container


@click.group("elasticsearch")
def command() -> None:
    """Run an Elasticsearch on this machine, in Docker.

    It listens on 127.0.0.1 only and asks for a password. Whatever takes --store elasticsearch uses it by itself,
    where no --elasticsearch-url is named.

    \b
    Examples:
      codenav elasticsearch up
      codenav index . --store elasticsearch
      codenav elasticsearch status
      codenav elasticsearch down
    """


@command.command("up")
@click.option("--image", metavar="IMAGE", help="Docker image.  [default: the vendor's, version 8.19.8]")
@click.option("--port", type=click.IntRange(1, 65535), metavar="N", help="Port on 127.0.0.1.  [default: 9200]")
@click.option(
    "--memory", metavar="SIZE", default="1g", show_default=True, help="Memory of the server; half of it is the heap."
)
@click.option("--wait", type=Seconds(min=1), default=180, show_default=True, help="Time to wait for the first answer.")
@click.option("--show-password", is_flag=True, help="Also print the password of the user elastic.")
def up(image: str | None, port: int | None, memory: str, wait: float, show_password: bool) -> None:
    """Start the server and wait until it answers. If it runs already, say so.

    The data are kept in the Docker volume codenav-elasticsearch and outlive the server.

    \b
    Exit codes: 0 it runs, 2 it runs with another image or port, 4 it cannot run here.

    \b
    Examples:
      codenav elasticsearch up
      codenav elasticsearch up --port 9201 --memory 4g
    """
    from codenav.retrieval.elastic.local_server import USER, remembered

    with _container() as container:
        status, started = container.up(image=image, port=port, memory=memory, patience=wait)
    say(f"Elasticsearch {status['version']} {'answers' if started else 'already runs'} at {status['url']}")
    server = remembered()
    if show_password and server:
        say(f"User {USER}, password {server.password}")
    say("Next: codenav index . --store elasticsearch")


@command.command("down")
@click.option("--delete-data", is_flag=True, help="Also delete all its indexes.")
def down(delete_data: bool) -> None:
    """Stop the server and remove its container. Its data stay for the next `up`.

    \b
    Examples:
      codenav elasticsearch down
      codenav elasticsearch down --delete-data
    """
    with _container() as container:
        stopped = container.down(delete_data=delete_data)
    say("Elasticsearch stopped." if stopped else "Elasticsearch was not running.")
    if delete_data:
        say("Its data are deleted.")


@command.command("status")
@json_option
def status(as_json: bool) -> int:
    """Tell whether the server runs, where, and how it is.

    \b
    Exit codes: 0 it runs, 1 it does not, 4 no Docker.

    \b
    Examples:
      codenav elasticsearch status --json
    """
    with _container() as container:
        found = container.status()
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
