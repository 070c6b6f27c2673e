"""The dense stage of an index: what comes in by meaning, what stays first, and what is kept of the vectors."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elasticsearch_server import Server
from retrieval.elastic import store_of

import codenav
from codenav.core.blocks import BlockKind, SearchResult
from codenav.core.errors import Unavailable
from codenav.core.protocols import Encoder
from codenav.environments import Ranking
from codenav.retrieval import requests
from codenav.retrieval.dense import block_vectors
from codenav.retrieval.dense.files import Retriever
from codenav.retrieval.dense.fitting import Weights
from codenav.retrieval.dense.memory import Memory
from codenav.retrieval.dense.ranker import dense_ranker
from codenav.retrieval.dense.words import StaticEncoder
from codenav.retrieval.source_index import SourceIndex, as_index, remove_index, vectors_dir

CODE = '''\
def shorten_text(text, limit):
    """Cut a text to a number of letters."""

def erase_folder(path):
    """Delete a directory with all that is in it."""

def grow_tree(seed):
    """Plant a seed and water it."""

class Garden:
    """A garden with trees and flowers."""
'''


class Counting(StaticEncoder):
    """An encoder that counts the texts it is given, and that may fail."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.fails = False

    def encode(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        if self.fails:
            raise Unavailable("the server is down")
        if not query:
            self.texts += texts
        return super().encode(texts, query=query)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "lib"
    folder.mkdir()
    (folder / "tools.py").write_text(CODE)
    return folder


@pytest.fixture
def index(source: Path) -> Iterator[SourceIndex]:
    with codenav.index(source) as opened:
        yield opened


def search(
    indexes: SourceIndex | Sequence[SourceIndex], query: str, encoder: Encoder | None = None, *, request: str = "",
    kinds: Collection[BlockKind] | None = None, **given: Any,
) -> SearchResult:  # fmt: skip
    """What a search finds with a dense ranker; by a request without a query."""
    some = [indexes] if isinstance(indexes, SourceIndex) else indexes
    index = as_index(some)
    ranker = dense_ranker(some, encoder or StaticEncoder(), kinds=kinds, **given)
    found = index.search(query, kinds=kinds) if query else requests.search(index, request, kinds=kinds)
    return Ranking(ranker, request=request).ranked(found, index, shown=10, kinds=kinds)


def names(found: Sequence[object]) -> list[str]:
    return [hit.qualname for hit in found]  # type: ignore[attr-defined]


def test_what_words_do_not_find_comes_in_by_meaning(index: SourceIndex) -> None:
    words = index.search("remove catalog files")
    found = search(index, "remove catalog files")
    assert found[0].qualname == "erase_folder" and found.total >= words.total
    brought = [hit for hit in found if hit.id not in {other.id for other in words}]
    assert all(hit.why == "meaning" and hit.moved and hit.moved.place == 0 for hit in brought)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


def test_what_moved_a_hit_is_told(index: SourceIndex) -> None:
    memory = Memory.of(["water a seed and a tree"] * 3, ["tools.erase_folder"], [[0]] * 3)
    retriever = Retriever(StaticEncoder(), memory, Weights(1.0, 0.1, 3.0), {})
    found = search(index, "water the seed of a tree", retriever.encoder, retriever=retriever)
    assert found[0].qualname == "erase_folder"
    moved = [hit.moved for hit in found if hit.moved]
    assert moved and all(vote.name in ("dense", "trained") for one in moved for vote in one.votes)


def test_weights_that_were_fitted_on_other_callables_do_not_count(index: SourceIndex) -> None:
    memory = Memory.of(["water a seed"] * 3, ["other.erase_folder"], [[0]] * 3)
    retriever = Retriever(StaticEncoder(), memory, Weights(0.0, 0.0, 1.0), {})
    found = search(index, "water the seed of a tree", retriever.encoder, retriever=retriever)
    untrained = search(index, "water the seed of a tree")
    assert [(hit.id, hit.score) for hit in found] == [(hit.id, hit.score) for hit in untrained]


def test_names_and_filters_are_left_to_words(index: SourceIndex) -> None:
    encoder = Counting()
    for query in ("shorten_text", "type: CLASS", '"seed and water"', "shorten* AND text"):
        assert names(search(index, query, encoder)) == names(index.search(query))
    assert not encoder.texts, "nothing is encoded for them"
    assert search(index, "grow tree", encoder)[0].qualname == "grow_tree", "a name of just these words stays first"


def test_kinds_are_kept_to(index: SourceIndex) -> None:
    found = search(index, "plants of a garden", kinds={BlockKind.CLASS})
    assert names(found) == ["Garden"]


def test_a_request_is_compared_as_a_whole(index: SourceIndex) -> None:
    request = "My disk is full, so remove the catalog. Then plant something."
    found = search(index, "", request=request)
    assert "erase_folder" in names(found)[:2]
    again = search(index, requests.as_words(request), request=request)
    assert {hit.id for hit in again} == {hit.id for hit in found}


def test_a_search_does_not_fail_with_its_encoder(index: SourceIndex) -> None:
    told: list[str] = []
    encoder = Counting()
    encoder.fails = True
    assert names(search(index, "water a seed", encoder, tell=told.append)) == names(index.search("water a seed"))
    assert told == ["the search goes by words alone: the server is down"]


def test_only_changed_blocks_are_encoded_again(source: Path) -> None:
    first, again, changed = Counting(), Counting(), Counting()
    with codenav.index(source) as index:
        search(index, "water a seed", first)
        search(index, "water a seed", again)
    assert len(first.texts) == 4 and not again.texts
    (source / "tools.py").write_text(CODE.replace("Plant a seed", "Plant seeds"))
    with codenav.index(source) as index:
        found = search(index, "water a seed", changed)
        assert len(changed.texts) == 1 and "grow_tree" in changed.texts[0]
        assert found[0].docstring == "Plant seeds and water it."
    assert [*vectors_dir().glob("*/*.npz")]
    remove_index(source)
    assert not [*vectors_dir().iterdir()], "the vectors go with their index"


def test_vectors_that_are_damaged_are_made_again_and_need_not_be_kept(source: Path) -> None:
    with codenav.index(source) as index:
        before = names(search(index, "remove catalog files"))
        (file,) = vectors_dir().glob("*/*.npz")
        for content in (b"", b"PK\x03\x04 nothing", file.read_bytes()[:-90]):
            file.write_bytes(content)
            assert names(search(index, "remove catalog files")) == before
        shutil.rmtree(vectors_dir())
        vectors_dir().touch()
        told: list[str] = []
        assert names(search(index, "remove catalog files", tell=told.append)) == before
    assert len(told) == 1 and told[0].startswith("vectors of blocks are not kept: ")


def test_an_empty_index_has_nothing_to_find(source: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "a.py").write_text("x = 1\n")
    with codenav.index(tmp_path / "none") as empty, codenav.index(source) as index:
        assert not search([empty], "remove catalog files").hits
        both = search([empty, index], "remove catalog files")
        assert names(both) == names(search(index, "remove catalog files"))


def test_vectors_of_another_size_are_made_again(index: SourceIndex) -> None:
    class Narrow(Counting):
        def encode(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
            return super().encode(texts, query=query)[:, :100]

    narrow, told = Narrow(), list[str]()
    search(index, "water a seed")
    found = search(index, "water a seed", narrow, tell=told.append)
    assert names(found)[0] == "grow_tree" and len(narrow.texts) == 4 and not told


def test_what_was_encoded_before_a_failure_is_kept(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_vectors, "_BATCH", 1)
    monkeypatch.setattr(block_vectors, "_LONG", -1.0)

    class Tiring(Counting):
        def encode(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
            self.fails = not query and len(self.texts) == 3
            return super().encode(texts, query=query)

    tiring, fresh, told = Tiring(), Counting(), list[str]()
    with codenav.index(source) as index:
        search(index, "water a seed", tiring, tell=told.append)
        found = search(index, "water a seed", fresh, tell=told.append)
        assert names(found) == names(search(index, "water a seed"))
    assert len(tiring.texts) == 3 and len(fresh.texts) == 1
    assert told[0] == "blocks are encoded before the first search with this encoder: 3 left, about 1 min"
    assert told[1] == "the search goes by words alone: the server is down"


def test_nothing_is_told_of_a_long_work_that_is_over(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_vectors, "_LONG", -1.0)
    told: list[str] = []
    with codenav.index(source) as index:
        search(index, "water a seed", Counting(), tell=told.append)
    assert not told


def test_an_encoder_may_raise_anything_and_the_search_goes_on(index: SourceIndex) -> None:
    class Broken(StaticEncoder):
        def encode(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
            raise ZeroDivisionError

    told: list[str] = []
    found = search(index, "water a seed", Broken(), tell=told.append)
    assert names(found) == names(index.search("water a seed"))
    assert told == ["the search goes by words alone: ZeroDivisionError"]


def test_both_stores_find_the_same_by_meaning(index: SourceIndex, source: Path, elasticsearch: Server) -> None:
    with codenav.index(source, store="elasticsearch", elasticsearch_url=elasticsearch.url) as other:
        for query in ("remove catalog files", "plants of a garden", "water a seed"):
            assert names(search(other, query)) == names(search(index, query))
    with store_of(elasticsearch) as store:
        remove_index(source, store=store)
