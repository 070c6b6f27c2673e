"""`codenav tools`: operations of OpenAPI files, MCP servers and function lists, without an agent."""

from __future__ import annotations

import click

from codenav.cli.lazy import LazyGroup

COMMANDS: dict[str, str] = {
    "call": "tools_call",
    "check": "tools_check",
    "list": "tools_list",
    "show": "tools_show",
}
"""Command name to module of this package, whose attribute `command` is the command."""


@click.group("tools", cls=LazyGroup, modules=COMMANDS)
def command() -> None:
    """List, show, call and check the tools of a source: openapi:FILE, mcp:COMMAND or tools:FILE, each also a URL.

    \b
    Examples:
      codenav tools list openapi:shop.yaml
      codenav tools show create_order --on openapi:shop.yaml
    """
