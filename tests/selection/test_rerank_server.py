"""The client of rerank services, against a real server of each shape, with what services do wrong."""

from __future__ import annotations

from typing import Any

import pytest
from ranking_servers import Change, RankingServer, Reply

from codenav.core.errors import Unavailable, UsageError
from codenav.retrieval.selection.rerank_server import CHARACTERS, PART, RerankServer

TEXTS = ["list the products", "order mugs", "delete a user"]
ROUTES = [
    ("cohere", "/v1/rerank"), ("cohere", "/rerank"), ("cohere", "/v2/rerank"), ("cohere", ""), ("cohere", "/v1"),
    ("tei", "/rerank"), ("mixedbread", "/v1/reranking"),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "path"), ROUTES)
def test_each_shape_is_found_and_kept(shape: str, path: str) -> None:
    with RankingServer(rerank=shape) as server:
        service = RerankServer(server.url + path, model="reranker")
        assert service.score("order two mugs", TEXTS) == [0.0, pytest.approx(2 / 3, abs=1e-4), 0.0]
        asked = len(server.requests)
        assert service.score("a user", TEXTS)[2] == 1
    assert len(server.requests) == asked + 1
    assert server.requests[-1].body.get("model", "reranker") == "reranker"


def test_a_long_list_goes_in_parts_and_scores_stay_in_order() -> None:
    texts = [f"tool number{place}" for place in range(PART + 30)]
    with RankingServer(rerank="tei", most=32) as server:
        service = RerankServer(f"{server.url}/rerank")
        scores = service.score(f"number{PART + 20}", texts)
        before = len(server.requests)
        service.score("tool", texts)
    assert [place for place, score in enumerate(scores) if score] == [PART + 20]
    assert len(server.requests) - before == 5
    assert all(len(request.body.get("texts", ())) <= 32 for request in server.requests[before:])


@pytest.mark.parametrize("most", [1, 5])
def test_a_service_that_takes_few_texts_gets_fewer_each_time(most: int) -> None:
    texts = [f"tool number{place}" for place in range(40)]
    with RankingServer(rerank="tei", most=most) as server:
        service = RerankServer(f"{server.url}/rerank")
        scores = service.score("number33", texts)
        before = len(server.requests)
        service.score("number33", texts)
    assert [place for place, score in enumerate(scores) if score] == [33]
    assert len(server.requests) - before == (40 if most == 1 else 10)


def test_a_refused_shape_that_repeats_the_request_is_not_one_of_too_many_texts() -> None:
    echo = Reply(422, {"detail": [{"msg": "Field required", "input": {"query": "a batch of mugs"}}]})
    with RankingServer(rerank="tei", replies=[echo]) as server:
        RerankServer(f"{server.url}/rerank").score("a batch of mugs", TEXTS)
    assert [len(request.body.get("texts", ())) for request in server.requests] == [0, len(TEXTS)]


def test_a_text_is_cut_and_an_empty_one_is_sent_as_a_blank() -> None:
    with RankingServer() as server:
        RerankServer(server.url).score("mug", ["x" * 10_000, ""])
    assert [len(text) for text in server.requests[0].body["documents"]] == [CHARACTERS, 1]


def results(change: Any) -> Change:
    return lambda answer: {"results": change(answer["results"])}


WRONG = {
    "too few": (results(lambda items: items[1:]), "2 scores for 3 texts"),
    "doubled": (results(lambda items: [items[0], items[0], items[1]]), "twice"),
    "out of range": (results(lambda items: [{**item, "index": item["index"] + 1} for item in items]), "index '3'"),
    "negative": (results(lambda items: [{**item, "index": -1} for item in items]), "index '-1'"),
    "no index": (results(lambda items: [{"relevance_score": 1.0} for _ in items]), "index 'None'"),
    "nan": (results(lambda items: [{**item, "relevance_score": float("nan")} for item in items]), "gave 'nan' for a"),
    "too large": (results(lambda items: [{**item, "relevance_score": 10**400} for item in items]), "for a score"),
    "no score": (results(lambda items: [{"index": item["index"]} for item in items]), "gave 'None' for a score"),
    "text": (results(lambda items: [{**item, "relevance_score": "0.1"} for item in items]), "gave '0.1' for a score"),
    "another": (lambda answer: {"ranking": answer["results"]}, "not with results of a rerank service"),
    "texts": (lambda answer: ["a", "b", "c"], "not with results of a rerank service"),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_answer_that_makes_no_sense_is_a_failure_of_the_service(case: str) -> None:
    change, told = WRONG[case]
    with RankingServer(change=change) as server, pytest.raises(Unavailable, match=told) as raised:
        RerankServer(server.url).score("order mugs", TEXTS)
    assert "\n" not in str(raised.value) and f"the rerank service at {server.url}/v1/rerank" in str(raised.value)


def test_no_route_and_no_address() -> None:
    with RankingServer() as server, pytest.raises(Unavailable, match="refuses with 404: Not Found"):
        RerankServer(f"{server.url}/other/rerank").score("mugs", TEXTS)
    with pytest.raises(UsageError, match="has no address"):
        RerankServer("localhost:8080/rerank")


def test_the_time_limit_is_for_all_parts_together() -> None:
    with RankingServer(wait=0.3) as server:
        service = RerankServer(server.url, seconds=0.8)
        with pytest.raises(Unavailable, match=r"no answer within 0\.8 s"):
            service.score("mugs", ["a mug"] * 5 * PART)
    assert 1 < len(server.requests) < 5
