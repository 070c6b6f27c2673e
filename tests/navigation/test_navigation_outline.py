"""The map of a code base: its order, its budget, what it counts."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

import codenav
from codenav.core.errors import NotFound, UsageError
from codenav.core.usage import estimate_tokens
from codenav.navigation.centrality import pagerank
from codenav.retrieval.source_index import SourceIndex


def test_pagerank_solves_its_equation() -> None:
    graph = nx.gnp_random_graph(60, 0.08, seed=3, directed=True)
    edges = [{b: 1.0 + (a + b) % 7 for b in graph.successors(a)} for a in graph]
    start = [1 + a % 3 for a in graph]
    ranks = pagerank(edges, start)
    loose = sum(rank for rank, targets in zip(ranks, edges, strict=True) if not targets)
    for node in graph:
        handed = sum(ranks[a] * edges[a][node] / sum(edges[a].values()) for a in graph.predecessors(node))
        assert ranks[node] == pytest.approx(0.85 * handed + (0.15 + 0.85 * loose) * start[node] / sum(start), abs=1e-4)
    assert sum(ranks) == pytest.approx(1)


def test_what_is_referred_to_comes_first_and_tests_last(shop_index: SourceIndex) -> None:
    found = codenav.outline(shop_index)
    paths = [outlined.file.path for outlined in found.files]
    assert paths[0] == "shop/store.py"
    assert paths[-1] == "shop/tests/test_orders.py"
    assert "shop/__init__.py" not in paths, "it defines nothing"
    store = found.files[0]
    assert [entry.qualname for entry in store.shown] == [
        "Base", "Base.load", "Base.rare_inherited", "Store", "Store.get", "Store.load", "Store.size", "Store.size",
        "Other", "Other.get",
    ]  # fmt: skip
    assert "\n".join(str(found).splitlines()[:5]) == (
        "shop/store.py\n  class Base\n    def load(self)\n    def rare_inherited(self)\n  class Store(Base)"
    )
    assert "def inner" not in str(found), "a function inside another one is no part of a map"


def test_the_budget_is_never_exceeded_and_well_used(networkx: SourceIndex) -> None:
    everything = codenav.outline(networkx, tokens=1_000_000)
    assert everything.files_left_out == everything.definitions_left_out == 0
    total = sum(len(outlined.shown) for outlined in everything.files)
    for tokens in (32, 33, 100, 200, 2_000):
        found = codenav.outline(networkx, tokens=tokens)
        assert estimate_tokens(str(found)) <= tokens
        assert tokens < 200 or estimate_tokens(str(found)) > 0.8 * tokens
        shown = sum(len(outlined.shown) for outlined in found.files)
        assert len(found.files) + found.files_left_out == len(everything.files)
        assert shown + found.definitions_left_out == total
        # The counts in the text are those of the map.
        *lines, last = str(found).splitlines()
        assert last.startswith(f"… {found.files_left_out} more files with ")
        counted = [int(line.split()[1]) for line in lines if line.strip().startswith("… ")]
        assert sum(counted) == sum(outlined.left_out for outlined in found.files) <= found.definitions_left_out
        assert len([line for line in lines if line.startswith(" ")]) == shown + len(counted)


def test_the_most_central_of_networkx(networkx: SourceIndex) -> None:
    found = codenav.outline(networkx)
    paths = [outlined.file.path for outlined in found.files]
    assert {"networkx/classes/graph.py", "networkx/utils/decorators.py", "networkx/exception.py"} <= set(paths[:6])
    assert not any("/tests/" in path for path in paths)
    ranks = [outlined.file.rank for outlined in found.files]
    assert ranks == sorted(ranks, reverse=True)


def test_a_folder_or_a_file_of_it(networkx: SourceIndex) -> None:
    found = codenav.outline(networkx, path="algorithms/shortest_paths")
    assert found.files
    assert all(item.file.path.startswith("networkx/algorithms/shortest_paths/") for item in found.files)
    whole = {item.file.path: item.file.rank for item in codenav.outline(networkx, tokens=100_000).files}
    assert all(item.file.rank == whole[item.file.path] for item in found.files)
    (only,) = codenav.outline(networkx, path="networkx/classes/graph.py", tokens=300).files
    assert only.file.path == "networkx/classes/graph.py"
    absolute = networkx.source.root / "networkx" / "classes"
    assert codenav.outline(networkx, path=absolute).files == codenav.outline(networkx, path="./networkx/classes/").files
    with pytest.raises(NotFound) as caught:
        codenav.outline(networkx, path="algorithms/shortestpaths")
    assert "networkx/algorithms/shortest_paths" in caught.value.hint


def test_documents_are_mapped_by_their_sections(shop_index: SourceIndex) -> None:
    assert str(codenav.outline(shop_index, path="docs")) == "docs/guide.md\n  # Guide\n  ## Ordering"


def test_several_sources_are_told_apart(shop_index: SourceIndex, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "extra.py").write_text("def only_here(): ...\n")
    with codenav.index(tmp_path / "more") as more:
        text = str(codenav.outline([shop_index, more]))
    assert f"extra.py  ({more.source.name})\n  def only_here()" in text


def test_hostile_names_stay_on_their_line(tmp_path: Path) -> None:
    (tmp_path / "a\nb\x1b[31m.py").write_text("def f(x='\x1b[2J'): ...\n")
    (tmp_path / ("d" * 200)).mkdir()
    (tmp_path / ("d" * 200) / ("e" * 200 + ".py")).write_text(f"def {'f' * 5_000}(): ...\n")
    with codenav.index(tmp_path) as index:
        for tokens in (32, 200, 1_024):
            found = codenav.outline(index, tokens=tokens)
            assert estimate_tokens(str(found)) <= tokens
            assert "\x1b" not in str(found)
        assert "a\\nb\\x1b[31m.py\n  def f(" in str(found)


def test_a_code_base_without_definitions(tmp_path: Path) -> None:
    (tmp_path / "only.py").write_text("X = 1\n")
    with codenav.index(tmp_path) as index:
        found = codenav.outline(index)
    assert (str(found), list(found.files), found.files_left_out) == ("", [], 0)


def test_bad_input_is_refused(shop_index: SourceIndex) -> None:
    with pytest.raises(UsageError, match="too few"):
        codenav.outline(shop_index, tokens=31)
    with pytest.raises(UsageError, match="no code base"):
        codenav.outline([])
