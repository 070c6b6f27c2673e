"""What a shell offers at Tab: sources, episodes, schemas. It never fails, and never writes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import click
from click.shell_completion import CompletionItem

from codenav.errors import CodeNavError

EPISODES = 50
"""Newest ones that are offered; older ones can be typed."""


def sources(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What is indexed, and `pkg:` with each installed distribution; paths where nothing of that fits."""
    found = dict.fromkeys(_indexed())
    if incomplete.startswith("pkg:") or (incomplete and "pkg:".startswith(incomplete)):
        found |= dict.fromkeys(_installed(ctx.params.get("python")))
    return [CompletionItem("", type="file"), *_items(found, incomplete)]


def indexes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What is indexed."""
    return list(_items(dict.fromkeys(_indexed()), incomplete))


def episodes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The ids of the newest episodes, each with its request, and `last`."""
    found = {"last": "the newest one"}
    with contextlib.suppress(CodeNavError, OSError):
        from codenav.config import episodes_dir
        from codenav.episodes.store import EpisodeStore

        for row in EpisodeStore(episodes_dir()).list(EPISODES):
            found[row.id] = " ".join(row.request.split())[:70]
    return list(_items(found, incomplete))


def schemas(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of the schemas."""
    from codenav.schemas import names

    return list(_items(dict.fromkeys(names()), incomplete))


def _items(found: dict[str, str | None] | dict[str, str], incomplete: str) -> Iterator[CompletionItem]:
    for value, help in found.items():
        # A shell splits what it is offered at white space.
        if value.startswith(incomplete) and value.isprintable() and " " not in value:
            yield CompletionItem(value, help=help and "".join(filter(str.isprintable, help)))


def _indexed() -> Iterable[str]:
    """As they are typed: of a package without its version."""
    with contextlib.suppress(CodeNavError, OSError):
        from codenav.config import indexes_dir
        from codenav.retrieval.catalog import list_indexes

        for stored in list_indexes(indexes_dir()):
            yield stored.source.partition("@")[0] if stored.source.startswith("pkg:") else stored.source


def _installed(python: str | None) -> Iterable[str]:
    with contextlib.suppress(CodeNavError, OSError):
        from codenav.config import load_config
        from codenav.system.interpreter import find_interpreter, normalise

        for name, _ in find_interpreter(python or load_config().python or None).distributions:
            yield f"pkg:{normalise(name)}"
