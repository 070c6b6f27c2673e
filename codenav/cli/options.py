"""Options that several commands share, and how their output is printed."""

from __future__ import annotations

import contextlib
import json
import math
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


class Seconds(click.FloatRange):
    """A duration: a number, not `inf` or `nan`, of at most a day."""

    name = "seconds"

    def __init__(self, *, min: float, min_open: bool = False) -> None:
        super().__init__(min=min, max=86_400, min_open=min_open)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """As click does; `nan` is in no range and would pass every comparison."""
        seconds = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a number of seconds.", param, ctx)
        return seconds


def print_json(document: Any) -> None:
    """One JSON document on stdout, readable."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def say(text: str, *, err: bool = False) -> None:
    """A line for a person. Names and texts in it are data: what would steer a terminal is shown as an escape.

    What cannot be told on stderr is not told: the answer on stdout must not be lost for it.
    """
    with contextlib.suppress(*([OSError] if err else [])):
        click.echo(neutral(text), err=err)
