"""`codenav show`, `callers`, `callees`, `outline`, `describe`: ways through a code base."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from codenav.cli import completing
from codenav.cli.options import (
    block_line,
    counted,
    json_option,
    on_option,
    one_line,
    print_json,
    reading_options,
    say,
    signature_line,
)

_NAMED = 3
"""Most other definitions of the name that are listed."""

sources_argument = click.argument(
    "sources", metavar="SOURCE...", nargs=-1, required=True, shell_complete=completing.sources
)


@click.command("show")
@click.argument("block")
@on_option()
@reading_options
@json_option
def show(block: str, sources: tuple[str, ...], as_json: bool, **options: Any) -> None:
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


@click.command("callers")
@click.argument("name")
@on_option()
@click.option(
    "--limit", type=click.IntRange(min=0), default=20, show_default=True, metavar="N", help="Callers to print."
)
@reading_options
@json_option
def callers(name: str, sources: tuple[str, ...], limit: int, as_json: bool, **options: Any) -> None:
    """List the blocks that call NAME: certain callers first, those that match by the last part of the name only last.

    In between are calls of a method that may be overridden: the one that runs depends on the class of the object.

    NAME is given as for `codenav show`, or is the full name of something outside the index, such as numpy.mean.

    \b
    Examples:
      codenav callers shortest_path --on pkg:networkx
      codenav callers Graph.add_node --on pkg:networkx --limit 50
      codenav callers numpy.mean --on ./my-repo --json
    """
    from codenav.cli.display import opening
    from codenav.navigation import verbs

    with opening(sources, options) as keywords:
        found = verbs.callers(name, on=sources, limit=limit, **keywords)
    if as_json:
        print_json(found.to_dict())
        return
    for caller in found:
        say(block_line(caller.block, min(line for call in caller.calls for line in call.lines)))
        say("           " + ", ".join(f"{call.name} ({call.evidence.value})" for call in caller.calls)[:200])
    shown = f"{len(found)} of {found.total}" if len(found) < found.total else str(found.total)
    summary = f"{shown} caller{'' if shown == '1' else 's'}: {found.certain} certain, "
    summary += f"{found.possible} of a method that may be overridden, " if found.possible else ""
    summary += f"{found.by_name} by name only"
    if len(found.targets) > 1:
        summary += f"; the name stands for {len(found.targets)} definitions"
    if found.others:
        summary += f"; {found.others} that call another one of that name left out"
    say(summary, err=True)


@click.command("callees")
@click.argument("name")
@on_option()
@click.option(
    "--limit", type=click.IntRange(min=0), default=100, show_default=True, metavar="N", help="Names to print."
)
@reading_options
@json_option
def callees(name: str, sources: tuple[str, ...], limit: int, as_json: bool, **options: Any) -> None:
    """List the callables that NAME calls, with signature and place, and the names that are not in the index.

    NAME is given as for `codenav show`.

    \b
    Examples:
      codenav callees DiGraph.add_edges_from --on pkg:networkx
      codenav callees lib/io.py:30 --on ./my-repo --json
    """
    from codenav.cli.display import opening
    from codenav.navigation import verbs
    from codenav.navigation.resolve import Evidence

    with opening(sources, options) as keywords:
        found = verbs.callees(name, on=sources, limit=limit, **keywords)
    if as_json:
        print_json(found.to_dict())
        return
    for callee in found:
        if callee.call.evidence is Evidence.EXTERNAL:
            continue
        more = callee.candidates - len(callee.blocks)
        say(f"{callee.call.name} ({callee.call.evidence.value})")
        for block in callee.blocks:
            say("  " + block_line(block, block.lines.start))
            if signature := signature_line(block):
                say(f"             {signature}")
        if more > 0:
            say(f"  … {more} more")
    outside = [callee.dotted or callee.call.name for callee in found if callee.call.evidence is Evidence.EXTERNAL]
    if outside:
        say(f"external: {', '.join(outside)}")
    shown = f"{len(found)} of {found.total}" if len(found) < found.total else str(found.total)
    say(f"{shown} name{'' if shown == '1' else 's'}, {len(outside)} external", err=True)


@click.command("outline")
@sources_argument
@click.option("--path", default="", metavar="PATH", help="Show only this folder or file of the sources.")
@click.option(
    "--tokens",
    type=click.IntRange(min=32),
    default=1024,
    show_default=True,
    help="Size of the outline; a token is 4 bytes.",
)
@reading_options
@json_option
def outline(sources: tuple[str, ...], path: str, tokens: int, as_json: bool, **options: Any) -> None:
    """Print a map of code bases: the files that the rest refers to most, and their most central definitions.

    SOURCE is a directory, a file, pkg:NAME, git:URL@REV, openapi:FILE, or name:NAME. Tests and vendored code come last.

    \b
    Examples:
      codenav outline pkg:networkx
      codenav outline pkg:networkx --path algorithms/shortest_paths --tokens 300
      codenav outline ./my-repo --json
    """
    from codenav.cli.display import opening
    from codenav.navigation import verbs

    with opening(sources, options) as keywords:
        outline = verbs.outline(sources, path=path, tokens=tokens, **keywords)
    if as_json:
        print_json(outline.to_dict())
        return
    if outline.files or outline.files_left_out:
        say(str(outline))
    else:
        say("nothing is defined there", err=True)


@click.command("describe")
@sources_argument
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the description to this file, ready for editing.",
)
@reading_options
def describe(sources: tuple[str, ...], out: Path | None, **options: Any) -> None:
    """Print a description of code bases: purpose, layout and entry points, in at most 2,000 characters each.

    It is made by rule from the index, the metadata and the README, and is the default of `codenav run --description`.
    To add what the code cannot tell, write it to a file, edit it, and pass it with --description.

    \b
    Examples:
      codenav describe pkg:networkx
      codenav describe ./my-repo --out description.txt
      codenav run "…" --on ./my-repo --description description.txt
    """
    from codenav.cli.display import opening
    from codenav.navigation.verbs import describe as text_of

    if out and not out.absolute().parent.is_dir():
        raise click.UsageError(f"--out: there is no folder {out.absolute().parent}.")
    with opening(sources, options) as keywords:
        text = text_of(sources, **keywords)
    if out is None:
        say(text)
        return
    try:
        out.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"--out: {out} cannot be written: {error.strerror}.") from error
    say(f"written to {out}", err=True)
