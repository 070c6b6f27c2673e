"""The sources of `codenav tools`: their states, and their operations by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from codenav.cli import completing
from codenav.cli.options import Decorator
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
