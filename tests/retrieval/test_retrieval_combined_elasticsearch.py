"""Several indexes in Elasticsearch as one: the same hits in the same order as from the embedded store."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from elasticsearch_server import Server

from codenav.core.blocks import FileRemoval
from codenav.core.protocols import WritableIndex
from codenav.retrieval.combined import CombinedIndex
from codenav.retrieval.embedded.index import EmbeddedIndex
from retrieval.comparison import compare, queries_of
from retrieval.conftest import changes_of
from retrieval.elastic import one, store_of

SIZES = {"requests": 3, "comm": 1, "tiny": 2}
"""Sources, and the shards of the index of each."""


def test_both_stores_merge_alike(elasticsearch: Server, tmp_path: Path) -> None:
    embedded: list[WritableIndex] = []
    elastic: list[WritableIndex] = []
    with ExitStack() as opening:
        for base, shards in SIZES.items():
            store = opening.enter_context(store_of(elasticsearch, elasticsearch_shards=shards))
            embedded.append(EmbeddedIndex(tmp_path / base, source=base))
            elastic.append(store.open(f"merged-{base}", source=base))
            changes = changes_of(base) if base != "tiny" else [one("request", "tiny/a.py"), one("merge", "tiny/b.py")]
            for index in (embedded[-1], elastic[-1]):
                index.apply(changes)
                index.apply([*changes[::7], FileRemoval(changes[-1].path)])
        both, mixed = CombinedIndex(embedded), CombinedIndex([elastic[0], *embedded[1:]])
        queries = queries_of(list(both.blocks()), each=1)
        rows = [
            *compare(both, CombinedIndex(elastic), queries),
            *compare(both, mixed, {"one name": queries["one name"]}),
        ]
    assert [f"{row.name}: {row.detail}" for row in rows if not row.ok] == []
