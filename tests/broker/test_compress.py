"""Answers in an observation: never too long, what was asked for first, what is left out counted."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from codenav.agents.models.scripted import FunctionModel, ScriptedModel
from codenav.tools.broker.compress import Compressor, compressed
from codenav.tools.model import Operation

ORDERS = Operation("list_orders", "GET /orders", title="Orders of the shop")


def orders(many: int) -> dict[str, Any]:
    """A page of orders, each with a dozen fields."""
    rows = [
        {
            "id": 1000 + number,
            "customer": {"id": number, "name": f"Customer {number}", "city": "Aachen", "note": None},
            "lines": [{"sku": f"MUG-{number}", "quantity": 2, "price": 7.5}],
            "status": "open" if number % 2 else "paid",
            "shipping_address": f"Street {number}",
            "self": f"https://shop.example.com/orders/{1000 + number}",
            "internal_flags": [False, True, False],
        }
        for number in range(many)
    ]
    return {"page": 1, "orders": rows, "total": many}


def test_a_short_answer_is_shown_whole() -> None:
    answer = {"id": 7, "paid": True, "note": "schön", "empty": []}
    assert json.loads(compressed(ORDERS, {}, "", answer)) == answer
    assert "schön" in compressed(ORDERS, {}, "", answer)
    assert compressed(ORDERS, {}, "", "plain text") == "plain text"
    assert compressed(ORDERS, {}, "", None) == "null"


def test_the_field_that_the_request_names_is_shown_and_the_rest_is_counted() -> None:
    answer = {f"setting_{number}": "x" * 40 for number in range(100)} | {"shippingAddress": "Street 5"}
    shown = compressed(ORDERS, {}, "What is the shipping address?", answer)
    assert '"shippingAddress": "Street 5"' in shown
    kept = shown.count("setting_")
    assert f"… {100 - kept} fields" in shown
    assert f"… is left out: {100 - kept} of 101 values" in shown


def test_the_item_that_the_request_names_comes_before_the_first_ones() -> None:
    shown = compressed(ORDERS, {}, "What is the status of the order of Customer 77?", orders(200))
    assert "200 items" in shown
    assert '77: {"id": 1077' in shown
    assert '"name": "Customer 77"' in shown


def test_of_a_list_that_nothing_names_the_first_items_are_shown() -> None:
    shown = compressed(ORDERS, {}, "", orders(200))
    assert "[200 items; {" in shown
    assert '"id": 1000' in shown
    assert '"total": 200' in shown
    assert "1199" not in shown


def test_values_that_the_schema_requires_or_describes_in_words_of_the_request_come_before_others() -> None:
    answer = {f"a{number}": number * 1_000_000 for number in range(150)}
    schemas = {"Answer": {"allOf": [{"properties": {"a140": {"type": "integer"}}, "required": ["a140"]}]}}
    described = {"properties": {"a133": {"description": "The weight of the parcel in grams."}}}
    for name, result, request in (
        ("a140", {"$ref": "#/schemas/Answer"}, ""), ("a133", described, "How heavy is the parcel in grams?"),
    ):  # fmt: skip
        assert f'"{name}": ' in compressed(Operation("op", "op", result=result), schemas, request, answer)
        assert f'"{name}": ' not in compressed(ORDERS, {}, request, answer)


def test_long_texts_are_shortened_and_the_rest_of_them_counted() -> None:
    shown = compressed(ORDERS, {}, "the body", {"body": "word " * 1000, "title": "Short"})
    assert '"title": "Short"' in shown
    assert "characters" in shown
    assert '"body": "word word' in shown
    text = compressed(ORDERS, {}, "", "letter " * 1000)
    assert len(text) == 1024
    assert text.endswith(" characters")
    assert int(text.rsplit("… ", 1)[1].split()[0]) == 7000 - text.index("…")


@pytest.mark.parametrize("limit", [1, 10, 60, 300, 1024, 5000])
def test_no_answer_is_longer_than_the_limit(limit: int) -> None:
    for seed in range(60):
        value = _drawn(random.Random(seed), 6)
        assert len(compressed(ORDERS, {}, "the city of order 7", value, limit)) <= limit


def test_an_answer_that_is_nested_too_deeply_is_no_error() -> None:
    answer: Any = "x" * 3000
    for _ in range(20_000):
        answer = {"a": answer}
    assert compressed(ORDERS, {}, "", answer) == "an answer that is nested too deeply to be shown"
    model = ScriptedModel(['["a"]'])
    assert Compressor(model=model)(ORDERS, {}, "", answer) == "an answer that is nested too deeply to be shown"


def test_a_schema_that_refers_to_itself_ends() -> None:
    schemas = {"Node": {"properties": {"next": {"$ref": "#/schemas/Node"}}, "anyOf": [{"$ref": "#/schemas/Node"}]}}
    answer: Any = {"value": "x" * 2000}
    for _ in range(30):
        answer = {"next": answer}
    assert len(compressed(Operation("op", "op", result={"$ref": "#/schemas/Node"}), schemas, "", answer)) <= 1024


def test_a_model_names_the_fields_once_for_an_operation_and_a_request() -> None:
    prompts: list[str] = []

    def answer(messages: Any) -> str:
        prompts.append(messages[-1].content)
        return 'These: ["orders[].self", "total", "no.such.field"]'

    compress = Compressor(model=FunctionModel(answer))
    for _ in range(2):
        shown = compress(ORDERS, {}, "links of the orders", orders(100))
        assert '"self": "https://shop.example.com/orders/1000"' in shown
        assert '"total": 100' in shown
        assert "Customer" not in shown
        assert "of 1402 values" in shown
    assert len(prompts) == 1
    assert "orders[].customer.name: " in prompts[0]
    assert "Orders of the shop" in prompts[0]


def test_a_model_is_asked_about_long_answers_only_and_again_where_it_failed() -> None:
    asked: list[Any] = []

    def fails(messages: Any) -> str:
        asked.append(messages)
        raise ValueError("of somebody's own")

    compress = Compressor(model=FunctionModel(fails))
    assert compress(ORDERS, {}, "", {"a": 1}) == '{"a": 1}' and not asked
    for _ in range(2):
        assert compress(ORDERS, {}, "the status", orders(100)) == compressed(ORDERS, {}, "the status", orders(100))
    assert len(asked) == 2


@pytest.mark.parametrize("said", ["I would keep all.", "[]", '["nothing"]', "[1, {}]", "{", "[" * 2000])
def test_without_a_usable_answer_of_the_model_the_rules_hold(said: str) -> None:
    expected = compressed(ORDERS, {}, "the status", orders(100))
    assert Compressor(model=FunctionModel(lambda _: said))(ORDERS, {}, "the status", orders(100)) == expected


def _drawn(draw: random.Random, depth: int) -> Any:
    """A value of a random shape."""
    kind = draw.randrange(7 if depth else 4)
    if kind >= 5:
        return {_text(draw, 12): _drawn(draw, depth - 1) for _ in range(draw.randrange(12))}
    if kind == 4:
        return [_drawn(draw, depth - 1) for _ in range(draw.randrange(12))]
    return [_text(draw, 400), draw.random(), None, True][kind]


def _text(draw: random.Random, most: int) -> str:
    return "".join(draw.choice('ab cité 😀"\\\n€order7') for _ in range(draw.randrange(most)))
