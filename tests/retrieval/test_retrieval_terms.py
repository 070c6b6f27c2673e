"""Patterns that begin with a wildcard: the dictionary in memory says what the engine says."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from codenav.retrieval import self_check
from codenav.retrieval.embedded.index import EmbeddedIndex
from codenav.retrieval.embedded.terms import MAX_EXPANDED, Terms
from codenav.retrieval.reasons import glob


@pytest.mark.parametrize("pattern", ["*test*", "*_path*", "*path", "?et_*", "*n?de*", "**ing*", "*al*all*", "*zzz*"])
def test_all_terms_that_match_and_no_other(pattern: str) -> None:
    chance = random.Random(3)
    parts = ["test", "path", "get", "node", "all", "ing", "o", "_", "al"]
    words = sorted({"".join(chance.choices(parts, k=chance.randint(1, 5))) for _ in range(3_000)})
    assert Terms(words).matching(pattern) == [word for word in words if glob(pattern, word)]


def test_what_may_stand_for_too_many_terms_is_left_to_the_engine() -> None:
    terms = Terms(f"name_{number}" for number in range(MAX_EXPANDED + 1))
    assert terms.matching("*name*") is None
    assert terms.matching("*name_2000*") == ["name_2000"]
    assert terms.matching("*a*") is None
    assert terms.matching("*") is None
    assert terms.matching("*na\\me*") is None


@pytest.mark.parametrize("query", ["*path*", "name: *_graph*", "*degree AND type: FUNCTION", "doc: *edges*", "*a*"])
def test_the_second_search_is_answered_from_memory_and_says_the_same(networkx_index: EmbeddedIndex, query: str) -> None:
    fresh = EmbeddedIndex(networkx_index.folder, source=networkx_index.source)
    first, second, third = ([(hit.id, hit.score) for hit in fresh.search(query)] for _ in range(3))
    assert first and first == second == third
    assert len({fresh.search(query).total for _ in range(2)}) == 1


def test_calls_are_found_by_their_whole_and_their_last_name(tmp_path: Path) -> None:
    index = EmbeddedIndex(tmp_path / "index", source="check")
    blocks = [
        self_check.block("one"),
        self_check.block("two", line=5),
        self_check.block("three", line=9),
    ]
    called = [("np.linalg.norm", "Resize"), (".fit", "self.resize"), ()]
    calling = [replace(block, calls=names) for block, names in zip(blocks, called, strict=True)]
    index.apply([self_check.change("a.py", *calling)])

    def names(query: str) -> list[str]:
        return [hit.name for hit in index.search(query)]

    assert names("calls:np.linalg.norm") == names("calls:norm") == ["one"]
    assert names("calls:resize") == ["one", "two"]
    assert names("calls:fit") == names("calls:self.resize") == ["two"]
    assert names("calls:*size AND NOT calls:fit") == ["one"]
    assert names("calls:linalg") == []
    assert names("calls:*") == ["one", "two"]
