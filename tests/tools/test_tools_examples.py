"""Examples that are written for arguments: each passes the check that arguments must pass, or there is none."""

from __future__ import annotations

import time
from typing import Any

import pytest

from codenav.tools.describing import docstring, example_call
from codenav.tools.examples import NoExample, example_arguments, value_of
from codenav.tools.fitting import fits
from codenav.tools.model import Effect, Operation, Parameter, ToolSpec

TEXT = {"type": "string"}


@pytest.mark.parametrize(
    "schema",
    [
        {**TEXT, "format": "email", "maxLength": 18}, {**TEXT, "maxLength": 0}, {**TEXT, "minLength": 200},
        {**TEXT, "pattern": "^[A-Z]+$"}, {**TEXT, "format": "date", "pattern": r"^\d{4}-"},
        {"type": "integer", "multipleOf": 7, "minimum": 10}, {"type": "integer", "maximum": -5}, {"const": None},
        {"type": "integer", "exclusiveMaximum": 12, "multipleOf": 5, "exclusiveMinimum": 5}, {"enum": [None]},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, {"type": "null"}, {"not": TEXT},
        {"allOf": [{"type": "integer", "minimum": 10}, {"minimum": 5}]}, {"allOf": [{"const": 3}, {"type": "integer"}]},
        {"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 3, "uniqueItems": True},
        {"type": "array", "items": TEXT, "minItems": 2}, {"type": "array", "maxItems": 0},
        {"type": "object", "required": ["a"], "properties": {"a": {**TEXT, "pattern": "^1"}}},
        {"type": "object", "properties": {"a": {"type": "integer"}, "b": TEXT}, "anyOf": [{"required": ["b"]}]},
        {"anyOf": [{"type": "null"}, {"type": "integer"}]}, {"$ref": "#/schemas/Code"},
        {"type": "array", "items": {"$ref": "#/schemas/Code"}}, {**TEXT, "default": "wrong", "maxLength": 4},
        {**TEXT, "examples": ["wrong"], "maxLength": 4},
    ],
)  # fmt: skip
def test_a_value_that_is_made_is_one_that_is_allowed(schema: dict[str, Any]) -> None:
    schemas = {"Code": {**TEXT, "pattern": "^[A-Z]$"}}
    assert fits(value_of(schema, schemas), schema, schemas)


@pytest.mark.parametrize(
    "schema",
    [
        {**TEXT, "pattern": "^a$", "minLength": 3}, {**TEXT, "enum": ["a"], "pattern": "^b"}, {"not": {}},
        {**TEXT, "pattern": "^(?=a)b$"}, {"type": "object", "required": ["a"], "properties": {"a": {"not": {}}}},
        {"type": "integer", "minimum": 3, "maximum": 2},
    ],
)  # fmt: skip
def test_no_example_in_place_of_a_wrong_one(schema: dict[str, Any]) -> None:
    start = time.perf_counter()
    with pytest.raises(NoExample):
        value_of(schema, {})
    assert time.perf_counter() - start < 2
    code = Parameter("code", "code", "query", schema, required=True, example="wrong")
    find = Operation("find", "find", method="GET", path="/find", effect=Effect.READ, parameters=(code,))
    assert example_call(find, {}) == "find(code=…)"
    assert "wrong" not in docstring(find, ToolSpec("s", "openapi", operations=(find,)))


def test_examples_of_the_specification_count_where_they_fit() -> None:
    code = Parameter("code", "code", "query", {**TEXT, "pattern": "^C-[0-9]+$"}, required=True)
    find = Operation("find", "find", parameters=(code,), examples=({"code": "none"}, {"code": "C-7"}))
    assert example_arguments(find, {}) == {"code": "C-7"}
