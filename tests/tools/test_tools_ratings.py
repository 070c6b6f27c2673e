"""Descriptions of operations: completeness and readability, 1 to 3 each, by the rules of docs/tools.md."""

from __future__ import annotations

import pytest

from codenav.tools.model import Operation, Parameter
from codenav.tools.weights import rating_of

GOOD = Operation(
    "get_order",
    "getOrder",
    title="Get one order with its lines.",
    method="GET",
    path="/orders/{id}",
    parameters=(
        Parameter("id", "id", "path", {"type": "integer"}, text="Number of the order."),
        Parameter("form", "form", "query", {"enum": ["short", "long"]}),
        Parameter("page", "page", "query", {"$ref": "#/schemas/Page"}),
    ),
    result={"type": "object"},
)
SCHEMAS = {"Page": {"type": "integer", "description": "Number of the page."}}


def test_a_good_description_has_nothing_to_find() -> None:
    found = rating_of(GOOD, SCHEMAS)
    assert (found.completeness, found.readability, found.findings, found.weight) == (3, 3, (), 1.0)


@pytest.mark.parametrize(
    ("changes", "completeness", "readability", "finding"),
    [
        ({"title": "", "text": ""}, 1, 1, "no description"),
        ({"result": None}, 2, 3, "no description of the answer"),
        ({"title": "TODO"}, 3, 1, "a placeholder for a description: 'TODO'"),
        ({"title": "Get Order"}, 3, 1, "a description that only repeats the name"),
        ({"title": "Order."}, 3, 2, "a first sentence of 1 word"),
        ({"title": "word " * 50}, 3, 2, "a first sentence of 50 words"),
        ({"title": "GET ONE ORDER OF A CUSTOMER"}, 3, 2, "a description in capitals"),
        ({"title": "Get one order. " + "It has many lines. " * 400}, 3, 2, "a description of 7,614 characters"),
    ],
)
def test_what_is_missing_or_unclear(
    changes: dict[str, object], completeness: int, readability: int, finding: str
) -> None:
    fields = {name: getattr(GOOD, name) for name in GOOD.__slots__}
    found = rating_of(Operation(**{**fields, **changes}), SCHEMAS)
    assert (found.completeness, found.readability) == (completeness, readability)
    assert found.findings == (finding,)
    assert found.weight == round((completeness + readability) / 6, 2)


def test_parameters_without_a_description_are_named() -> None:
    bare = tuple(Parameter(f"p{number}", f"p{number}", "query") for number in range(6))
    some = Operation("op", "op", title="Find orders of a customer.", parameters=(*GOOD.parameters, bare[0]), result={})
    found = rating_of(some, SCHEMAS)
    assert found.completeness == 2
    assert "no description of p0" in found.findings
    most = Operation("op", "op", title="Find orders of a customer.", parameters=bare, result={"type": "array"})
    found = rating_of(most, SCHEMAS)
    assert found.completeness == 1
    assert found.findings == ("no description of p0, p1, p2, p3 and 2 more",)


def test_markup_is_no_text() -> None:
    text = "Orders of it. [a](https://shop.example.com/docs/orders/reference/v2) | --- | --- | **** ####"
    assert "more markup than text" in rating_of(Operation("op", "op", title=text, result={"a": 1}), {}).findings
