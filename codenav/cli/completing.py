"""Shell completion of sources, episodes and schemas. It never fails, and never writes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import click
from click.shell_completion import CompletionItem

from codenav.core.errors import CodeNavError

EPISODES = 50
"""Number of newest episodes offered. Older ones can be typed."""


def sources(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete with the indexed sources, `pkg:` with each installed distribution, and file names."""
    found = dict.fromkeys(_indexed())
    if incomplete.startswith("pkg:") or (incomplete and "pkg:".startswith(incomplete)):
        found |= dict.fromkeys(_installed(ctx.params.get("python")))
    return [CompletionItem("", type="file"), *_items(found, incomplete)]


def indexes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete with the indexed sources."""
    return list(_items(dict.fromkeys(_indexed()), incomplete))


def episodes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete with `last` and the ids of the newest episodes, each with its request."""
    found = {"last": "the newest one"}
    with contextlib.suppress(CodeNavError, OSError):
        from codenav.core.config import episodes_dir
        from codenav.episodes.store import EpisodeStore

        for row in EpisodeStore(episodes_dir()).list(EPISODES):
            found[row.id] = " ".join(row.request.split())[:70]
    return list(_items(found, incomplete))


def schemas(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete with the names of the schemas."""
    from codenav.core.schemas import names

    return list(_items(dict.fromkeys(names()), incomplete))


def _items(found: dict[str, str | None] | dict[str, str], incomplete: str) -> Iterator[CompletionItem]:
    for value, help in found.items():
        # Shells split completions at white space.
        if value.startswith(incomplete) and value.isprintable() and " " not in value:
            yield CompletionItem(value, help=help and "".join(filter(str.isprintable, help)))


def _indexed() -> Iterable[str]:
    """Yield the indexed sources as they are typed: packages without their version."""
    with contextlib.suppress(CodeNavError, OSError):
        from codenav.core.config import indexes_dir
        from codenav.retrieval.embedded.catalog import EmbeddedStore

        for stored in EmbeddedStore(indexes_dir()).list():
            yield stored.source.partition("@")[0] if stored.source.startswith("pkg:") else stored.source


def _installed(python: str | None) -> Iterable[str]:
    with contextlib.suppress(CodeNavError, OSError):
        from codenav.core.config import load_config
        from codenav.core.system.interpreter import find_interpreter, normalise

        for name, _ in find_interpreter(python or load_config().sandbox.python).distributions:
            yield f"pkg:{normalise(name)}"
