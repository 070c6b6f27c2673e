"""Requests in Elasticsearch: the same hits in the same order as from the embedded store."""

from __future__ import annotations

from pathlib import Path

import pytest
from elasticsearch_server import Server

from codenav.retrieval.embedded.index import EmbeddedIndex
from codenav.retrieval.requests import search
from retrieval.conftest import shop_tools
from retrieval.elastic import store_of

REQUESTS = (
    "convert currencies",
    "List the orders of a customer. Create a customer account. Convert 40 euros into dollars.",
    "A customer wants brown shoes, so look which can be ordered; then order them for the customer: type: TOOL AND x!",
    "What is the weather like in the city of the customer, and which orders did the customer make there?",
)


def test_both_stores_answer_requests_alike(elasticsearch: Server, tmp_path: Path) -> None:
    embedded = EmbeddedIndex(tmp_path / "shop", source="tools:shop.json")
    with store_of(elasticsearch) as store:
        elastic = store.open("requests-shop", source="tools:shop.json")
        for index in (embedded, elastic):
            index.apply(shop_tools())
        for request in REQUESTS:
            one, other = search(embedded, request), search(elastic, request)
            assert len(one) > 0
            assert [hit.name for hit in one] == [hit.name for hit in other]
            assert [hit.score for hit in one] == pytest.approx([hit.score for hit in other], rel=1e-4)
