"""Near words by meaning, and the vectors that they come from."""

from __future__ import annotations

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from codenav.retrieval.meaning import DATA, closeness, neighbours
from codenav.retrieval.stems import stem

FETCH = (("retrieve", 0.677), ("fetcher", 0.585), ("get", 0.547), ("obtain", 0.513))


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("average", {"mean", "avg"}),
        ("concatenate", {"concat", "merge", "combine"}),
        ("folder", {"directory", "dir"}),
        ("remove", {"delete", "drop", "discard"}),
        ("standardize", {"normalize", "rescale"}),
    ],
)
def test_words_that_programmers_use_for_one_another_are_near(word: str, near: set[str]) -> None:
    assert near <= set(dict(neighbours(word)))


def test_the_same_words_come_on_every_machine_best_first() -> None:
    """The figures are exact: they are made of whole numbers, and rounded."""
    assert neighbours("fetch", 4) == FETCH
    assert neighbours("FETCH", 4) == FETCH
    assert neighbours("fetch", 24)[:4] == FETCH
    cosines = [cosine for _, cosine in neighbours("fetch", 100)]
    assert len(cosines) == 100 and cosines == sorted(cosines, reverse=True)


def test_words_of_the_same_cosine_are_in_alphabetical_order() -> None:
    found = neighbours("fetch", 100)
    assert len({cosine for _, cosine in found}) < 100
    assert list(found) == sorted(found, key=lambda pair: (-pair[1], pair[0]))


def test_an_unknown_word_is_cut_into_known_ones() -> None:
    assert {"folder", "name", "directory", "filename"} <= set(dict(neighbours("foldername")))


@pytest.mark.parametrize(
    "word",
    ["", "7", "2026", "a", "naïve", "load_model", "two words", "x" * 101, "frobnicate", "\u212aey", "##ing", "split\n"],
)
def test_what_is_no_word_has_no_near_words(word: str) -> None:
    assert neighbours(word) == ()


def test_inflections_are_told_once_and_those_of_the_word_not_at_all() -> None:
    found = [stem(word) for word, _ in neighbours("concatenates", 40)]
    assert len(found) == len(set(found)) == 40 and stem("concatenates") not in found


def test_threads_that_ask_first_at_once_get_the_same() -> None:
    neighbours.cache_clear()
    gate = threading.Barrier(4)

    def asked(word: str) -> object:
        gate.wait()
        return neighbours(word)

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(asked, ["split", "merge", "split", "merge"]))
    assert found[:2] == found[2:] == [neighbours("split"), neighbours("merge")]


def test_the_vectors_are_those_of_the_note_on_their_origin() -> None:
    told = (DATA / "ORIGIN.md").read_text()
    assert "Apache License 2.0" in told
    for name in ("word_vectors.npy", "words.txt"):
        assert f"    {hashlib.sha256((DATA / name).read_bytes()).hexdigest()}  {name}\n" in told


def test_a_rare_word_says_more_of_a_text_than_one_that_is_everywhere() -> None:
    same, rare, common, none = closeness(["get", "password"], [["password", "get"], ["password"], ["get"], ["qqqx"]])
    assert same == 1.0 and none == 0.0
    assert rare > 0.8 > common
