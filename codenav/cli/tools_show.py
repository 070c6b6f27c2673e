"""`codenav tools show`: one operation of a tool source."""

from __future__ import annotations

import click

from codenav.cli import completing
from codenav.cli.options import json_option, one_line, print_json, say
from codenav.cli.tool_options import secret_option
from codenav.cli.tool_sources import find_operation, no_refresh_option, operation_of, private_option, states_of


@click.command("show")
@click.argument("name", shell_complete=completing.tools)
@click.option(
    "--on",
    "sources",
    metavar="SOURCE",
    multiple=True,
    required=True,
    shell_complete=completing.sources,
    help="Source of tools: openapi:FILE, mcp:COMMAND or tools:FILE, each also a URL. Repeatable.",
)
@secret_option
@no_refresh_option
@private_option
@json_option
def command(
    name: str, sources: tuple[str, ...], secrets: tuple[str, ...], no_refresh: bool, allow_private: bool, as_json: bool
) -> None:
    """Print the operation NAME as code sees it: import line, signature and docstring.

    NAME is create_order, shop.create_order, or the name that the specification has for it.

    \b
    Examples:
      codenav tools show create_order --on openapi:shop.yaml
      codenav tools show shop.create_order --on openapi:shop.yaml --json
    """
    states = states_of(sources, secrets=secrets, no_refresh=no_refresh, allow_private=allow_private)
    state, found = find_operation(states, name)
    operation, block = operation_of(state, found)
    if as_json:
        print_json(
            {"name": f"{state.summary.name}.{found}", "block": block.to_dict(), "operation": operation.to_dict()}
        )
        return
    say(one_line(f"TOOL {state.summary.name}.{found}  {operation.effect.value}  {state.place.name}"))
    say(block.import_line)
    if any(operation.security):
        wanted = " or ".join(" with ".join(names) or "none" for names in operation.security)
        say(one_line(f"Secrets (--secret NAME=VARIABLE): {wanted}"))
    say(f"\n{block.signature}\n")
    for line in block.docstring.splitlines():
        say(f"    {line}".rstrip())
