"""`codenav show`: the source of one block."""

from __future__ import annotations

from typing import Any

import click

from codenav.cli.options import (
    counted,
    on_option,
    one_line,
    print_json,
    reading_options,
    say,
    signature_line,
)
from codenav.cli.sections import SectionedCommand

_NAMED = 3
"""Other definitions of the name that are told."""


@click.command("show", cls=SectionedCommand)
@click.argument("block")
@on_option
@reading_options
def command(block: str, sources: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Print the source of BLOCK below a line that says what and where it is.

    BLOCK is an id, a dotted name, PATH::NAME for the one in that file or folder, or PATH:LINE for the innermost block
    there. A name that stands for several is refused with a list of them; a function is shown, and how many methods
    have its name.

    \b
    Examples:
      codenav show Graph.add_node --on pkg:networkx
      codenav show networkx.shortest_path --on pkg:networkx
      codenav show sql/query.py::Query.join --on pkg:django
      codenav show lib/io.py:30 --on ./my-repo --json
    """
    from codenav.cli.display import opening
    from codenav.navigation import verbs
    from codenav.navigation.calls import reference
    from codenav.navigation.names import place_of

    with opening(sources, options) as keywords:
        found = verbs.show(block, on=sources, **keywords)
    if as_json:
        others = [reference(item) for item in found.others]
        document: dict[str, Any] = {"name": block, "blocks": [item.to_dict() for item in found], "others": others}
        if found.instance_of:
            document["instance_of"] = reference(found.instance_of)
            document["methods"] = [reference(item) for item in found.methods]
        print_json(document)
        return
    for number, item in enumerate(found):
        heading = one_line(f"{item.kind.value} {item.qualname}  {place_of(item)}  {item.source}")
        say(("\n" if number else "") + (f"{heading}  {item.import_line}" if item.import_line else heading))
        say("\n" + item.text.rstrip("\n"))
    if found.instance_of:
        say(f"\nAn instance of {one_line(found.instance_of.qualname)}  {place_of(found.instance_of)}")
        for item in found.methods:
            say(f"  {signature_line(item)}  {one_line(item.path)}:{item.lines.start}")
    if found.others:
        some = ", ".join(f"{item.path}::{item.qualname}" for item in found.others[:_NAMED])
        more = f", … {len(found.others) - _NAMED} more" if len(found.others) > _NAMED else ""
        say(one_line(f"{counted(len(found.others), 'other')} of that name: {some}{more}"), err=True)
