"""The options of the commands whose code calls tools: secrets, gates, and the form of answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from codenav.cli.options import default_of, long_option, with_options
from codenav.cli.sections import section
from codenav.core.options import GATES, LEAST_ANSWER, MOST_ANSWER, ToolOptions

secret_option = click.option(
    *long_option(ToolOptions, "secrets"),
    metavar="NAME=VARIABLE",
    multiple=True,
    help="Secret NAME of a tool source, from the environment variable VARIABLE; NAME may be a header, "
    "'Authorization: Bearer {}'. The code never sees it. Repeatable.",
)
allow_option = click.option(
    "--allow",
    type=click.Choice(GATES),
    help="Calls to tools that the code may make: those that only read; also those that write; all, deleting ones too; "
    f"or ask, for each that does more than read.  {default_of('allow')}",
)
server_option = click.option("--server", metavar="URL", help="Server of the tools, in place of those that they name.")
allow_private_option = click.option(
    "--allow-private", is_flag=True, default=None, help="Tool sources may name files and servers on private addresses."
)

timeout_option = click.option(
    "--tool-timeout",
    type=float,
    metavar="SECONDS",
    help=f"Longest call to a tool, with the start of its server.  {default_of('tool_timeout')}",
)

_CALLING = section("Tools", secret_option, allow_option, server_option, allow_private_option, timeout_option)
_SHOWN = section(
    "Tools",
    click.option(
        "--compress",
        metavar="MODEL",
        help="Model that names the fields of a tool's long answers worth showing.  [default: rules do]",
    ),
    click.option(
        "--answer-characters",
        type=click.IntRange(LEAST_ANSWER, MOST_ANSWER),
        metavar="N",
        help=f"Most characters of a tool's answer in what the model is shown.  {default_of('answer_characters')}",
    ),
    click.option("--strict", is_flag=True, default=None, help="Leave out tools that a check found wanting."),
)


def calling_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of calls to tools: `secrets`, `allow`, `server`, `allow_private`, as in `ToolOptions`."""
    return _CALLING(command)


def tool_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add all options of tools that can be typed. Their values are keywords of `ToolOptions`."""
    return with_options((_CALLING, _SHOWN), command)
