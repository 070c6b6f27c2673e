"""The dense stage of an index: what comes in by meaning, what stays first, and what is kept of the vectors."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from elasticsearch_server import Server
from retrieval.elastic import store_of

import codenav
from codenav.core.blocks import BlockKind
from codenav.core.errors import Unavailable
from codenav.retrieval import requests
from codenav.retrieval.dense import block_vectors
from codenav.retrieval.dense.files import Retriever
from codenav.retrieval.dense.fitting import Weights
from codenav.retrieval.dense.memory import Memory
from codenav.retrieval.dense.stage import DenseIndex, dense_index
from codenav.retrieval.dense.words import StaticEncoder
from codenav.retrieval.source_index import SourceIndex, remove_index, vectors_dir

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


def names(found: Sequence[object]) -> list[str]:
    return [hit.qualname for hit in found]  # type: ignore[attr-defined]


def test_what_words_do_not_find_comes_in_by_meaning(index: SourceIndex) -> None:
    words = index.search("remove catalog files")
    found = dense_index([index], StaticEncoder()).search("remove catalog files")
    assert found[0].qualname == "erase_folder" and found.total >= words.total
    brought = [hit for hit in found if hit.id not in {other.id for other in words}]
    assert all(hit.why == "meaning" and hit.moved is None for hit in brought)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


def test_what_moved_a_hit_is_told(index: SourceIndex) -> None:
    memory = Memory.of(["water a seed and a tree"] * 3, ["tools.erase_folder"], [[0]] * 3)
    retriever = Retriever(StaticEncoder(), memory, Weights(1.0, 0.1, 3.0), {})
    found = dense_index([index], retriever.encoder, retriever=retriever).search("water the seed of a tree")
    assert found[0].qualname == "erase_folder"
    moved = [hit.moved for hit in found if hit.moved]
    assert moved and all(vote.name in ("dense", "trained") for one in moved for vote in one.votes)


def test_weights_that_were_fitted_on_other_callables_do_not_count(index: SourceIndex) -> None:
    memory = Memory.of(["water a seed"] * 3, ["other.erase_folder"], [[0]] * 3)
    retriever = Retriever(StaticEncoder(), memory, Weights(0.0, 0.0, 1.0), {})
    found = dense_index([index], retriever.encoder, retriever=retriever).search("water the seed of a tree")
    untrained = dense_index([index], StaticEncoder()).search("water the seed of a tree")
    assert [(hit.id, hit.score) for hit in found] == [(hit.id, hit.score) for hit in untrained]


def test_names_and_filters_are_left_to_words(index: SourceIndex) -> None:
    encoder = Counting()
    dense = dense_index([index], encoder)
    for query in ("shorten_text", "type: CLASS", '"seed and water"', "shorten* AND text"):
        assert names(dense.search(query)) == names(index.search(query))
    assert not encoder.texts, "nothing is encoded for them"
    assert dense.search("grow tree")[0].qualname == "grow_tree", "a name of just these words stays first"
    assert not dense.search("plant seeds", limit=0).hits


def test_kinds_are_kept_to(index: SourceIndex) -> None:
    found = dense_index([index], StaticEncoder()).search("plants of a garden", kinds={BlockKind.CLASS})
    assert names(found) == ["Garden"]


def test_a_request_is_compared_as_a_whole(index: SourceIndex) -> None:
    request = "My disk is full, so remove the catalog. Then plant something."
    encoder = Counting()
    dense = dense_index([index], encoder)
    assert isinstance(dense, DenseIndex)
    assert names(requests.search(dense, request)) == names(dense.answering(request))
    assert "erase_folder" in names(dense.answering(request))[:2]
    assert names(dense.answering("...")) == names(requests.search(index, "..."))


def test_a_search_does_not_fail_with_its_encoder(index: SourceIndex) -> None:
    told: list[str] = []
    encoder = Counting()
    encoder.fails = True
    dense = dense_index([index], encoder, tell=told.append)
    for _ in range(2):
        assert names(dense.search("water a seed")) == names(index.search("water a seed"))
    assert told == ["the search goes by words alone: the server is down"]


def test_only_changed_blocks_are_encoded_again(source: Path) -> None:
    first, again, changed = Counting(), Counting(), Counting()
    with codenav.index(source) as index:
        dense_index([index], first).search("water a seed")
        dense_index([index], again).search("water a seed")
    assert len(first.texts) == 4 and not again.texts
    (source / "tools.py").write_text(CODE.replace("Plant a seed", "Plant seeds"))
    with codenav.index(source) as index:
        found = dense_index([index], changed).search("water a seed")
        assert len(changed.texts) == 1 and "grow_tree" in changed.texts[0]
        assert found[0].docstring == "Plant seeds and water it."
    assert [*vectors_dir().glob("*/*.npz")]
    remove_index(source)
    assert not [*vectors_dir().iterdir()], "the vectors go with their index"


def test_vectors_that_are_damaged_are_made_again_and_need_not_be_kept(source: Path) -> None:
    with codenav.index(source) as index:
        before = names(dense_index([index], StaticEncoder()).search("remove catalog files"))
        (file,) = vectors_dir().glob("*/*.npz")
        for content in (b"", b"PK\x03\x04 nothing", file.read_bytes()[:-90]):
            file.write_bytes(content)
            assert names(dense_index([index], StaticEncoder()).search("remove catalog files")) == before
        shutil.rmtree(vectors_dir())
        vectors_dir().touch()
        told: list[str] = []
        assert names(dense_index([index], StaticEncoder(), tell=told.append).search("remove catalog files")) == before
    assert len(told) == 1 and told[0].startswith("vectors of blocks are not kept: ")


def test_an_empty_index_has_nothing_to_find(source: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "a.py").write_text("x = 1\n")
    with codenav.index(tmp_path / "none") as empty, codenav.index(source) as index:
        assert not dense_index([empty], StaticEncoder()).search("remove catalog files").hits
        both = dense_index([empty, index], StaticEncoder()).search("remove catalog files")
        assert names(both) == names(dense_index([index], StaticEncoder()).search("remove catalog files"))


def test_vectors_of_another_size_are_made_again(index: SourceIndex) -> None:
    class Narrow(Counting):
        def encode(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
            return super().encode(texts, query=query)[:, :100]

    narrow, told = Narrow(), list[str]()
    dense_index([index], StaticEncoder()).search("water a seed")
    found = dense_index([index], narrow, tell=told.append).search("water a seed")
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
        dense_index([index], tiring, tell=told.append).search("water a seed")
        found = dense_index([index], fresh, tell=told.append).search("water a seed")
        assert names(found) == names(dense_index([index], StaticEncoder()).search("water a seed"))
    assert len(tiring.texts) == 3 and len(fresh.texts) == 1
    assert told[0] == "blocks are encoded before the first search with this encoder: 3 left, about 1 min"
    assert told[1] == "the search goes by words alone: the server is down"


def test_nothing_is_told_of_a_long_work_that_is_over(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_vectors, "_LONG", -1.0)
    told: list[str] = []
    with codenav.index(source) as index:
        dense_index([index], Counting(), tell=told.append).search("water a seed")
    assert not told


def test_an_encoder_may_raise_anything_and_the_search_goes_on(index: SourceIndex) -> None:
    class Broken(StaticEncoder):
        def encode(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
            raise ZeroDivisionError

    told: list[str] = []
    found = dense_index([index], Broken(), tell=told.append).search("water a seed")
    assert names(found) == names(index.search("water a seed"))
    assert told == ["the search goes by words alone: ZeroDivisionError"]


def test_both_stores_find_the_same_by_meaning(index: SourceIndex, source: Path, elasticsearch: Server) -> None:
    with codenav.index(source, store="elasticsearch", elasticsearch_url=elasticsearch.url) as other:
        one, two = (dense_index([each], StaticEncoder()) for each in (index, other))
        for query in ("remove catalog files", "plants of a garden", "water a seed"):
            assert names(two.search(query)) == names(one.search(query))
    with store_of(elasticsearch) as store:
        remove_index(source, store=store)
