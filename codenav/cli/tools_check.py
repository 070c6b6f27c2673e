"""`codenav tools check`: a check of a tool source, whose findings lower the weights of its tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from codenav.cli import completing
from codenav.cli.options import (
    counted,
    json_option,
    one_line,
    print_json,
    say,
    set_option,
    setting_option,
)
from codenav.core.errors import UsageError

if TYPE_CHECKING:
    from codenav.core.options import ToolOptions
    from codenav.tools.broker.checks import Row
    from codenav.tools.places import Place

MOST = 20
"""Rows of one kind that are printed if they are not in order; the others are counted."""


@click.command("check")
@click.argument("source", shell_complete=completing.sources)
@click.option("--no-network", is_flag=True, help="Ask no server: only the document and the descriptions are checked.")
@click.option("--strict", is_flag=True, help="Name the tools that strict=yes leaves out of a run; any is exit code 1.")
@setting_option("secret")
@setting_option("server")
@set_option
@json_option
def command(
    source: str,
    no_network: bool,
    strict: bool,
    secret: Sequence[str] | None,
    server: str | None,
    as_json: bool,
) -> int:
    """Check SOURCE: its document, its servers, a trial of each tool that only reads, and its descriptions.

    The document is compared with its specification, each server is asked once, each tool that only reads is called
    with example arguments and its answer is compared with its schema. Descriptions are rated from 1 to 3 for
    completeness and readability. What is found lowers the weights of tools in searches.

    \b
    Exit codes: 0 all in order, 1 something is not, 4 a server cannot be reached or refuses us.
    Descriptions count with --strict only.

    \b
    Examples:
      codenav tools check openapi:shop.yaml
      codenav tools check openapi:shop.yaml --no-network --strict
      codenav tools check openapi:http://localhost:8000/openapi.json --secret shop_key=SHOP_KEY --json
    """
    from codenav.core.config import load_config
    from codenav.core.setting import updated
    from codenav.tools import places

    if not places.is_tools(source):
        raise UsageError(
            f"{source} is no source of tools", hint="openapi:FILE, mcp:COMMAND or tools:FILE, each also a URL"
        )
    options = updated(load_config().tools, {"secret": secret, "server": server}).checked()
    found: list[Row] = []
    for row in _rows(places.parse(source), options, network=not no_network):
        found.append(row)
        if not as_json:
            _show(row, found)
    if as_json:
        print_json([row.to_dict() for row in found])
    else:
        _summary(found)
        if strict:
            _show_wanting(places.parse(source))
    return _exit_code(found, strict=strict)


def _rows(place: Place, options: ToolOptions, *, network: bool) -> Iterator[Row]:
    from codenav.tools.broker.checks import DOCUMENT, Row, document_rows, note_rows, rows
    from codenav.tools.layout import laid_out

    # Without the network the state that was read last serves for a server; a file is read again in any case.
    asked = network or place.file is not None
    found = list(document_rows(place, allow_private=options.allow_private)) if asked else []
    yield from found
    try:
        state = laid_out(place, max_age=0.0 if asked else None, allow_private=options.allow_private)
    except UsageError as error:
        if not found:
            raise
        yield Row(DOCUMENT, False, str(error), "it is not indexed")
        return
    noted = list(note_rows(state.summary.notes, [row.name for row in found]))
    yield from noted or ([] if found else [Row(DOCUMENT, True, "as its specification says")])
    yield from rows(state, options, network=network)


def _show(row: Row, found: Iterable[Row]) -> None:
    """Print a row; of a kind with many that are not in order, the first ones."""
    wanting = sum(one.kind == row.kind and not one.ok for one in found)
    if row.kind == "description" and row.ok:
        return
    if not row.ok and wanting > MOST:
        if wanting == MOST + 1:
            say(f"          … more of {row.kind}: --json shows all")
        return
    say(one_line(f"{'ok      ' if row.ok else 'wanting '}  {row.name}  {row.detail}"))
    if row.hint:
        say(one_line(f"          → {row.hint}"))


def _summary(found: list[Row]) -> None:
    for kind, what in (
        ("document", "violation"), ("server", "server"), ("trial", "trial"), ("description", "description"),
    ):  # fmt: skip
        rows = [row for row in found if row.kind == kind]
        if kind == "document" or not rows:
            continue
        good = sum(row.ok for row in rows)
        say(f"{good} of {counted(len(rows), what)} in order")


def _show_wanting(place: Place) -> None:
    """Name the tools that a strict run leaves out."""
    from codenav.core.errors import NotFound
    from codenav.tools import weights
    from codenav.tools.layout import laid_out

    try:
        state = laid_out(place, max_age=None)
    except NotFound:
        # Its document is not indexed at all.
        return
    checks = weights.read(state.path)
    lower = [name for name, path in state.summary.operations.items() if path in checks and checks[path].weight < 1]
    if lower:
        say(one_line(f"strict leaves out: {', '.join(lower)}"))


def _exit_code(found: list[Row], *, strict: bool) -> int:
    """0 if all is in order, 4 if no more is wrong than that someone does not answer or refuses us, else 1."""
    wrong = [row for row in found if not row.ok and (strict or row.kind != "description")]
    if not wrong:
        return 0
    return 4 if all(row.kind == "server" or "--secret" in row.hint for row in wrong) else 1
