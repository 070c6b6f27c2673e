"""Several indexes on one scale: a block is found beside large sources as in one index of all."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pytest

from codenav.core.blocks import BlockKind, CodeBlock, FileChange, FileRemoval, IndexStats, SearchResult
from codenav.core.errors import IndexUnavailable, QueryTooLarge
from codenav.core.protocols import Index
from codenav.retrieval.combined import CombinedIndex
from codenav.retrieval.embedded import rows
from codenav.retrieval.embedded.index import EmbeddedIndex
from codenav.retrieval.self_check import block, change
from retrieval.comparison import queries_of

TINY = {
    "union": 'def union(orders, others):\n    """Put two lists of orders into one."""\n    return [*orders, *others]',
    "total": 'def total(orders):\n    """The sum of the prices."""\n    return sum(order.price for order in orders)',
}


@pytest.fixture
def tiny(tmp_path: Path) -> EmbeddedIndex:
    """A code base of two functions."""
    index = EmbeddedIndex(tmp_path / "tiny", source="tiny")
    blocks = [block(name, "shop/orders.py", line=10 * at, text=text) for at, (name, text) in enumerate(TINY.items(), 1)]
    index.apply([change("shop/orders.py", *blocks)])
    return index


def ranked(index: Index, query: str, limit: int = 100) -> list[tuple[str, float]]:
    """Ids and scores of the hits."""
    return [(hit.id, hit.score) for hit in index.search(query, limit=limit)]


def rank(index: Index, query: str, path: str) -> int:
    """The rank of the first hit in a file, from 1; 0 if there is none."""
    return next((at for at, hit in enumerate(index.search(query, limit=1000), 1) if hit.path == path), 0)


@pytest.mark.parametrize(
    "query",
    ["union", "name:union", "union orders", "type:FUNCTION AND union", "total", "put two lists of orders into one"],
)
def test_a_code_base_of_two_functions_is_found_beside_a_large_one(
    query: str, tiny: EmbeddedIndex, networkx_index: EmbeddedIndex
) -> None:
    for both in (CombinedIndex([tiny, networkx_index]), CombinedIndex([networkx_index, tiny])):
        assert 1 <= rank(both, query, "shop/orders.py") <= 3


@pytest.mark.parametrize("query", ["shortest path", "karate_club_graph", "read_gexf", "betweenness centrality"])
def test_a_large_code_base_is_found_beside_a_small_one(
    query: str, tiny: EmbeddedIndex, networkx_index: EmbeddedIndex
) -> None:
    alone = [hit.id for hit in networkx_index.search(query, limit=3)]
    assert [hit.id for hit in CombinedIndex([tiny, networkx_index]).search(query, limit=3)] == alone


def test_one_index_and_empty_ones_beside_it_order_as_alone(
    tmp_path: Path, networkx_index: EmbeddedIndex, networkx_changes: list[FileChange]
) -> None:
    empty, unbuilt = EmbeddedIndex(tmp_path / "empty", source="e"), EmbeddedIndex(tmp_path / "unbuilt", source="u")
    empty.apply([])
    single, among = CombinedIndex([networkx_index]), CombinedIndex([empty, networkx_index, unbuilt])
    blocks = [block for change in networkx_changes[:40] for block in change.blocks or ()]
    for query in (query for kind in queries_of(blocks, each=2).values() for query in kind):
        alone = ranked(networkx_index, query)
        assert ranked(single, query) == alone
        beside = ranked(among, query)
        assert [id for id, _ in beside] == [id for id, _ in alone]
        assert [score for _, score in beside] == pytest.approx([score for _, score in alone], rel=1e-6)


def test_scores_are_those_of_one_index_where_fields_are_as_long(tmp_path: Path) -> None:
    def changes(source: str, names: Sequence[str]) -> list[FileChange]:
        return [
            change(path, block(name, path, text=f"def {name}():\n    return {path[:3]}"))
            for path, name in ((f"{source}{at:02}.py", name) for at, name in enumerate(names))
        ]

    small, large = changes("a", ["merge", "other"]), changes("b", ["merge"] * 4 + ["plain"] * 60 + ["union"] * 7)
    parts = [EmbeddedIndex(tmp_path / name, source="s") for name in ("small", "large")]
    whole = EmbeddedIndex(tmp_path / "whole", source="s")
    for index, content in zip([*parts, whole], [small, large, [*small, *large]], strict=True):
        index.apply(content)
    both = CombinedIndex(parts)
    for query in (
        "merge",
        "merge union",
        '"def merge"',
        "name:other OR plain^2",
        "return AND merge",
        "merg* AND return",
    ):
        wanted = dict(ranked(whole, query))
        assert len(wanted) > 0
        assert dict(ranked(both, query)) == pytest.approx(wanted, rel=1e-5), query


def test_a_short_name_is_as_short_as_in_one_index(tmp_path: Path) -> None:
    short, long = (EmbeddedIndex(tmp_path / name, source=name) for name in ("short", "long"))
    short.apply([change("a.py", block("union", "a.py"), block("total", "a.py", line=9))])
    names = ["union"] * 5 + [f"make_a_very_long_name_for_number_{at}" for at in range(40)]
    long.apply([change("b.py", *(block(name, "b.py", line=9 * at) for at, name in enumerate(names)))])
    assert rank(CombinedIndex([long, short]), "union", "a.py") <= 3


def test_deleted_blocks_count_as_the_engine_counts_them(networkx_changes: list[FileChange], tmp_path: Path) -> None:
    index = EmbeddedIndex(tmp_path / "edited", source="s")
    index.apply(networkx_changes[:60])
    index.apply([networkx_changes[3], FileRemoval(networkx_changes[7].path)])
    for query in ("graph", "shortest path", '"nodes and edges"', "add node to the graph"):
        own = index.frequencies(query)
        assert own.blocks > index.stats().blocks
        assert ranked(index, query) == [
            (hit.id, pytest.approx(hit.score, rel=1e-6)) for hit in index.search(query, frequencies=own)
        ]


@pytest.mark.parametrize(("name", "text"), [("\ud800", "\x00 \ud800 \U0001f600"), ("_", "_ = gettext")])
def test_every_length_is_told_whatever_the_first_block_holds(tmp_path: Path, name: str, text: str) -> None:
    index = EmbeddedIndex(tmp_path / "odd", source="s")
    index.apply([change("a.py", block(name, "a.py", text=text)), change("b.py", block("total", "b.py"))])
    lengths = index.frequencies("total").lengths
    assert set(lengths) == set(rows.SCORED)
    assert lengths["name"] == 1


class Foreign:
    """An index of somebody else, which tells nothing of its words."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def search(self, query: str, *, kinds: Collection[BlockKind] | None = None, limit: int = 100) -> SearchResult:
        return self._index.search(query, kinds=kinds, limit=limit)

    def get(self, id: str) -> CodeBlock | None:
        return self._index.get(id)

    def blocks(self) -> Iterator[CodeBlock]:
        return self._index.blocks()

    def stats(self) -> IndexStats:
        return self._index.stats()

    def close(self) -> None:
        self._index.close()


def test_an_index_that_tells_no_frequencies_keeps_its_scores(
    tiny: EmbeddedIndex, networkx_index: EmbeddedIndex
) -> None:
    both = CombinedIndex([Foreign(tiny), networkx_index])
    found = dict(ranked(both, "union", 10_000))
    assert found == pytest.approx(dict(ranked(tiny, "union") + ranked(networkx_index, "union", 10_000)), rel=1e-6)


def test_a_closed_index_and_a_query_that_is_too_large(tiny: EmbeddedIndex, networkx_index: EmbeddedIndex) -> None:
    both = CombinedIndex([networkx_index, tiny])
    with pytest.raises(QueryTooLarge):
        tiny.frequencies("x" * 70_000)
    assert [*both.search("", limit=3)] == [*both.search("type:IMPORT AND NOT *", limit=3)] == []
    tiny.close()
    with pytest.raises(IndexUnavailable):
        both.search("union")


def test_patterns_that_are_too_large_are_told(tiny: EmbeddedIndex, networkx_index: EmbeddedIndex) -> None:
    query = "/(a{900}){900}/"
    alone = networkx_index.search(query).repairs
    assert CombinedIndex([tiny, networkx_index]).search(query).repairs == alone != ()
