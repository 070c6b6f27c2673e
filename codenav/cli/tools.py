"""`codenav tools`: operations of OpenAPI files, MCP servers and function lists, without an agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from codenav.cli import completing
from codenav.cli.lazy import LazyGroup
from codenav.cli.options import (
    counted,
    json_option,
    no_refresh_option,
    one_line,
    print_json,
    say,
    set_option,
    setting_option,
)
from codenav.cli.tool_sources import find_operation, operation_of, operations_of, states_of, tools_option

if TYPE_CHECKING:
    from codenav.tools.layout import State
    from codenav.tools.model import Operation


@click.group("tools", cls=LazyGroup, modules={"call": "tools_call", "check": "tools_check"})
def command() -> None:
    """Show, call and check the tools of a source: openapi:FILE, mcp:COMMAND or tools:FILE, each also a URL.

    \b
    Examples:
      codenav tools show --on openapi:shop.yaml
      codenav tools show create_order --on openapi:shop.yaml
    """


@command.command("show")
@click.argument("name", required=False, shell_complete=completing.tools)
@tools_option
@setting_option("secret")
@no_refresh_option
@set_option
@json_option
def show(
    name: str | None,
    sources: tuple[str, ...],
    secret: Sequence[str] | None,
    no_refresh: bool,
    as_json: bool,
) -> None:
    """List the operations of sources: name, effect, and what each does.

    With NAME one of them as code sees it, import line, signature and docstring: create_order, shop.create_order, or
    the name that the specification has for it.

    \b
    Examples:
      codenav tools show --on openapi:shop.yaml
      codenav tools show shop.create_order --on openapi:shop.yaml --json
    """
    states = states_of(sources, secrets=secret, no_refresh=no_refresh)
    if name:
        _show_one(states, name, as_json)
    elif as_json:
        print_json(
            [_row(state, operation, block.signature) for state in states for operation, block in operations_of(state)]
        )
    else:
        for state in states:
            _show_all(state)


def _show_one(states: Sequence[State], name: str, as_json: bool) -> None:
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


def _row(state: State, operation: Operation, signature: str) -> dict[str, Any]:
    from codenav.tools.describing import title_of

    return {
        "source": state.place.name,
        "name": f"{state.summary.name}.{operation.name}",
        "id": operation.id,
        "group": operation.group,
        "title": title_of(operation),
        "effect": operation.effect.value,
        "method": operation.method,
        "path": operation.path,
        "deprecated": operation.deprecated,
        "signature": signature,
    }


def _show_all(state: State) -> None:
    from codenav.tools.secret_names import scheme_texts
    from codenav.tools.state_files import read_spec_of

    summary = state.summary
    title = " ".join(filter(None, [summary.title, summary.version]))
    held = counted(len(summary.operations), "tool")
    say(one_line(f"tools.{summary.name}  {held}  {state.place.name}" + (f"  {title}" if title else "")))
    rows = [_row(state, operation, "") for operation, _ in operations_of(state)]
    width = min(max((len(row["name"]) for row in rows), default=0), 48)
    for row in rows:
        what = row["title"] + (" (deprecated)" if row["deprecated"] else "")
        say(one_line(f"  {row['name']:<{width}}  {row['effect']:<7}  {what}"))
    secrets = ", ".join(scheme_texts(read_spec_of(state.path, names=())))
    if secrets:
        say(one_line(f"Secrets (--secret NAME=VARIABLE): {secrets}"))
    for note in summary.notes:
        say(f"Note: {one_line(note)}", err=True)
