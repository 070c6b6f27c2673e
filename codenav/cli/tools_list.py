"""`codenav tools list`: the operations of tool sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from codenav.cli import completing
from codenav.cli.options import counted, json_option, one_line, print_json, say
from codenav.cli.tool_options import secret_option
from codenav.cli.tool_sources import no_refresh_option, operations_of, private_option, states_of

if TYPE_CHECKING:
    from codenav.tools.layout import State
    from codenav.tools.model import Operation


@click.command("list")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...", shell_complete=completing.sources)
@secret_option
@no_refresh_option
@private_option
@json_option
def command(
    sources: tuple[str, ...], secrets: tuple[str, ...], no_refresh: bool, allow_private: bool, as_json: bool
) -> None:
    """List the operations of each SOURCE: name, effect, and what it does.

    SOURCE is openapi:FILE, mcp:COMMAND or tools:FILE, each also with a URL, or a name:NAME that has some.

    \b
    Examples:
      codenav tools list openapi:shop.yaml
      codenav tools list mcp:'python server.py' --json
    """
    states = states_of(sources, secrets=secrets, no_refresh=no_refresh, allow_private=allow_private)
    if as_json:
        print_json(
            [_row(state, operation, block.signature) for state in states for operation, block in operations_of(state)]
        )
        return
    for state in states:
        _show(state)


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


def _show(state: State) -> None:
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
