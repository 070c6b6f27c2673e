"""The data of benchmarks/search.py: queries in plain words, and the blocks that each wants."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
import plain_packages
from plain_packages import FURTHER, GUIDES, HALVES, REPOSITORIES, REPOSITORIES_PUT_AWAY, SETS, Query

REPOSITORY_HALVES = (REPOSITORIES, REPOSITORIES_PUT_AWAY)
TUNED_ON = {"django", "networkx", "pandas", "scikit-learn", "sqlalchemy", "transformers"}
"""The packages on which weights were found."""


def queries(half: str) -> list[Query]:
    return plain_packages.read(half)


def names(packages: set[str]) -> set[str]:
    return {re.split("==|@", package)[0].split(":")[-1] for package in packages}


@pytest.mark.parametrize("half", HALVES)
def test_a_half_asks_each_of_six_packages_ten_times_and_once_more_in_further_words(half: str) -> None:
    counts = Counter((query.part, query.package) for query in queries(half))

    assert set(counts.values()) == {10}
    assert Counter(part for part, _ in counts) == {half: 6, f"{half}, {FURTHER}": 6}


def test_the_guides_ask_each_of_four_packages_twelve_times() -> None:
    counts = Counter((query.part, names({query.package}).pop()) for query in queries(GUIDES))

    assert counts == {(GUIDES, package): 12 for package in ("django", "pandas", "scikit-learn", "sqlalchemy")}


def test_the_repositories_are_asked_seven_or_eight_times_each() -> None:
    counts = Counter((query.part, query.package) for half in REPOSITORY_HALVES for query in queries(half))

    assert Counter(part for part, _ in counts) == {REPOSITORIES: 5, REPOSITORIES_PUT_AWAY: 6}
    assert set(counts.values()) == {7, 8}


@pytest.mark.parametrize("half", SETS)
def test_each_query_is_plain_words_and_each_wanted_block_is_given_once_by_path_and_name(half: str) -> None:
    for query in queries(half):
        assert re.fullmatch(r"[a-z0-9.-]+==[0-9.]+|(?:pypi|npm|cargo|go):[a-z0-9./-]+@v?[0-9.]+", query.package)
        assert len(query.text.split()) >= 2 and not set('_:()"*') & set(query.text)
        assert query.wanted and len(set(query.wanted)) == len(query.wanted)
        assert all(re.fullmatch(r"[\w/.-]+\.(?:pyi?|js|d\.ts|go|rs)::[\w.]+", wanted) for wanted in query.wanted)


@pytest.mark.parametrize("half", SETS)
def test_no_query_is_asked_twice(half: str) -> None:
    counts = Counter((query.part, query.package, query.text.casefold()) for query in queries(half))

    assert set(counts.values()) == {1}


def test_no_package_is_in_two_sets_or_among_those_that_weights_were_found_on() -> None:
    sets = [names({query.package for query in queries(half)}) for half in (*HALVES, *REPOSITORY_HALVES)]
    sets += [names(set(plain_packages.DOCUMENTED)), TUNED_ON]

    assert sum(map(len, sets)) == len(set.union(*sets))
