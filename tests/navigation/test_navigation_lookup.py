"""What a person means by the name of a block."""

from __future__ import annotations

from pathlib import Path

import pytest

import codenav
from codenav.errors import Ambiguous, NotFound
from codenav.indexing.source_index import SourceIndex


def places(blocks: list[codenav.CodeBlock]) -> list[tuple[str, int]]:
    return [(block.path, block.lines.start) for block in blocks]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("Store.get", [("shop/store.py", 11)]),
        ("store.Store.get", [("shop/store.py", 11)]),
        ("shop.store.Store.get", [("shop/store.py", 11)]),
        ("Store::get", [("shop/store.py", 11)]),
        ("Store#get", [("shop/store.py", 11)]),
        ("cancel()", [("shop/orders.py", 25)]),
        ("store.get", [("shop/store.py", 11)]),
        ("shop.Store", [("shop/store.py", 10)]),
        ("shop.place", [("shop/orders.py", 7)]),
        ("place.inner", [("shop/orders.py", 10)]),
        ("Store.size", [("shop/store.py", 18), ("shop/store.py", 22)]),
        ("shop/orders.py:11", [("shop/orders.py", 10)]),
        ("orders.py:12", [("shop/orders.py", 7)]),
        ("./shop/orders.py:12:5", [("shop/orders.py", 7)]),
        ("shop/orders.py:9-12", [("shop/orders.py", 7)]),
        ("Guide > Ordering", [("docs/guide.md", 5)]),
        ("  Store.get\n", [("shop/store.py", 11)]),
    ],
)  # fmt: skip
def test_a_block_by_name_and_by_place(shop_index: SourceIndex, asked: str, expected: list[tuple[str, int]]) -> None:
    assert places(codenav.show(asked, on=shop_index)) == expected


def test_a_block_by_its_id_and_by_an_absolute_path(shop_index: SourceIndex, shop: Path) -> None:
    (block,) = codenav.show("cancel", on=shop_index)
    assert codenav.show(block.id, on=shop_index) == [block]
    assert codenav.show(f"{shop}/shop/orders.py:26", on=shop_index) == [block]


def test_a_name_of_several_is_refused_with_a_list_of_them(shop_index: SourceIndex) -> None:
    with pytest.raises(Ambiguous) as caught:
        codenav.show("place", on=shop_index)
    candidates = caught.value.candidates
    # The one that the package exports, then the helper of the tests.
    assert places(list(candidates)) == [("shop/orders.py", 7), ("shop/tests/test_orders.py", 8)]
    assert caught.value.exit_code == 2
    for block in candidates:
        assert block.id in str(caught.value)
        assert f"{block.path}:{block.lines.start}" in str(caught.value)
    with pytest.raises(Ambiguous, match="get names 2 blocks"):
        codenav.show("get", on=shop_index)


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("Store.gett", "did you mean Store.get"),
        ("plce", "did you mean place"),
        ("Store.zzz", "codenav search"),
        ("", "codenav search"),
        ("***", "codenav search"),
        ("0123456789abcdef", "codenav search"),
        ("shop/orders.py:3000", "the nearest: codenav show shop/orders.py:29-30"),
        ("nowhere.py:3", "codenav search"),
        ("\ud800 \0", "codenav search"),
        ("a." * 40_000, "codenav search"),
    ],
)  # fmt: skip
def test_what_is_not_there_has_a_hint(shop_index: SourceIndex, asked: str, hint: str) -> None:
    with pytest.raises(NotFound) as caught:
        codenav.show(asked, on=shop_index)
    assert hint in caught.value.hint
    assert caught.value.exit_code == 2


def test_several_sources_are_looked_through(shop_index: SourceIndex, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "extra.py").write_text("def only_here(): ...\n\n\ndef cancel(): ...\n")
    with codenav.index(tmp_path / "more") as more:
        assert places(codenav.show("only_here", on=[shop_index, more])) == [("extra.py", 1)]
        with pytest.raises(Ambiguous) as caught:
            codenav.show("cancel", on=[shop_index, more])
    assert {block.source for block in caught.value.candidates} == {shop_index.source.name, more.source.name}


def test_a_package_exports_one_of_several(networkx: SourceIndex) -> None:
    with pytest.raises(Ambiguous) as caught:
        codenav.show("shortest_path", on=networkx)
    first, *others = caught.value.candidates
    assert first.path == "networkx/algorithms/shortest_paths/generic.py"
    assert [block.path for block in others] == ["networkx/algorithms/threshold.py"]
    assert codenav.show("networkx.shortest_path", on=networkx) == [first]
    assert codenav.show("networkx.Graph", on=networkx)[0].path == "networkx/classes/graph.py"


def test_every_line_of_a_file_is_in_the_block_that_the_standard_parser_finds(networkx: SourceIndex) -> None:
    import ast

    path = "networkx/classes/graph.py"
    source = (networkx.source.root / path).read_text()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            (block,) = codenav.show(f"{path}:{node.lineno}", on=networkx)
            assert block.name == node.name
            assert block.lines.end == node.end_lineno
