"""Several indexes as one, and the catalogue of all indexes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from codenav.core.blocks import BlockKind, FileSkip
from codenav.core.errors import IndexUnavailable, NotFound, QueryTooLarge
from codenav.retrieval.combined import CombinedIndex
from codenav.retrieval.embedded.catalog import EmbeddedStore
from codenav.retrieval.embedded.generations import build_lock
from codenav.retrieval.embedded.index import EmbeddedIndex
from codenav.retrieval.self_check import block, change


@pytest.fixture
def two(tmp_path: Path) -> list[EmbeddedIndex]:
    first = EmbeddedIndex(tmp_path / "one", source="pkg:one@1")
    second = EmbeddedIndex(tmp_path / "two", source="pkg:two@2")
    first.apply([change("b.py", block("load", "b.py"), block("save", "b.py", line=9))], versions={"one": "1"})
    second.apply(
        [change("a.py", block("load", "a.py"), block("Loader", "a.py", kind="CLASS", line=9)), FileSkip("x", "binary")],
        versions={"two": "2"},
    )
    return [first, second]


def test_hits_of_all_indexes_by_score_then_path(two: list[EmbeddedIndex]) -> None:
    both = CombinedIndex(two)
    result = both.search("load*")
    assert result.total == 3
    assert [hit.score for hit in result] == sorted((hit.score for hit in result), reverse=True)
    assert {hit.id for hit in result} == {hit.id for index in two for hit in index.search("load*")}
    same = both.search("type:FUNCTION")
    assert [(hit.path, hit.name) for hit in same] == [("a.py", "load"), ("b.py", "load"), ("b.py", "save")]
    for limit in range(5):
        assert [hit.id for hit in both.search("type:FUNCTION", limit=limit)] == [hit.id for hit in same[:limit]]
    assert both.search("load", kinds=[BlockKind.CLASS]).total == 1
    assert both.search("text: (x").repairs == two[0].search("text: (x").repairs != ()
    with pytest.raises(QueryTooLarge):
        both.search("x" * 70_000)


def test_blocks_stats_and_close(two: list[EmbeddedIndex]) -> None:
    both = CombinedIndex(two)
    wanted = two[1].search("Loader")[0].block
    assert both.get(wanted.id) == wanted
    assert both.get("nowhere") is None
    stats = both.stats()
    assert (stats.source, stats.store, stats.files, stats.blocks) == ("pkg:one@1, pkg:two@2", "embedded", 2, 4)
    assert stats.seconds == sum(index.stats().seconds for index in two) > 0
    assert dict(stats.kinds) == {"CLASS": 1, "FUNCTION": 3}
    assert dict(stats.versions) == {"one": "1", "two": "2"}
    assert list(stats.skipped) == [FileSkip("x", "binary")]
    both.close()
    both.close()
    with pytest.raises(IndexUnavailable):
        both.search("x")


def test_no_index_at_all() -> None:
    none = CombinedIndex([])
    result = none.search("type: functon")
    assert (list(result), result.total, result.read_as) == ([], 0, "type:FUNCTION")
    assert none.stats().blocks == 0


def test_the_catalogue_passes_over_what_is_no_index(two: list[EmbeddedIndex], tmp_path: Path) -> None:
    (tmp_path / "junk").mkdir()
    (tmp_path / "junk" / "file").write_text("x")
    (tmp_path / "a file").write_text("x")
    (tmp_path / ".removed-1-x").mkdir()
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "current").write_text("gen-9")
    found = {item.key: item for item in EmbeddedStore(tmp_path).list()}
    assert sorted(found) == ["half", "one", "two"]
    assert (found["one"].source, found["one"].blocks, found["one"].notice) == ("pkg:one@1", 2, "")
    assert found["one"].size_bytes > 1000
    half = found["half"]
    assert half.notice == "the next use builds it anew: some of its files are damaged or gone"
    assert (half.source, half.blocks) == ("half", 0)
    assert [item.source for item in EmbeddedStore(tmp_path).list()][1:] == ["pkg:one@1", "pkg:two@2"]
    assert EmbeddedStore(tmp_path / "none").list() == []
    with pytest.raises(IndexUnavailable):
        EmbeddedStore(tmp_path / "a file").list()


def test_removing_an_index(two: list[EmbeddedIndex], tmp_path: Path) -> None:
    reader = EmbeddedIndex(tmp_path / "one", source="pkg:one@1")
    hits = reader.search("load")
    (tmp_path / ".removed-1-left").mkdir()
    EmbeddedStore(tmp_path).remove("one")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["two"]
    assert [hit.name for hit in hits] == ["load"]
    again = EmbeddedIndex(tmp_path / "one", source="pkg:one@1")
    assert not again.exists
    again.apply([change("c.py", block("anew", "c.py"))])
    assert [item.key for item in EmbeddedStore(tmp_path).list()] == ["one", "two"]
    shutil.rmtree(tmp_path / "two" / "gen-1")
    EmbeddedStore(tmp_path).remove("two")
    assert [item.key for item in EmbeddedStore(tmp_path).list()] == ["one"]


@pytest.mark.parametrize("key", ["", ".", "..", "../one", "one/gen-1", "/etc", "nine", ".removed-1"])
def test_only_an_index_can_be_removed(two: list[EmbeddedIndex], tmp_path: Path, key: str) -> None:
    with pytest.raises(NotFound) as error:
        EmbeddedStore(tmp_path).remove(key)
    assert error.value.hint
    assert len(EmbeddedStore(tmp_path).list()) == 2


def test_an_index_that_is_being_built_is_not_removed(two: list[EmbeddedIndex], tmp_path: Path) -> None:
    with build_lock(tmp_path / "one", wait=False), pytest.raises(IndexUnavailable, match="being built"):
        EmbeddedStore(tmp_path).remove("one")
    assert len(EmbeddedStore(tmp_path).list()) == 2
