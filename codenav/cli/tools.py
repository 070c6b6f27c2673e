"""`codenav tools`: operations of OpenAPI files, MCP servers and function lists, without an agent."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from codenav.cli import completing
from codenav.cli.lazy import LazyGroup
from codenav.cli.options import (
    Decorator,
    counted,
    json_option,
    no_refresh_option,
    one_line,
    print_json,
    say,
    set_option,
    setting_option,
)
from codenav.core.errors import NotFound, UsageError

if TYPE_CHECKING:
    from codenav.core.blocks import CodeBlock
    from codenav.tools.layout import State
    from codenav.tools.model import Operation

ANY_SOURCE = "openapi:FILE, mcp:COMMAND or tools:FILE, each also a URL"
tools_option: Decorator = click.option(
    "--on",
    "sources",
    metavar="SOURCE",
    multiple=True,
    required=True,
    shell_complete=completing.sources,
    help="Source of tools: openapi:FILE, mcp:COMMAND or tools:FILE, each also a URL. Repeatable.",
)


@click.group("tools", cls=LazyGroup, modules={"call": "tools_call", "check": "tools_check"})
def command() -> None:
    """Show, call and check the tools of a source: openapi:FILE, mcp:COMMAND or tools:FILE, each also a URL.

    \b
    Examples:
      codenav tools show --on openapi:shop.yaml
      codenav tools show create_order --on openapi:shop.yaml
    """


@command.command("show")
@click.argument("name", required=False)
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


def states_of(sources: Sequence[str], *, secrets: Sequence[str] | None = None, no_refresh: bool = False) -> list[State]:
    """The states of tool sources; a named index stands for those that it has.

    `secrets` (`NAME=VARIABLE`) are for servers that want a token to tell what they have.

    Raises:
        UsageError: a source is not one of tools, or cannot be read; a secret is not NAME=VARIABLE, or for none of them.
        NotFound, Unavailable, StorageFull: as `tools.layout.laid_out`; the variable of a secret is not set.
    """
    from codenav.cli.display import notice
    from codenav.core.config import load_config
    from codenav.core.setting import updated
    from codenav.indexers import index_groups
    from codenav.indexers.git import LOOK_AGAIN
    from codenav.tools import places
    from codenav.tools.layout import laid_out
    from codenav.tools.reading import asking_with
    from codenav.tools.secret_names import check_names
    from codenav.tools.state_files import read_spec_of

    found = []
    options = updated(load_config().tools, {"secret": secrets})
    for source in sources:
        named = source.startswith(index_groups.PREFIX)
        members = index_groups.sources_of(source) if named else [source]
        specs = [one for one in members if places.is_tools(one)]
        if not specs:
            raise UsageError(f"{source} is no source of tools", hint=ANY_SOURCE)
        age = None if no_refresh else LOOK_AGAIN
        with asking_with(options.values()):
            found += [
                laid_out(places.parse(one), max_age=age, notice=notice, allow_private=options.allow_private)
                for one in specs
            ]
    check_names(options.variables(), [read_spec_of(state.path, names=()) for state in found])
    return found


def operations_of(state: State) -> Iterator[tuple[Operation, CodeBlock]]:
    """The operations of a state in the order of its specification, with their blocks."""
    for name in state.summary.operations:
        yield operation_of(state, name)


def operation_of(state: State, name: str) -> tuple[Operation, CodeBlock]:
    """An operation and its block.

    Raises:
        UsageError: its file is gone or damaged.
    """
    from codenav.indexers.place import Place
    from codenav.indexers.tool_blocks import tool_blocks
    from codenav.tools.state_files import OPERATIONS, read_operation

    path = state.summary.operations[name]
    file = state.path / OPERATIONS / path
    try:
        operation = read_operation(file)
        blocks = tool_blocks(file.read_text(encoding="utf-8"), Place(state.place.name, path))
    except (OSError, ValueError, KeyError, TypeError):
        blocks = None
    if not blocks:
        raise UsageError(f"cannot read {file}", hint=f"codenav sources remove {state.place.name}, then index it again")
    return operation, blocks[0]


def find_operation(states: Sequence[State], asked: str) -> tuple[State, str]:
    """The state and the name of an operation: `create_order`, `shop.create_order`, or its name in the specification.

    Raises:
        NotFound: no source has it; the hint has a name like it.
        UsageError: several sources have it.
    """
    wanted = asked.removeprefix("tools.").strip()
    found = [
        (state, name)
        for state in states
        for name in state.summary.operations
        if wanted in (name, f"{state.summary.name}.{name}")
    ]
    if not found:
        found = [
            (state, operation.name)
            for state in states
            for operation, _ in operations_of(state)
            if wanted == operation.id
        ]
    if len(found) > 1:
        names = " or ".join(f"{state.summary.name}.{name}" for state, name in found[:3])
        raise UsageError(f"several sources have {asked}", hint=f"name one: {names}")
    if not found:
        known = [name for state in states for name in state.summary.operations]
        last = wanted.rpartition(".")[2]
        near = difflib.get_close_matches(last, known, n=2, cutoff=0.5) or [name for name in known if last in name][:2]
        where = " ".join(state.place.name for state in states)
        hint = f"did you mean {' or '.join(near)}?" if near else f"codenav tools show --on {where}"
        raise NotFound(f"no tool {asked!r}", hint=hint)
    return found[0]
