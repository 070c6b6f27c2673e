"""What the tests of the Elasticsearch store share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from elasticsearch_server import Cluster

from codenav.core.blocks import CodeBlock, FileChange, FileState
from codenav.core.config import StoreOptions
from codenav.retrieval.elastic.store import ElasticsearchStore
from codenav.retrieval.self_check import block


def options(cluster: Cluster, **given: Any) -> StoreOptions:
    """How a test server is reached."""
    named: dict[str, Any] = {"elasticsearch_url": ",".join(cluster.urls)}
    if cluster.password:
        named |= {"elasticsearch_user": cluster.user, "elasticsearch_password": cluster.password}
    return StoreOptions(store="elasticsearch", **(named | given))


@contextmanager
def store_of(cluster: Cluster, *, patience: float = 60.0, **given: Any) -> Iterator[ElasticsearchStore]:
    """An open store; its indexes stay."""
    store = ElasticsearchStore(options(cluster, **given), patience=patience)
    try:
        yield store
    finally:
        store.close()


def one(name: str, path: str = "a.py", **given: Any) -> FileChange:
    """A file that holds one function of that name."""
    return file(path, block(name, path, **given))


def file(path: str, *blocks: CodeBlock, digest: str = "") -> FileChange:
    """A file that holds these blocks; its digest tells them apart."""
    return FileChange(path, FileState(len(blocks), 0, digest or "-".join(each.id for each in blocks)), blocks)


def many(count: int, *, word: str = "thing", each: int = 10) -> Callable[[], Iterator[FileChange]]:
    """Files of `each` functions, made as they are read."""

    def made() -> Iterator[FileChange]:
        for number in range(count):
            path = f"lib/f{number:05}.py"
            names = [f"{word}_{number}_{at}" for at in range(each)]
            text = "def {}():\n    return " + " + ".join(f"value_{number * at}" for at in range(40))
            yield file(
                path, *(block(name, path, line=at, text=text.format(name)) for at, name in enumerate(names, start=1))
            )

    return made


def indexes(cluster: Cluster, key: str) -> list[str]:
    """The indexes of a key in the cluster, by name; those in work too."""
    found = cluster.request("GET", f"codenav-{key}-*?expand_wildcards=all&filter_path=*.aliases")
    return sorted(found or {})
