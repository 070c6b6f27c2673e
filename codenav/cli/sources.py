"""`codenav sources`: the indexes in the store."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click

from codenav.cli import completing
from codenav.cli.lazy import LazyGroup
from codenav.cli.options import counted, json_option, one_line, place_options, print_json, say

if TYPE_CHECKING:
    from codenav.core.protocols import Store


@click.group("sources", cls=LazyGroup)
def command() -> None:
    """List and remove indexes.

    \b
    Examples:
      codenav sources list
      codenav sources list pkg:networkx
      codenav sources remove pkg:networkx
    """


@command.command("list")
@click.argument("source", required=False, shell_complete=completing.indexes)
@place_options
@json_option
def list_sources(source: str | None, python: str | None, store: str | None, as_json: bool) -> None:
    """List the indexes, one a line. With SOURCE, what its index holds, and which files were skipped and why.

    \b
    Examples:
      codenav sources list
      codenav sources list pkg:networkx
      codenav sources list ./my-repo --json
    """
    with closing(_store(store)) as opened:
        if source is not None:
            _show(source, python, opened, as_json)
            return
        entries = opened.list()
    if as_json:
        print_json([stats.to_dict() for stats in entries])
        return
    for stats in entries:
        size = f"{stats.size_bytes / (1 << 20):.1f} MiB"
        held = f"{counted(stats.files, 'file')}, {counted(stats.blocks, 'block')}, {size}, built {stats.built}"
        say(f"{one_line(stats.source)}  {stats.notice or held}")
    if not entries:
        say("No index yet. Try: codenav index .", err=True)


def _show(source: str, python: str | None, store: Store, as_json: bool) -> None:
    """Print what an index holds."""
    from codenav.retrieval.source_index import parts_of, stored_index

    stats = stored_index(source, python=python, store=store)
    parts = parts_of(stats.source)
    if as_json:
        print_json({**stats.to_dict(), "parts": parts})
        return
    held = f"{counted(stats.files, 'file')}, {counted(stats.blocks, 'block')}, built {stats.built}"
    say(f"{one_line(stats.source)}: {held if stats.built else 'unreadable'}")
    if parts:
        say(f"Sources: {', '.join(map(one_line, parts))}")
    if stats.notice:
        say(stats.notice)
    for title, counts in (("Kinds", stats.kinds), ("Languages", stats.languages), ("Versions", stats.versions)):
        if counts:
            say(f"{title}: " + ", ".join(f"{name} {count}" for name, count in counts.items()))
    for title, skips in (
        ("Skipped or cut", [skip for skip in stats.skipped if not skip.is_kind]),
        ("Languages that are not read", [skip for skip in stats.skipped if skip.is_kind]),
    ):
        if skips:
            say(f"{title}, {len(skips)}:")
        for skip in sorted(skips, key=lambda skip: skip.path):
            say(f"  {one_line(skip.path)}: {one_line(skip.reason)}")


@command.command("remove")
@click.argument("source", shell_complete=completing.indexes)
@place_options
@json_option
def remove(source: str, python: str | None, store: str | None, as_json: bool) -> None:
    """Remove the index of SOURCE. The source itself is not touched; files fetched for it go too.

    \b
    Examples:
      codenav sources remove pkg:networkx
    """
    from codenav.retrieval.source_index import remove_index

    with closing(_store(store)) as opened:
        name = remove_index(source, python=python, store=opened)
    if as_json:
        print_json({"source": name, "removed": True})
        return
    say(f"removed the index of {one_line(name)}")


def _store(name: str | None) -> Store:
    from codenav.core.config import load_config
    from codenav.retrieval.stores import open_store

    return open_store(load_config().store_options(store=name))
