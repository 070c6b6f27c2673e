"""The search environment on a real index: paging, several queries, bounds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import codenav
from codenav.core.actions import Search, SearchObservation
from codenav.core.usage import estimate_tokens
from codenav.environments import SearchEnvironment
from codenav.environments.search import FULL, MORE, QUERIES, TOKENS
from codenav.navigation.members import instance_of
from codenav.retrieval.source_index import SourceIndex


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SourceIndex]:
    root = tmp_path / "many"
    root.mkdir()
    functions = [f'def area_{n}(width, length):\n    """Area {n}."""\n    return width * length\n' for n in range(130)]
    (root / "areas.py").write_text("\n\n".join(functions))
    long = "".join(f"    total += {n}\n" for n in range(3000))
    (root / "long.py").write_text("".join(f"def endless_{n}(total):\n{long}    return total\n\n\n" for n in range(4)))
    with codenav.index(root) as opened:
        yield opened


def shown(observation: SearchObservation) -> list[str]:
    """Names of what was shown in full."""
    return [hit.name for hit in observation.results[0].hits[:FULL]]


def test_the_same_query_again_shows_the_next_ones_until_none_is_left(index: SourceIndex) -> None:
    environment = SearchEnvironment(index)
    seen: list[str] = []
    while True:
        observation = environment.respond(Search("(type: FUNCTION) AND (name: area*)"))
        if "have been shown in full before" in observation.text:
            break
        names = shown(observation)
        assert names
        assert not set(names) & set(seen)
        seen += names
    assert len(seen) == len(set(seen)) == 130


def test_counts_are_true_on_every_page(index: SourceIndex) -> None:
    environment = SearchEnvironment(index)
    first = environment.respond(Search("(type: FUNCTION) AND (name: area*)"))
    assert f"130 matches: {FULL} in full, {MORE} as signatures, {130 - FULL - MORE} not shown" in first.text
    second = environment.respond(Search("(type: FUNCTION) AND (name: area*)"))
    assert f"130 matches, {FULL} shown before: {FULL} in full" in second.text


def test_what_was_shown_as_a_signature_may_come_in_full(index: SourceIndex) -> None:
    environment = SearchEnvironment(index)
    first = environment.respond(Search("(type: FUNCTION) AND (name: area*)"))
    signature = first.results[0].hits[FULL].name
    assert shown(environment.respond(Search(f"name: {signature}")))[0] == signature


def test_two_environments_do_not_share_what_was_seen(index: SourceIndex) -> None:
    query = Search("(type: FUNCTION) AND (name: area*)")
    assert shown(SearchEnvironment(index).respond(query)) == shown(SearchEnvironment(index).respond(query))


def test_each_line_is_a_query_up_to_a_bound(index: SourceIndex) -> None:
    lines = "\n\n".join(f"name: area_{n}" for n in range(QUERIES + 2))
    observation = SearchEnvironment(index).respond(Search(lines))
    assert len(observation.results) == QUERIES
    assert "2 more queries were not run" in observation.text


def test_an_observation_is_bounded_in_tokens(index: SourceIndex) -> None:
    observation = SearchEnvironment(index).respond(Search("name: endless*\nname: endless_1\nname: endless_2"))
    assert estimate_tokens(observation.text) <= TOKENS
    assert "characters left out" in observation.text


def test_a_query_that_is_too_large_is_told_and_not_raised(index: SourceIndex) -> None:
    observation = SearchEnvironment(index).respond(Search("x" * 70_000 + "\nname: area_1"))
    assert "split the query" in observation.text
    assert observation.results[1].hits


def test_an_instance_at_module_level_is_shown_with_its_class_and_a_few_methods(tmp_path: Path) -> None:
    methods = "".join(f"    def get_{n}(self, alpha=None): ...\n\n" for n in range(9))
    (tmp_path / "geo.py").write_text(
        "class Base:\n    def lookup(self, x): ...\n\n\n"
        f"class Table(Base):\n{methods}\n\ncountries = Table()\nsize = 3\n"
    )
    with codenav.index(tmp_path) as index:
        environment = SearchEnvironment(index, instance_of=instance_of)
        text = environment.respond(Search("name:countries")).text
        assert (
            "countries = Table()\n```\nAn instance of class Table(Base)  (geo.py:5)\n- def get_0(self, alpha=None)"
            in text
        )
        assert text.endswith("- def get_7(self, alpha=None)\n- and 2 more")
        assert "instance" not in environment.respond(Search("name:size")).text
