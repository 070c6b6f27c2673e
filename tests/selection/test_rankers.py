"""Rankers made of services: order, what a hit tells of it, failures, paging, and several in a row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import pytest
from ranking_servers import RankingServer, Reply

from codenav.agents.models import FunctionModel
from codenav.core.blocks import BlockKind, CodeBlock, Hit, LineSpan, Moved, SearchResult, Vote
from codenav.core.cancelling import CancelScope
from codenav.core.errors import Cancelled, ModelFailed, RankingFailed
from codenav.core.messages import Message
from codenav.core.tool_selection import ToolSelection
from codenav.environments.ranking import Ranking
from codenav.retrieval.combined import CombinedIndex
from codenav.retrieval.selection.reranking import MOST, text_of
from codenav.session.services import Services

NAMES = ["list_products", "order_product", "delete_user", "rate_product", "find_city", "draw_map"]

BEST, BOTH = ["draw_map", *NAMES[:5]], ["draw_map", "find_city", *NAMES[:4]]
"""With the best for "draw a map of a city" first, and with the two best."""


def hits(names: Sequence[str] = NAMES, loaded: Callable[[str], None] = lambda name: None) -> list[Hit]:
    def made(place: int, name: str) -> Hit:
        def load() -> CodeBlock:
            loaded(name)
            return CodeBlock(
                name, BlockKind.FUNCTION, name, name, "shop.py", LineSpan(1, 2), "…", signature=f"def {name}(shop)"
            )

        return Hit(name, kind=BlockKind.FUNCTION, path="shop.py", score=10.0 - place, why="", load=load)

    return [made(place, name) for place, name in enumerate(names)]


def services(server: RankingServer, told: list[str] | None = None, **settings: Any) -> Services:
    tell = told.append if told is not None else lambda text: None
    return Services(ToolSelection(rerank_url=server.url, **settings), tell=tell)


def ranked(ranking: Ranking, query: str, hits: Sequence[Hit]) -> SearchResult:
    return ranking.ranked(SearchResult(query, hits, len(hits)), CombinedIndex([]), shown=10)


def ids(found: Sequence[Hit]) -> list[str]:
    return [hit.id for hit in found]


def test_the_service_orders_and_each_moved_hit_tells_from_where() -> None:
    with RankingServer() as server:
        ranking = services(server).ranking(None, "rate a product")
        assert ranking
        found = ranked(ranking, "product", hits())
    assert ids(found) == ["rate_product", "list_products", "order_product", "delete_user", "find_city", "draw_map"]
    assert found[0].moved == Moved(4, (Vote("rerank", 0.6667, "place 1 of 6 by its text"),))
    assert found[3].moved and found[3].moved.place == 3 and found[4].moved is None
    assert [hit.score for hit in found][:2] == [7.0, 10.0]
    assert server.requests[0].body["documents"][0] == "list_products\ndef list_products(shop)"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, BOTH), ({"rerank_top": 0}, BOTH), ({"rerank_percent": 17}, BOTH), ({"rerank_top": 1}, BEST),
        ({"rerank_percent": 10}, BEST), ({"rerank_percent": 34, "rerank_top": 1}, BEST),
        ({"rerank_threshold": 0.3}, BEST), ({"rerank_threshold": 0.9}, NAMES), ({"rerank_trigger": 7}, NAMES),
    ],
)  # fmt: skip
def test_nothing_is_dropped(settings: dict[str, Any], expected: list[str]) -> None:
    with RankingServer() as server:
        ranking = services(server, **settings).ranking(None, "draw a map of a city")
        assert ranking and ids(ranked(ranking, "map", hits())) == expected


def test_only_the_first_hits_are_sent_and_no_score_is_asked_for_twice() -> None:
    loaded: list[str] = []
    many = [f"tool_{place}" for place in range(MOST + 20)]
    with RankingServer() as server:
        ranking = services(server).ranking(None, "tool")
        assert ranking
        assert sorted(ids(ranked(ranking, "tool", hits(many, loaded.append)))) == sorted(many)
        assert sorted(loaded) == sorted(many[:MOST])
        ranked(ranking, "tool", hits(many[3:]))
    assert [len(request.body["documents"]) for request in server.requests] == [MOST, 3]


def test_a_service_that_fails_leaves_the_order_and_says_so_once() -> None:
    told: list[str] = []
    with RankingServer(replies=[Reply(404, "<html>")] * 20) as server:
        ranking = services(server, told).ranking(None, "rate a product")
        assert ranking and ids(ranked(ranking, "product", hits())) == NAMES
        assert ids(ranked(ranking, "product", hits())) == NAMES
    assert told == [f"the search is not reranked: the rerank service at {server.url}/v1/rerank refuses with 404"]


def test_a_failure_that_is_to_end_the_work_does() -> None:
    with RankingServer(replies=[Reply(body="<html>")]) as server:
        ranking = services(server, rerank_failure="abort").ranking(None, "rate a product")
        assert ranking
        with pytest.raises(RankingFailed, match="web page"):
            ranked(ranking, "product", hits())


def test_waiting_ends_when_the_work_is_cancelled() -> None:
    scope = CancelScope()
    with RankingServer() as server, scope.entered():
        ranking = services(server).ranking(None, "rate a product")
        scope.cancel()
        assert ranking
        with pytest.raises(Cancelled):
            ranked(ranking, "product", hits())


class Reversed:
    """A ranker that turns the order round."""

    def __init__(self) -> None:
        self.requests: list[str] = []

    def rank(self, request: str, query: str, calls: Sequence[str], hits: Sequence[Hit]) -> Sequence[Hit]:
        self.requests.append(request)
        found = list(reversed(hits))
        for place, hit in enumerate(hits, 1):
            hit.moved = Moved(place, (Vote("graph", 1.0),))
        return found


def test_a_service_orders_what_another_ranker_left_and_both_are_told() -> None:
    with RankingServer() as server:
        ranking = services(server).ranking(Ranking(Reversed(), request="rate a product"), "rate a product")
        assert ranking
        found = ranked(ranking, "product", hits())
    assert ids(found) == ["rate_product", "order_product", "list_products", "draw_map", "find_city", "delete_user"]
    assert found[0].moved and found[0].moved.place == 4
    assert [vote.name for vote in found[0].moved.votes] == ["rerank", "graph"]
    assert found[1].moved is None
    assert found[4].moved is None


class Broken:
    """A ranker that fails after it touched a hit."""

    def rank(self, request: str, query: str, calls: Sequence[str], hits: Sequence[Hit]) -> Sequence[Hit]:
        hits[0].moved = Moved(9, ())
        raise ZeroDivisionError("no weights")


def test_a_ranker_that_fails_leaves_the_others() -> None:
    told: list[str] = []
    with RankingServer() as server:
        ranking = services(server, told).ranking(Ranking(Broken(), request="rate a product"), "rate a product")
        assert ranking
        found = ranked(ranking, "product", hits())
    assert found[0].id == "rate_product" and told == ["the search is not ranked: no weights"]
    assert found[1].moved == Moved(1, (Vote("rerank", 0.3333, "place 2 of 6 by its text"),))


TURNS = [Message("user", "show the shop"), Message("assistant", "here it is")]


def test_the_request_is_written_anew_once_for_all_rankers() -> None:
    asked: list[Any] = []

    def answer(messages: Sequence[Message]) -> str:
        asked.append(messages)
        return "rate a product"

    inner = Reversed()
    chosen = Services(ToolSelection(rewrite_model=FunctionModel(answer)))
    ranking = chosen.ranking(Ranking(inner, request="rate it"), "rate it", TURNS)
    assert ranking
    ranked(ranking, "product", hits())
    ranked(ranking, "product", hits())
    assert inner.requests == ["rate a product"] * 2 and len(asked) == 1
    assert chosen.ranking(None, "rate it", TURNS) is None


def test_a_model_that_fails_leaves_the_request() -> None:
    def fails(messages: Sequence[Message]) -> str:
        raise ModelFailed("no answer")

    told: list[str] = []
    inner = Reversed()
    settings = ToolSelection(rewrite_model=FunctionModel(fails))
    ranking = Services(settings, tell=told.append).ranking(Ranking(inner, request="rate it"), "rate it", TURNS)
    assert ranking
    ranked(ranking, "product", hits())
    assert inner.requests == ["rate it"] and told == ["the request was not written anew: no answer"]
    settings = ToolSelection(rewrite_model=FunctionModel(fails), rewrite_failure="abort")
    ranking = Services(settings).ranking(Ranking(inner, request="rate it"), "rate it", TURNS)
    assert ranking
    with pytest.raises(RankingFailed, match="no answer"):
        ranked(ranking, "product", hits())


class Bringer(Reversed):
    """A ranker that brings two blocks, one of which is gone."""

    def brings(
        self, request: str, query: str, calls: Sequence[str], known: Collection[str]
    ) -> dict[str, Sequence[Vote]]:
        self.requests.append(request)
        return {name: (Vote("episodes", 0.5),) for name in ("rate_order", "gone") if name not in known}


class Shelf(CombinedIndex):
    """An index of one block."""

    def get(self, id: str) -> CodeBlock | None:
        return hits([id])[0].block if id == "rate_order" else None


@pytest.mark.parametrize("rewritten", [False, True])
def test_what_a_ranker_brings_is_ranked_by_services_too(rewritten: bool) -> None:
    rewrite: Any = FunctionModel(lambda messages: "rate an order") if rewritten else ""
    told: list[str] = []
    inner = Bringer()
    with RankingServer() as server:
        chosen = services(server, told, rewrite_model=rewrite, rerank_failure="abort")
        asked = "rate it" if rewritten else "rate an order"
        ranking = chosen.ranking(Ranking(inner, request=asked), asked, TURNS)
        assert ranking
        found = ranking.ranked(SearchResult("rate", hits(), 6), Shelf([]), shown=10)
    assert sorted(ids(found)) == sorted([*NAMES, "rate_order"]) and found.total == 7 and not told
    assert found[0].id == "rate_order" and found[0].moved
    assert found[0].moved.place == 0 and {vote.name for vote in found[0].moved.votes} >= {"rerank", "episodes"}
    assert set(inner.requests) == {"rate an order"}


def test_a_ranker_that_brings_nothing_for_a_failure_leaves_the_others() -> None:
    class Failing(Broken):
        def brings(
            self, request: str, query: str, calls: Sequence[str], known: Collection[str]
        ) -> dict[str, Sequence[Vote]]:
            raise ZeroDivisionError("no memory")

    told: list[str] = []
    ranking = Ranking(Failing(), Bringer(), request="rate it", tell=told.append)
    found = ranking.ranked(SearchResult("rate", hits(), 6), Shelf([]), shown=10)
    assert found.total == 7
    assert told == ["the search is not ranked: no memory"]


def test_the_text_of_a_hit_without_a_signature_is_its_source() -> None:
    block = CodeBlock("1", BlockKind.ASSIGNMENT, "LIMIT", "LIMIT", "a.py", LineSpan(1, 1), "LIMIT = 3")
    assert text_of(Hit.of(block)) == "LIMIT\nLIMIT = 3"
