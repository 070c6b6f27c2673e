"""Blocks that episodes bring to a search: which ones, to which searches, and what stands in their way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from elasticsearch_server import Server

import codenav
from codenav.core import schemas
from codenav.core.actions import Search
from codenav.core.blocks import BlockKind, SearchResult
from codenav.core.errors import IndexUnavailable
from codenav.core.protocols import Index
from codenav.core.traces import Trace, TracedCall
from codenav.environments import Ranking, SearchEnvironment
from codenav.environments.ranking import BROUGHT
from codenav.retrieval.source_index import SourceIndex
from codenav.toolgraph.beside import Graphs, forget_episodes
from codenav.toolgraph.graph import ToolGraph
from codenav.toolgraph.ranker import GraphRanker
from codenav.toolgraph.scope import LimitedIndex

ASKED = "What did our customers spend in May?"
AGAIN = "How much money did customers spend during June?"
BOOKS = '''
def zyx(rows):
    """Fold the rows."""
    return sum(rows)


def qvw(rows):
    """Turn the rows."""
    return rows[::-1]


def customers(town):
    """The customers in a town."""
    return town


def money(amount):
    """Write an amount of money."""
    return f"{amount:.2f}"
'''
EPISODE = Trace(
    "e1", tuple(map(TracedCall, ("books.zyx", "books.qvw"))), ASKED, origin="episodes", ended=1e9, verified=True
)


@pytest.fixture
def books(tmp_path: Path) -> Path:
    place = tmp_path / "books-repo"
    place.mkdir()
    (place / "books.py").write_text(BOOKS)
    return place


@pytest.fixture
def index(books: Path) -> Iterator[SourceIndex]:
    with codenav.index(books) as opened:
        Graphs([opened]).learn(EPISODE)
        yield opened


def ranking(index: SourceIndex, request: str = AGAIN, *called: str, told: list[str] | None = None) -> Ranking:
    found = Graphs([index], tell=(told if told is not None else []).append).ranking(request, lambda: called)
    assert found
    return found


def shown(index: Index, ranking: Ranking, *queries: str) -> list[SearchResult]:
    return list(SearchEnvironment(index, ranking=ranking).respond(Search("\n".join(queries))).results)


def brought(found: SearchResult) -> list[str]:
    return [hit.name for hit in found if hit.why == BROUGHT]


def check_store(books: Path, **options: Any) -> None:
    """A paraphrase finds what answered the request, which no word of it finds; forgetting takes it away again."""

    def found(**more: Any) -> dict[str, Any]:
        document = codenav.search(request=AGAIN, on=books, **more, **options).to_dict()
        jsonschema.validate(document, schemas.load("search"))
        return document

    before = found()
    assert {hit["name"] for hit in before["hits"]} == {"customers", "money"} and before["total"] == 2
    with codenav.index(books, **options) as index:
        Graphs([index]).learn(EPISODE)
    after = found()
    assert {hit["name"]: hit["why"] for hit in after["hits"]}.items() >= {"zyx": BROUGHT, "qvw": BROUGHT}.items()
    assert after["total"] == 4
    moved = next(hit["moved"] for hit in after["hits"] if hit["name"] == "zyx")
    assert moved["from"] == 0
    assert [vote["because"] for vote in moved["votes"]] == [f'episode e1: "{ASKED}"']
    assert found(rerank=False) == before
    assert not [hit for hit in found(kinds=[BlockKind.CLASS])["hits"] if hit["why"] == BROUGHT]
    assert len(found(limit=1)["hits"]) == 1 and not found(limit=0)["hits"]
    (books / "books.py").write_text(BOOKS.replace("def zyx", "def gone"))
    assert "zyx" not in {hit["name"] for hit in found()["hits"]}
    (books / "books.py").write_text(BOOKS)
    forget_episodes(["e1"])
    assert found() == before


def test_an_answer_that_shares_no_word_with_a_paraphrase_is_found(books: Path) -> None:
    check_store(books)


def test_it_is_found_in_elasticsearch_too(books: Path, elasticsearch: Server) -> None:
    check_store(books, store="elasticsearch", elasticsearch_url=elasticsearch.url)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("customers money", ["zyx", "qvw"]), ("penguins dance gracefully", ["zyx", "qvw"]),
        # A query that names or filters means what it says.
        ("money", []), ("name: money", []), ("type: FUNCTION", []), ('"amount of money"', []), ("money NOT town", []),
        ("customers OR mon*", []),
    ],
)  # fmt: skip
def test_a_query_that_names_or_filters_gets_nothing_else(index: SourceIndex, query: str, expected: list[str]) -> None:
    [found] = shown(index, ranking(index), query)
    assert sorted(brought(found)) == sorted(expected)
    assert found.total == index.search(query).total + len(expected)


def test_without_a_request_or_an_episode_nothing_comes(index: SourceIndex) -> None:
    assert not brought(shown(index, ranking(index, ""), "customers money")[0])
    assert not brought(shown(index, ranking(index, "Paint a fence"), "customers money")[0])
    assert not GraphRanker(ToolGraph(), names={"a": "b"}).brings(AGAIN, AGAIN, (), ())


def test_what_was_shown_in_full_does_not_come_again(index: SourceIndex) -> None:
    environment = SearchEnvironment(index, ranking=ranking(index))
    first, second = environment.respond(Search("\n".join(["penguins dance gracefully"] * 2))).results
    assert sorted(brought(first)) == ["qvw", "zyx"]
    assert not second.hits and not second.total
    [found] = environment.respond(Search("customers money")).results
    assert not brought(found)


def test_after_a_call_the_next_step_comes_and_not_what_was_called(index: SourceIndex) -> None:
    [found] = shown(index, ranking(index, AGAIN, "books.zyx"), "customers money")
    assert brought(found) == ["qvw"]
    hit = next(hit for hit in found if hit.name == "qvw")
    assert hit.moved and {vote.name for vote in hit.moved.votes} >= {"steps", "episodes"}


def test_only_what_may_be_found_comes(index: SourceIndex) -> None:
    ids = {block.name: block.id for block in index.blocks()}
    limited = LimitedIndex(index, {ids["customers"], ids["zyx"]})
    [found] = shown(limited, ranking(index), "customers money")
    assert sorted(hit.name for hit in found) == ["customers", "zyx"] and found.total == 2
    assert all(hit.moved is None or hit.moved.place in (0, 1) for hit in found), "places are among what is there"


def test_nothing_is_loaded_that_is_not_shown(index: SourceIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    whole = ranking(index)
    found = index.search("customers money")
    monkeypatch.setattr(index, "get", lambda id: asked.append(id))
    assert len(whole.ranked(found, index, shown=0).hits) == 4
    assert not asked


def test_blocks_that_cannot_be_loaded_cost_no_search(index: SourceIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    def unavailable(id: str) -> None:
        raise IndexUnavailable("the cluster does not answer")

    expected = [hit.id for hit in index.search("customers money")]
    monkeypatch.setattr(index, "get", unavailable)
    told: list[str] = []
    [found] = shown(index, ranking(index, told=told), "customers money")
    assert sorted(hit.id for hit in found) == sorted(expected)
    assert found.total == 2 and not told


def test_a_memory_that_fails_is_told_and_the_hits_stay(index: SourceIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    broken = ranking(index, told=told)
    monkeypatch.setattr(broken.rankers[0], "brings", lambda *arguments: 1 / 0)
    [found] = shown(index, broken, "customers money")
    assert [hit.id for hit in found] == [hit.id for hit in index.search("customers money")]
    assert told == ["the search is not ranked: division by zero"]


def test_of_several_blocks_of_one_name_the_last_comes_once(books: Path) -> None:
    overloads = "\n\n".join(f"@overload\ndef zyx(rows: {kind}) -> {kind}: ..." for kind in ("int", "str"))
    (books / "books.py").write_text(f"from typing import overload\n\n\n{overloads}\n\n{BOOKS}")
    with codenav.index(books) as index:
        Graphs([index]).learn(EPISODE)
        [found] = shown(index, ranking(index), "customers money")
    assert sorted(brought(found)) == ["qvw", "zyx"]
    assert "Fold" in next(hit.docstring for hit in found if hit.name == "zyx")


def test_the_surest_come_first_and_not_all(books: Path) -> None:
    (books / "many.py").write_text("\n\n".join(f"def xq_{n}(rows):\n    return rows" for n in range(30)))
    with codenav.index(books) as index:
        graphs = Graphs([index])
        graphs.learn(replace(EPISODE, calls=tuple(TracedCall(f"many.xq_{n}") for n in range(30))))
        graphs.learn(replace(EPISODE, id="e2", request=AGAIN))
        [found] = shown(index, ranking(index, "How much money did they spend in May?"), "penguins dance gracefully")
    assert found.total == 10
    assert {hit.name for hit in found.hits[:2]} == {"zyx", "qvw"}
