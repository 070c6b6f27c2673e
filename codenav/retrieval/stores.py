"""Opening and checking of the store that indexes are kept in: a folder, or an Elasticsearch cluster."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

from codenav.core.config import indexes_dir
from codenav.core.errors import CodeNavError
from codenav.core.options import StoreOptions
from codenav.core.protocols import Store, WritableIndex
from codenav.retrieval.self_check import CheckRow, run_checks


def open_store(options: StoreOptions, *, notice: Callable[[str], None] | None = None) -> Store:
    """Open the store that the options name. Nothing is read and no server is asked before an index is opened.

    `notice` is told when a server makes us wait.

    Raises:
        UsageError: Elasticsearch is asked for, but no server is named and none was started by
            `codenav elasticsearch up`.
    """
    if options.store == "embedded":
        from codenav.retrieval.embedded.catalog import EmbeddedStore

        return EmbeddedStore(indexes_dir(), vectors=options.vectors)
    from codenav.retrieval.elastic.local_server import with_local_server
    from codenav.retrieval.elastic.store import ElasticsearchStore

    return ElasticsearchStore(with_local_server(options), notice=notice)


def check_store(options: StoreOptions) -> Iterator[CheckRow]:
    """Run the checks of `retrieval.self_check` on the store that the options name, with temporary indexes.

    Raises:
        UsageError: as `open_store`.
        IndexUnavailable: the store cannot be reached.
    """
    with ExitStack() as ending:
        if options.store == "embedded":
            from codenav.retrieval.embedded.catalog import EmbeddedStore

            folder = ending.enter_context(tempfile.TemporaryDirectory(prefix="codenav-check-"))
            store: Store = EmbeddedStore(Path(folder))
        else:
            store = open_store(options)
        ending.callback(store.close)
        used: set[str] = set()

        def opened(name: str) -> WritableIndex:
            key = f"check-{os.getpid()}-{name.replace(' ', '-')}"[:73]
            if key not in used:
                used.add(key)
                ending.callback(_remove, store, key)
            return store.open(key, source="check")

        yield from run_checks(opened)


def _remove(store: Store, key: str) -> None:
    with suppress(CodeNavError):
        store.remove(key)
