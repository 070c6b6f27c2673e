"""The options of the commands that run an agent: its server, limits, sandbox, tools, prompts and checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from codenav.cli.options import Seconds, default_of, sandbox_options, with_options
from codenav.cli.sections import section
from codenav.cli.tool_options import tool_options
from codenav.core.config import load_config
from codenav.core.options import PROFILES

if TYPE_CHECKING:
    from codenav.core.limits import Limits

base_url_option = click.option(
    "--base-url", metavar="URL", help="OpenAI-compatible server. The key is read from OPENAI_API_KEY."
)

_OPTIONS = (
    base_url_option,
    click.option(
        "--profile",
        type=click.Choice(PROFILES),
        help=f"Prompts for a small or a large model; auto goes by its size. {default_of('profile')}",
    ),
    click.option(
        "--tries",
        type=click.IntRange(min=1),
        metavar="N",
        help="Scripts drawn for each step of a small model; the result that most give counts. [default: 3 if local]",
    ),
    section(
        "Limits",
        click.option(
            "--max-steps",
            type=click.IntRange(min=0),
            metavar="N",
            help=f"Most actions of an episode; 0 is no limit. {default_of('limit_steps')}",
        ),
        click.option(
            "--max-seconds",
            type=Seconds(min=0),
            help=f"Most seconds of an episode; 0 is no limit. {default_of('limit_seconds')}",
        ),
        click.option(
            "--max-tokens",
            type=click.IntRange(min=0),
            metavar="N",
            help=f"Most tokens of an episode, of all model calls; 0 is no limit. {default_of('limit_tokens')}",
        ),
    ),
    section(
        "Sandbox",
        click.option(
            "--sandbox",
            type=click.Choice(["auto", "docker", "bubblewrap", "process"]),
            help=f"Sandbox of the code; process contains nothing. {default_of('sandbox')}",
        ),
    ),
    sandbox_options,
    tool_options,
    section(
        "Prompts and checks",
        click.option("--prompts", metavar="DIR", help="Folder with prompt files of your own; see codenav prompt copy."),
        click.option("--format/--no-format", default=None, help="Format each step with black. [default: no]"),
        click.option("--lint/--no-lint", default=None, help="Check each step with flake8. [default: yes; no if small]"),
        click.option("--types/--no-types", default=None, help="Check each step with mypy. [default: yes; no if small]"),
    ),
)


def agent_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of an agent. Their values are keywords of `codenav.run`, but for those of `limits_of`."""
    return with_options(_OPTIONS, command)


def limits_of(options: Mapping[str, Any]) -> Limits:
    """Return the limits of an episode, with configured values for those that were not given."""
    return load_config().limits(
        steps=options["max_steps"], seconds=options["max_seconds"], tokens=options["max_tokens"]
    )
