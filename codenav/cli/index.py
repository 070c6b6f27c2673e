"""`codenav index`: build or refresh an index, once or whenever its source changes."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from codenav.cli import completing
from codenav.cli.options import counted, json_option, one_line, place_options, print_json, say, setting_option
from codenav.cli.tools import states_of
from codenav.core.config import load_config
from codenav.core.setting import updated
from codenav.core.system.terminal_text import few
from codenav.tools.places import is_tools
from codenav.tools.reading import asking_with

if TYPE_CHECKING:
    from codenav.core.blocks import IndexStats
    from codenav.retrieval.watching import Update

NAMED = 3
"""Most files named in the line of an update. `--json` has all of them."""


@click.command("index")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...", shell_complete=completing.sources)
@click.option("--name", metavar="NAME", help="Build one index of all SOURCEs, called name:NAME from then on.")
@setting_option("secret")
@click.option("--rebuild", is_flag=True, help="Read and parse every file, also those that look unchanged.")
@click.option("--watch", is_flag=True, help="Keep running and index each change, until Ctrl-C.")
@place_options
@json_option
def command(
    sources: tuple[str, ...],
    name: str | None,
    secret: Sequence[str] | None,
    rebuild: bool,
    watch: bool,
    as_json: bool,
    **place: Any,
) -> None:
    """Build the index of each SOURCE, or bring it up to date: unchanged files are not read again.

    SOURCE is a directory, a file, pkg:NAME or pkg:NAME==VERSION for an installed package, git:URL@REV for a branch,
    tag or commit of a repository, openapi:FILE, mcp:COMMAND or tools:FILE for tools (each also with a URL), or
    name:NAME for an index of several sources.

    \b
    Examples:
      codenav index .
      codenav index pkg:networkx --python ./venv
      codenav index git:https://github.com/networkx/networkx@main
      codenav index openapi:http://localhost:8000/openapi.json
      codenav index ./my-repo pkg:pillow --name images
      codenav index . --watch
    """
    # A server of tools may want a token to tell what it has.
    with asking_with(updated(load_config().tools, {"secret": secret}).values()):
        documents = []
        if rebuild or not watch:
            for some in [sources] if name else [[source] for source in sources]:
                title = "" if name or len(sources) == 1 else f"{some[0]}: "
                quiet = as_json or watch
                documents.append(_index(some, name, quiet, place, rebuild, title=title))
        if secret:
            states_of([one for one in sources if is_tools(one)], secrets=secret, no_refresh=True)
        if watch:
            _watch(sources, name, as_json, place)
            return
    if as_json:
        print_json(documents[0] if len(documents) == 1 else documents)


def _index(
    sources: Sequence[str], name: str | None, quiet: bool, place: dict[str, Any], rebuild: bool, *, title: str = ""
) -> dict[str, Any]:
    from codenav.cli.display import indexing, notice
    from codenav.session import api

    spec = f"name:{name}" if name else sources[0]
    with (
        indexing(spec) as progress,
        api.index(sources, name=name, rebuild=rebuild, progress=progress, notice=notice, **place) as index,
    ):
        stats = index.stats()
    if not quiet:
        say(f"{one_line(title)}{_size_text(stats)}")
        kinds = [skip.path for skip in stats.skipped if skip.is_kind]
        skipped = len(stats.skipped) - len(kinds)
        if skipped:
            were = "was" if skipped == 1 else "were"
            say(f"{counted(skipped, 'file')} {were} skipped or cut: codenav sources list {spec}", err=True)
        if kinds:
            say(one_line(f"languages that are not read: {', '.join(kinds)}"), err=True)
    return stats.to_dict(details=False)


def _watch(sources: tuple[str, ...], name: str | None, as_json: bool, place: dict[str, Any]) -> None:
    """Follow the sources until the user ends it, which is not an error: exit code 0."""
    from codenav.cli.display import indexing, notice
    from codenav.retrieval.watching import watch

    with indexing(", ".join(sources)) as progress:
        private = load_config().tools.allow_private
        watching = watch(sources, name=name, progress=progress, notice=notice, allow_private=private, **place)
        firsts = [next(watching) for _ in range(1 if name else len(sources))]
    try:
        for update in firsts:
            _show(update, as_json, first=True)
        say("Watching. Ctrl-C ends it.", err=True)
        for update in watching:
            _show(update, as_json)
    except KeyboardInterrupt:
        say("Stopped watching.", err=True)
    finally:
        watching.close()


def _show(update: Update, as_json: bool, *, first: bool = False) -> None:
    if as_json:
        click.echo(json.dumps(update.to_dict(), ensure_ascii=False))
        return
    stats = update.stats
    held = _size_text(stats)
    if first:
        say(f"{one_line(stats.source)}: {held}")
        return
    kinds = (("changed", update.changed), ("gone", update.removed))
    what = [f"{title} {few(list(map(one_line, paths)), NAMED)}" for title, paths in kinds if paths]
    say(f"{time.strftime('%H:%M:%S')}  {'; '.join(what) or 'updated'}  ({one_line(stats.source)}: {held})", err=True)


def _size_text(stats: IndexStats) -> str:
    return f"{counted(stats.files, 'file')}, {counted(stats.blocks, 'block')}, {stats.seconds:.1f} s"
