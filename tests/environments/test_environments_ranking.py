"""The search environment with a ranker: what it ranks, what it loads, and what it does if the ranker fails."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import jsonschema
import pytest

import codenav
from codenav.core import schemas
from codenav.core.actions import Search, SearchObservation
from codenav.core.blocks import BlockKind, CodeBlock, Hit, IndexStats, LineSpan, Moved, SearchResult, Vote
from codenav.environments import Ranking, SearchEnvironment
from codenav.environments.ranking import MATCHES
from codenav.environments.search import FULL, MORE
from codenav.retrieval.source_index import SourceIndex

AREAS = Search("(type: FUNCTION) AND (name: area*)")
Order = Callable[[Sequence[Hit]], Sequence[Hit]]


class Ranked:
    """A ranker by a function, which keeps what it was given."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.given: list[tuple[str, str, Sequence[str], int]] = []

    def rank(self, request: str, query: str, calls: Sequence[str], hits: Sequence[Hit]) -> Sequence[Hit]:
        self.given.append((request, query, calls, len(hits)))
        return self.order(hits)


def backwards(hits: Sequence[Hit]) -> list[Hit]:
    for place, hit in enumerate(hits, 1):
        hit.moved = Moved(place, (Vote("usability", place / 100, "called"),))
    return list(reversed(hits))


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SourceIndex]:
    functions = [f'def area_{n}(width, length):\n    """Area {n}."""\n    return width * length\n' for n in range(130)]
    (tmp_path / "areas.py").write_text("\n\n".join(functions))
    with codenav.index(tmp_path) as opened:
        yield opened


def ids(observation: SearchObservation) -> list[str]:
    return [hit.id for hit in observation.results[0].hits]


def pages(environment: SearchEnvironment, number: int) -> list[list[str]]:
    return [ids(environment.respond(AREAS)) for _ in range(number)]


@pytest.mark.parametrize("query", [AREAS.content, "area of width and length", "name: area_1*", "area_77"])
def test_without_a_ranker_hits_order_and_scores_are_those_of_the_index(index: SourceIndex, query: str) -> None:
    environment = SearchEnvironment(index)
    expected = [(hit.id, hit.score, hit.why) for hit in index.search(query, limit=1000)]
    for _ in range(4):
        observation = environment.respond(Search(query))
        shown = [(hit.id, hit.score, hit.why) for hit in observation.results[0].hits]
        assert shown == expected[: FULL + MORE]
        assert all(hit.moved is None for hit in observation.results[0].hits)
        expected = expected[FULL:]


def test_a_ranker_orders_the_next_matches_that_were_not_seen(index: SourceIndex) -> None:
    every = [hit.id for hit in index.search(AREAS.content, limit=1000)]
    ranker = Ranked(backwards)
    environment = SearchEnvironment(
        index, ranking=Ranking(ranker, request="Which area?", called=lambda: ("farm.plough",))
    )
    first, second = pages(environment, 2)
    assert first == every[:MATCHES][::-1][: FULL + MORE]
    unseen = [id for id in every if id not in first[:FULL]]
    assert second == unseen[:MATCHES][::-1][: FULL + MORE]
    assert ranker.given == [("Which area?", AREAS.content, ("farm.plough",), MATCHES)] * 2


def test_every_match_is_shown_in_full_once_whatever_the_order(index: SourceIndex) -> None:
    environment = SearchEnvironment(index, ranking=Ranking(Ranked(backwards)))
    shown: list[str] = []
    while "have been shown in full before" not in (observation := environment.respond(AREAS)).text:
        shown += ids(observation)[:FULL]
    assert len(shown) == len(set(shown)) == 130


def test_the_record_tells_what_moved_a_hit(index: SourceIndex) -> None:
    environment = SearchEnvironment(index, ranking=Ranking(Ranked(backwards)))
    document = environment.respond(AREAS).to_data()[0]
    jsonschema.validate(document, schemas.load("search"))
    votes = [{"name": "usability", "weight": 1.0, "because": "called"}]
    assert document["hits"][0]["moved"] == {"from": MATCHES, "votes": votes}
    assert document["hits"][0]["why"]
    assert "moved" not in SearchEnvironment(index).respond(AREAS).to_data()[0]["hits"][0]


def broken(hits: Sequence[Hit]) -> Sequence[Hit]:
    hits[1].moved = Moved(1, ())
    raise ValueError("no such file")


@pytest.mark.parametrize(
    ("order", "told"),
    [
        (broken, "the search is not ranked: no such file"),
        (lambda hits: hits[1:], "other hits came back"),
        (lambda hits: [hits[0], *hits], "other hits came back"),
        (lambda hits: [*hits[1:], hits[1]], "other hits came back"),
        (lambda hits: None, "the search is not ranked"),
    ],
)
def test_a_ranker_that_fails_is_told_and_changes_nothing(index: SourceIndex, order: Order, told: str) -> None:
    said: list[str] = []
    environment = SearchEnvironment(index, ranking=Ranking(Ranked(order), tell=said.append))
    observation = environment.respond(AREAS)
    assert ids(observation) == ids(SearchEnvironment(index).respond(AREAS))
    assert all(hit.moved is None for hit in observation.results[0].hits)
    assert len(said) == 1 and told in said[0]


class Counted:
    """An index of many functions that counts the texts it loads."""

    def __init__(self) -> None:
        self.loaded: list[int] = []

    def search(self, query: str, *, kinds: Collection[BlockKind] | None = None, limit: int = 100) -> SearchResult:
        hits = [
            Hit(
                str(n), kind=BlockKind.FUNCTION, path="a.py", score=1000 - n, why="text", load=lambda n=n: self._load(n)
            )
            for n in range(min(limit, 1000))
        ]
        return SearchResult(query, hits=hits, total=1000, read_as=query)

    def _load(self, number: int) -> CodeBlock:
        self.loaded.append(number)
        text = f"def f{number}(): pass"
        return CodeBlock(str(number), BlockKind.FUNCTION, f"f{number}", f"f{number}", "a.py", LineSpan(1, 1), text)

    def get(self, id: str) -> CodeBlock | None:
        return self._load(int(id))

    def blocks(self) -> Iterator[CodeBlock]:
        return map(self._load, range(1000))

    def stats(self) -> IndexStats:
        return IndexStats("counted", "embedded", blocks=1000)

    def close(self) -> None:
        return


def test_no_text_of_a_hit_that_is_not_shown_is_loaded() -> None:
    index = Counted()
    environment = SearchEnvironment(index, ranking=Ranking(Ranked(backwards)))
    observation = environment.respond(Search("f"))
    assert sorted(index.loaded) == sorted(int(id) for id in ids(observation)) == list(range(87, 100))
