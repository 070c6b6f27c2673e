"""`codenav sources`: the indexes that are there."""

from __future__ import annotations

import click

from codenav.cli.options import json_option, print_json, python_option, say


@click.group("sources")
def command() -> None:
    """List, show and remove indexes.

    \b
    Examples:
      codenav sources list
      codenav sources show pkg:networkx
      codenav sources remove pkg:networkx
    """


@command.command("list")
@json_option
def list_sources(as_json: bool) -> None:
    """List the indexes, one a line.

    \b
    Examples:
      codenav sources list --json
    """
    from codenav.config import indexes_dir
    from codenav.retrieval.catalog import list_indexes

    entries = list_indexes(indexes_dir())
    if as_json:
        print_json([stats.to_dict() for stats in entries])
        return
    for stats in entries:
        size = f"{stats.size_bytes / (1 << 20):.1f} MiB"
        held = f"{stats.files} files, {stats.blocks} blocks, {size}, built {stats.built}"
        say(f"{stats.source}  {stats.notice or held}")
    if not entries:
        say("No index yet. Try: codenav index .", err=True)


@command.command("show")
@click.argument("source")
@python_option
@json_option
def show(source: str, python: str | None, as_json: bool) -> None:
    """Show what the index of SOURCE holds, and which files were skipped and why.

    \b
    Examples:
      codenav sources show pkg:networkx
      codenav sources show ./my-repo --json
    """
    from codenav.indexing import stored_index

    stats = stored_index(source, python=python)
    if as_json:
        print_json(stats.to_dict())
        return
    say(f"{stats.source}: {stats.files} files, {stats.blocks} blocks, built {stats.built}")
    if stats.notice:
        say(stats.notice)
    for title, counts in (("Kinds", stats.kinds), ("Languages", stats.languages), ("Versions", stats.versions)):
        if counts:
            say(f"{title}: " + ", ".join(f"{name} {count}" for name, count in counts.items()))
    if stats.skipped:
        say("Skipped:")
        for skip in stats.skipped:
            say(f"  {(skip.path)}: {skip.reason}")


@command.command("remove")
@click.argument("source")
@python_option
@json_option
def remove(source: str, python: str | None, as_json: bool) -> None:
    """Remove the index of SOURCE. The source itself is not touched.

    \b
    Examples:
      codenav sources remove pkg:networkx
    """
    from codenav.indexing import remove_index

    name = remove_index(source, python=python)
    if as_json:
        print_json({"source": name, "removed": True})
        return
    say(f"removed the index of {name}")
