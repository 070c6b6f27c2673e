"""Options that several commands share, and how their output is printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from codenav.text import neutral

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

json_option: Decorator = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")

python_option: Decorator = click.option(
    "--python",
    metavar="PATH",
    help="Interpreter or virtual environment in which packages are found and code runs.  "
    "[default: the active virtual environment, else codenav's own]",
)

on_option: Decorator = click.option(
    "--on",
    "sources",
    metavar="SOURCE",
    multiple=True,
    required=True,
    help="Code base: a directory, a file, or pkg:NAME for an installed package. May be given several times.",
)


def print_json(document: Any) -> None:
    """One JSON document on stdout, readable."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def say(text: str, *, err: bool = False) -> None:
    """A line for a person. Names and texts in it are data: what would steer a terminal is shown as an escape."""
    click.echo(neutral(text), err=err)
