"""The Elasticsearch store behind servers and proxies that refuse: for size, for load, for rights, by a template."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from elasticsearch_server import Server

from codenav.core.config import StoreOptions
from codenav.core.errors import IndexUnavailable
from codenav.retrieval.elastic.store import ElasticsearchStore
from codenav.retrieval.self_check import block
from retrieval.elastic import file, many, one, store_of
from retrieval.proxy import Proxy, Refuse, proxy

FILES = 60
"""Files of 10 blocks, some 1.2 MB in all."""


@contextmanager
def behind(
    server: Server, refuse: Refuse, *, hang_up: bool = False, patience: float = 5.0, notice: Any = None
) -> Iterator[tuple[Proxy, ElasticsearchStore]]:
    """A proxy, and a store that knows nothing but it."""
    with proxy(server, refuse, hang_up=hang_up) as between:
        given = StoreOptions(store="elasticsearch", elasticsearch_url=between.url)
        with closing(ElasticsearchStore(given, patience=patience, notice=notice)) as store:
            yield between, store


pytestmark = pytest.mark.nightly


def refused_turns(turns: Callable[[int], bool], status: int) -> Refuse:
    """Refuse the requests of these numbers, from 0."""
    seen = iter(range(10**9))
    return lambda size: status if turns(next(seen)) else 0


@pytest.mark.parametrize("hang_up", [False, True])
def test_a_limit_of_size_is_found_once(elasticsearch: Server, hang_up: bool) -> None:
    limit = 150_000
    with behind(elasticsearch, lambda size: 413 if size > limit else 0, hang_up=hang_up) as (between, store):
        index = store.open(f"limited-{hang_up}", source="s")
        index.apply(many(FILES)())
        assert index.search("*").total == 10 * FILES
        assert limit / 4 < max(between.taken) <= limit
        assert 0 < len(between.refused) < 12, "the size that is taken is remembered"


def test_a_block_beyond_the_limit_is_told(elasticsearch: Server) -> None:
    with behind(elasticsearch, lambda size: 413 if size > 2_000 else 0) as (_, store):
        index = store.open("too-large", source="s")
        begun = time.monotonic()
        with pytest.raises(IndexUnavailable, match="takes no request of this size") as caught:
            index.apply([one("small"), file("b.py", block("large", "b.py", text="x " * 3_000))])
        assert "http.max_content_length" in caught.value.hint and "proxy" in caught.value.hint
        assert time.monotonic() - begun < 5, "it is not tried again"
        assert not index.exists


@pytest.mark.parametrize("status", [429, 503])
def test_an_overloaded_server_is_given_little(elasticsearch: Server, status: int) -> None:
    with behind(elasticsearch, lambda size: 0) as (free, store):
        store.open("free", source="s").apply(many(FILES)())
    with behind(elasticsearch, refused_turns(lambda turn: turn < 5, status)) as (between, store):
        index = store.open(f"loaded-{status}", source="s")
        index.apply(many(FILES)())
        assert index.search("*").total == 10 * FILES
    assert sum(between.taken) < 1.05 * sum(free.taken), "what was taken is not sent again"
    assert between.taken[0] < 200_000, between.taken


def test_refusals_now_and_then_cost_a_moment_each(elasticsearch: Server) -> None:
    with behind(elasticsearch, refused_turns(lambda turn: turn % 3 != 2, 429), patience=1.0) as (between, store):
        begun = time.monotonic()
        index = store.open("flaky", source="s")
        index.apply(many(FILES)())
        assert index.search("*").total == 10 * FILES
        assert len(between.refused) > 5
        assert time.monotonic() - begun < 20, "the pause begins anew after each success"


def test_a_long_wait_is_told(elasticsearch: Server) -> None:
    notices: list[str] = []
    behind_it = behind(elasticsearch, lambda size: 429, patience=3.5, notice=notices.append)
    with behind_it as (between, store), pytest.raises(IndexUnavailable, match="status 429"):
        store.open("told", source="s").apply([one("first")])
    assert len(notices) == 1 and between.url in notices[0] and "4 s at most" in notices[0]


SPOILING: dict[str, Any] = {
    "settings": {
        "index.default_pipeline": "none-such",
        "index.final_pipeline": "none-such",
        "index.similarity.default": {"type": "BM25", "k1": 0.1, "b": 0.0},
    },
    "mappings": {"_source": {"enabled": False}},
}
"""A template that is overruled whatever names it is for."""
WORSE: dict[str, Any] = {
    "settings": {"index.mapping.total_fields.limit": 5, "index.number_of_shards": 2},
    "mappings": {
        "_source": {"excludes": ["block"]},
        "_routing": {"required": True},
        "properties": {"name": {"type": "keyword", "ignore_above": 3}},
    },
}
"""A template that does no harm where it is for every name."""


def test_a_template_spoils_no_index(elasticsearch: Server) -> None:
    def scores(name: str) -> list[tuple[str, float]]:
        elasticsearch.request("DELETE", "codenav-locks?ignore_unavailable=true")
        with store_of(elasticsearch, patience=1.0) as store:
            index = store.open(f"template-{name}", source="s")
            index.apply([one("load_model"), one("model_of_all", "b.py", text="model " * 50)])
            index.apply([one("load_all", "c.py")])
            return [(hit.block.name, hit.score) for hit in index.search("load OR model")]

    plain = scores("plain")
    for name, pattern, template in (("own", "code*", SPOILING), ("worse", "*", WORSE)):
        body = {"index_patterns": [pattern], "priority": 900, "template": template}
        elasticsearch.request("PUT", "_index_template/spoiling", body)
        try:
            assert scores(name) == plain
        finally:
            elasticsearch.request("DELETE", "_index_template/spoiling")


def test_a_closed_index_says_how_to_open_it(elasticsearch: Server) -> None:
    with store_of(elasticsearch) as store:
        index = store.open("shut", source="s")
        index.apply([one("old")])
        elasticsearch.request("POST", "codenav-shut-1/_close")
        for use in (
            lambda: index.search("old"),
            lambda: index.apply([one("new")]),
            lambda: store.open("shut", source="s"),
        ):
            with pytest.raises(IndexUnavailable, match=r"the index codenav-shut-1 at \S+ is closed") as caught:
                use()
            assert f"curl -X POST '{elasticsearch.url}/codenav-shut-1/_open'" in caught.value.hint
        assert "is closed" in next(item.notice for item in store.list() if item.key == "shut")
        elasticsearch.request("POST", "codenav-shut-1/_open")
        index.apply([one("new")])
        assert [hit.name for hit in index.search("*")] == ["new"]
