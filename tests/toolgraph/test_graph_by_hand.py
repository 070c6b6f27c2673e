"""Tool graphs written by hand."""

from __future__ import annotations

import pytest

from codenav.core.errors import UsageError
from codenav.toolgraph import storage
from codenav.toolgraph.by_hand import graph_of, looks_made_by_hand
from codenav.toolgraph.graph import EdgeKey, EdgeKind, NodeKind, ToolGraph
from codenav.tools.documents import parse

SHOP = """
format: 1
tools:
  shop.create_order: {description: Makes an order., score: 0.9, substitutes: [shop.draft_order]}
actions:
  browse:
    description: Find what there is.
    tools: [shop.list_products, shop.search]
    next: {order: 0.8}
  order:
    tools: {shop.create_order: 0.9, shop.cancel_order: 0.4}
    next: [browse]
groups:
  mail: {members: [mail.send, mail.read], actions: {order: 0.6}}
categories:
  commerce: [mail, shop.create_order]
"""


def read(text: str) -> ToolGraph:
    return graph_of(parse(text.encode(), "shop.yaml"), "shop.yaml")


def test_actions_tools_scores_groups_and_substitutes_are_read() -> None:
    graph = read(SHOP)
    assert {id for id, node in graph.nodes.items() if node.kind is NodeKind.ACTION} == {"browse", "order"}
    assert graph.nodes["browse"].description == "Find what there is."
    assert (graph.nodes["shop.create_order"].description, graph.nodes["shop.create_order"].weight) == (
        "Makes an order.", 0.9,
    )  # fmt: skip
    assert graph.edges[EdgeKey(EdgeKind.NEXT, "browse", "order")].score == 0.8
    assert graph.edges[EdgeKey(EdgeKind.NEXT, "order", "browse")].score is None
    assert graph.edges[EdgeKey(EdgeKind.CALL, "browse", "shop.search")].score is None
    assert EdgeKey(EdgeKind.SUBSTITUTE, "shop.create_order", "shop.draft_order") in graph.edges
    assert graph.members("commerce") == {"mail", "mail.send", "mail.read", "shop.create_order"}
    assert set(graph.recommend(["order"]).nodes) == {"order", "shop.create_order", "mail.send", "mail.read"}
    assert storage.graph_of(storage.document_of(graph)) == graph


@pytest.mark.parametrize(
    ("old", "new", "said", "hint"),
    [
        ("format: 1", "format: 2", "is of format 2, and this codenav reads up to 1", "upgrade"),
        ("format: 1", "format: one", "its format is 'one'", ""),
        ("actions:\n", "action:\n", "has a key 'action'", "did you mean 'actions'?"),
        ("{order: 0.8}", "{ordr: 0.8}", "actions.browse.next: there is no action 'ordr'", "'order'"),
        ("0.8", "8", "the score '8' is no number from 0 to 1", ""),
        ("0.8", ".nan", "no number from 0 to 1", ""),
        ("0.8", "true", "the score 'True' is no number", ""),
        ("[shop.list_products, shop.search]", "shop.search", "actions.browse.tools: is neither", ""),
        ("[shop.list_products, shop.search]", "[order]", "order is there as action, too", ""),
        ("[shop.list_products, shop.search]", "[7]", "actions.browse.tools[0]: has no name", ""),
        ("  mail: {", "  browse: {", "browse is there as action, too", ""),
        ("[mail, shop", "[commerce, shop", "commerce would be a member of itself", ""),
        ("Find what there is.", "[1]", "its description is no text", ""),
        (", substitutes: [shop.draft_order]}", "}\n  shop.lst_products: {}",
         "tools.shop.lst_products: no action calls it, and no group has it", "did you mean 'shop.list_products'?"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_one_clear_line_with_the_place(old: str, new: str, said: str, hint: str) -> None:
    assert old in SHOP
    assert_refused(SHOP.replace(old, new), said, hint)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- 1\n- 2\n", "it is no mapping"),
        ("actions: 7", "actions: is neither a mapping nor a list"),
        ("actions: [{description: x}]", "actions[0]: has no name"),
        ("actions: [a, a]", "actions.a: is there twice"),
        ("actions: {a: 7}", "actions.a: is no mapping"),
    ],
)
def test_another_form_is_one_clear_line_with_the_place(text: str, said: str) -> None:
    assert_refused(text, said, "docs/toolgraph.md")


def assert_refused(text: str, said: str, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        read(text)
    assert str(raised.value).startswith("shop.yaml") and "\n" not in str(raised.value)
    assert said in str(raised.value)
    assert hint in raised.value.hint and raised.value.hint


def test_both_forms_are_told_apart() -> None:
    graph = read(SHOP)
    assert looks_made_by_hand({"actions": {}})
    assert not looks_made_by_hand(storage.document_of(graph))
    assert not looks_made_by_hand([1])
