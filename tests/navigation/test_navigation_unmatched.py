"""What a search that found nothing says of what is there."""

from __future__ import annotations

import pytest

import codenav
from codenav.environments.search import SearchEnvironment
from codenav.navigation.unmatched import advice
from codenav.retrieval.source_index import SourceIndex

FIELDS = "text, name, doc, signature, type, file_path, language, source, calls, lines"


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("type: METHOD AND name: cancel", ["no METHOD matches, but FUNCTION cancel (shop/orders.py:25)"]),
        ("type: (METHOD OR TOOL) AND name: cancel",
         ["no METHOD or TOOL matches, but FUNCTION cancel (shop/orders.py:25)"]),
        ("name: cancle", ["nothing is named cancle; the nearest: cancel"]),
        ("name: cance_al*", ["nothing is named cance_al; the nearest: cancel"]),
        ("(name: Store.gett)", ["nothing is named Store.gett; the nearest: Store.get, Other.get"]),
        ("type: CLASS AND name: shop.store.Store.get", [
            "shop.store.Store.get names METHOD Store.get (shop/store.py:11)",
        ]),
        ("name: cancel AND file_path: store.py",
         ["1 match without file_path:store.py, first FUNCTION cancel (shop/orders.py:25)"]),
        ("name: cancel AND lines: [1 TO 3]",
         ["1 match without lines:[1 TO 3], first FUNCTION cancel (shop/orders.py:25)"]),
        ("self: Store AND name: nowhere_else",
         [f"there is no field self: it was read as text; the fields are {FIELDS}"]),
        ("zzz", []),
    ],
)  # fmt: skip
def test_a_search_without_matches(shop_index: SourceIndex, query: str, told: list[str]) -> None:
    result = codenav.search(query, on=shop_index)
    assert result.total == 0
    assert list(result.advice) == told
    shown = SearchEnvironment(shop_index, advice=advice).respond(codenav.Search(query))
    assert all(f"Note: {sentence}" in shown.text for sentence in told)
    assert ("Try other words" in shown.text) == (not told)
    assert shown.results[0].to_dict().get("advice", []) == told


def test_an_unknown_field_is_told_beside_what_was_found(shop_index: SourceIndex) -> None:
    (told,) = codenav.search("function_name: cancel", on=shop_index).advice
    assert told.startswith("there is no field function_name: it was read as text")
    for query in ("error: cancel the order", "cancel", "nmae: cancel"):
        assert not codenav.search(query, on=shop_index).advice
