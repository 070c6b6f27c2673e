"""`codenav sources`: the indexes in the store."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from codenav.cli import completing
from codenav.cli.options import counted, json_option, one_line, print_json, python_option, say, store_of, store_options
from codenav.cli.sections import SectionedCommand

if TYPE_CHECKING:
    from codenav.core.protocols import Store

CHECK_HINT = "codenav doctor; if that finds nothing, it is a fault of codenav's: report it with this line"


@click.group("sources")
def command() -> None:
    """List, show and remove indexes, and check the store that keeps them.

    \b
    Examples:
      codenav sources list
      codenav sources show pkg:networkx
      codenav sources remove pkg:networkx
    """


@command.command("list", cls=SectionedCommand)
@store_options
@json_option
def list_sources(as_json: bool, **options: Any) -> None:
    """List the indexes, one a line.

    \b
    Examples:
      codenav sources list --json
    """
    with closing(_store(options)) as store:
        entries = store.list()
    if as_json:
        print_json([stats.to_dict() for stats in entries])
        return
    for stats in entries:
        size = f"{stats.size_bytes / (1 << 20):.1f} MiB"
        held = f"{counted(stats.files, 'file')}, {counted(stats.blocks, 'block')}, {size}, built {stats.built}"
        say(f"{one_line(stats.source)}  {stats.notice or held}")
    if not entries:
        say("No index yet. Try: codenav index .", err=True)


@command.command("show", cls=SectionedCommand)
@click.argument("source", shell_complete=completing.indexes)
@store_options
@python_option
@json_option
def show(source: str, python: str | None, as_json: bool, **options: Any) -> None:
    """Show what the index of SOURCE holds, and which files were skipped and why.

    \b
    Examples:
      codenav sources show pkg:networkx
      codenav sources show ./my-repo --json
    """
    from codenav.retrieval.source_index import parts_of, stored_index

    with closing(_store(options)) as store:
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


@command.command("remove", cls=SectionedCommand)
@click.argument("source", shell_complete=completing.indexes)
@store_options
@python_option
@json_option
def remove(source: str, python: str | None, as_json: bool, **options: Any) -> None:
    """Remove the index of SOURCE. The source itself is not touched; files fetched for it go too.

    \b
    Examples:
      codenav sources remove pkg:networkx
    """
    from codenav.retrieval.source_index import remove_index

    with closing(_store(options)) as store:
        name = remove_index(source, python=python, store=store)
    if as_json:
        print_json({"source": name, "removed": True})
        return
    say(f"removed the index of {one_line(name)}")


@command.command("check", cls=SectionedCommand)
@store_options
@json_option
def check(as_json: bool, **options: Any) -> int:
    """Check that the store does what codenav needs of it, on indexes of its own that are removed again.

    \b
    Examples:
      codenav sources check
      codenav sources check --store elasticsearch --elasticsearch-url http://localhost:9200
    """
    from codenav.core.config import load_config
    from codenav.retrieval.stores import check_store

    good = True
    rows = []
    for row in check_store(load_config().store_options(**store_of(options))):
        good = good and row.ok
        rows.append({"name": row.name, "ok": row.ok, "detail": row.detail, "hint": "" if row.ok else CHECK_HINT})
        if not as_json:
            say(f"{'ok  ' if row.ok else 'FAIL'}  {row.name}" + (f": {one_line(row.detail)}" if row.detail else ""))
    if as_json:
        print_json(rows)
    return 0 if good else 1


def _store(options: dict[str, Any]) -> Store:
    from codenav.core.config import load_config
    from codenav.retrieval.stores import open_store

    return open_store(load_config().store_options(**store_of(options)))
