"""Checks of arguments: what a schema allows passes, what is spoilt in one place is refused with a useful sentence."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest

from codenav.tools.broker.arguments import ArgumentChecker
from codenav.tools.broker.flights import Refused
from codenav.tools.model import Operation, Parameter

SCHEMAS = {
    "Node": {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "next": {"$ref": "#/schemas/Node"}},
    },
    "Circle": {"$ref": "#/schemas/Circle"},
}


def operation(*parameters: Parameter) -> Operation:
    return Operation("do", "do", parameters=parameters, examples=())


def refused(parameters: tuple[Parameter, ...], arguments: Any) -> str:
    with pytest.raises(Refused) as problem:
        ArgumentChecker(SCHEMAS).check("api.do", operation(*parameters), arguments)
    told = str(problem.value)
    assert told.startswith("api.do: ") and "\n" not in told and len(told) <= 1000
    return told


def one(schema: Any, **more: Any) -> Parameter:
    return Parameter("a", "a", "query", schema, **more)


@pytest.mark.parametrize(
    ("schema", "good", "bad", "told"),
    [
        ({"type": "integer"}, 3, "3", "expected int, got"),
        ({"type": "integer"}, 3.0, 3.5, "expected int, got"),
        ({"type": "integer"}, -3, True, "expected int, got"),
        ({"type": "integer", "minimum": 1, "maximum": 9}, 9, 10, "at least 1, at most 9"),
        ({"type": "number", "exclusiveMinimum": 0}, 0.1, 0, "over 0"),
        ({"type": "integer", "multipleOf": 5}, 10, 11, "a multiple of 5"),
        ({"type": "integer", "format": "int32"}, 2**31 - 1, 2**31, "format int32"),
        ({"type": "integer", "format": "int64"}, -(2**63), 2**63, "format int64"),
        ({"type": "boolean"}, False, 0, "expected bool, got"),
        ({"type": "string"}, "", 3, "expected str, got"),
        ({"type": "string", "minLength": 2, "maxLength": 3}, "ab", "abcd", "at most 3 characters"),
        ({"type": "string", "pattern": "^[A-Z]{2}$"}, "DE", "de", "matching ^[A-Z]{2}$"),
        ({"type": "string", "pattern": r"^\p{Lu}$"}, "É", "é", "matching"),
        ({"type": "string", "pattern": "["}, "anything", 3, "expected str"),
        ({"type": "string", "pattern": "^(a|aa)+$(?<!b)"}, "aaa", "a" * 50 + "!", "matching"),
        ({"type": "string", "pattern": "^(a+)+$"}, "a" * 50, "a" * 50 + "!", "matching"),
        ({"type": "string", "enum": ["blue", "red"]}, "red", "green", 'expected "blue" | "red", got'),
        ({"const": 1}, 1, 2, "expected 1"),
        ({"type": "string", "format": "date"}, "2026-02-28", "2026-02-30", "format date"),
        ({"type": "string", "format": "date"}, "2026-02-28", "20260228", "format date"),
        ({"type": "string", "format": "date-time"}, "2026-02-28T12:00:00Z", "2026-02-28", "format date-time"),
        ({"type": "string", "format": "date-time"}, "2026-06-30T23:59:60Z", "2026-02-28T12:00:00", "date-time"),
        ({"type": "string", "format": "time"}, "12:00:00+01:00", "25:00:00Z", "format time"),
        ({"type": "string", "format": "uuid"}, "123e4567-e89b-12d3-a456-426614174000", "123", "format uuid"),
        ({"type": "string", "format": "email"}, "a@b.c", "a b", "format email"),
        ({"type": "string", "format": "ipv4"}, "10.0.0.1", "10.0.0.256", "format ipv4"),
        ({"type": "string", "format": "ipv6"}, "::1", ":::", "format ipv6"),
        ({"type": "string", "format": "hostname"}, "a.example", "-a", "format hostname"),
        ({"type": "string", "format": "uri"}, "https://a/b", "a b", "format uri"),
        ({"type": "string", "format": "byte"}, "YQ==", "Y", "format byte"),
        ({"type": "string", "format": "of-our-own"}, "x", 1, "expected str"),
        ({"type": "array", "items": {"type": "integer"}}, [1, 2], [1, "2"], "a[1]: expected int"),
        ({"type": "array", "items": {"type": "integer"}}, [], "1,2", "expected [int], got"),
        ({"type": "array", "maxItems": 2, "uniqueItems": True}, [1, 2], [1, 1], "no item twice"),
        ({"type": ["string", "null"]}, None, 3, "expected str | None"),
        ({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, True, "x", "expected int | bool"),
        ({"$ref": "#/schemas/Node"}, {"name": "a", "next": {"name": "b"}}, {"name": "a", "next": {}}, "no 'name'"),
        ({"$ref": "#/schemas/Nowhere"}, 1, None, ""),
        ({"$ref": "#/schemas/Circle"}, 1, None, ""),
        ({"type": "object", "additionalProperties": False, "properties": {"name": {}}}, {"name": 1}, {"nme": 1},
         "there is no key nme; did you mean name?"),
        ({"type": "string", "format": "binary"},
         {"$file": {"name": "a", "type": "", "data": "YQ=="}}, {"$file": {"name": "a", "data": "%"}}, "base64"),
        ({"type": "string"}, "x", {"$file": {"name": "a", "type": "", "data": "YQ=="}}, "expected str, got a file"),
        ({}, {"any": [None]}, {"$file": 3}, "a file is"),
    ],
)  # fmt: skip
def test_types_ranges_formats_and_enumerations(schema: Any, good: Any, bad: Any, told: str) -> None:
    item = one(schema, required=True)
    assert ArgumentChecker(SCHEMAS).check("api.do", operation(item), {"a": good}) == {"a": good}
    if told:
        assert told in refused((item,), {"a": bad})


def test_missing_and_unknown_ones_come_with_the_right_name_and_an_example() -> None:
    items = (
        Parameter("customer", "c", "query", {"type": "integer"}, required=True, text="Who orders.", example=7),
        Parameter("color", "color", "query", {"enum": ["red"]}),
    )
    assert refused(items, {}) == ("api.do: customer is missing; expected int (Who orders.); for example customer=7")
    assert "there is no argument custmer; did you mean customer?" in refused(items, {"custmer": 7})
    assert "it takes customer, color" in refused(items, {"customer": 7, "zzz": 1})
    assert "for example api.do(customer=7)" in refused(items, {"zzz": 1})
    assert refused(items, {"customer": "x"}).endswith("got 'x'; for example customer=7")
    assert "it takes none" in refused((), {"zzz": 1})


def test_none_is_not_given_unless_null_is_a_value() -> None:
    items = (one({"type": "integer"}), Parameter("b", "b", "query", {"type": ["integer", "null"]}))
    checked = ArgumentChecker({}).check("api.do", operation(*items), {"a": None, "b": None})
    assert checked == {"b": None}
    assert "missing" not in refused((one({"type": "integer"}, required=True),), {"a": None})


def test_the_third_same_mistake_says_to_give_it_up() -> None:
    checker, made = ArgumentChecker({}), operation(one({"type": "integer"}))
    told = []
    for arguments in ({"a": "x"}, {"a": "y"}, {"b": 1}, {"a": "z"}, {"a": "z"}):
        with pytest.raises(Refused) as problem:
            checker.check("api.do", made, arguments)
        told.append(str(problem.value))
    assert ["give up api.do" in text for text in told] == [False, False, False, True, True]
    assert "third time" in told[3] and "fourth time" in told[4]


def test_files_have_bounds_together() -> None:
    data = base64.b64encode(b"x" * (5 << 20)).decode()
    file = {"$file": {"name": "a", "type": "text/plain", "data": data}}
    binary = {"type": "array", "items": {"type": "string", "format": "binary"}}
    assert ArgumentChecker({}).check("api.do", operation(one(binary)), {"a": [file]})
    assert "at most 8 MiB" in refused((one(binary),), {"a": [file, file]})
    for spoilt in ({"type": "image/png\r\nX: y"}, {"name": "a" * 300}, {"type": "x"}):
        wrong = {"$file": {"name": "a", "type": "text/plain", "data": "YQ==", **spoilt}}
        assert "of a file" in refused((one(binary),), {"a": [wrong]})


CARD = {"properties": {"kind": {"const": "card"}, "number": {"type": "string"}}, "required": ["kind", "number"]}
BANK = {"properties": {"kind": {"enum": ["bank", "sepa"]}, "iban": {"type": "string"}}, "required": ["kind", "iban"]}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"kind": "card", "number": 12}, "pay['number']: expected str"), ({"kind": "card"}, "pay has no 'number'"),
        ({"kind": "sepa", "number": 1}, "pay has no 'iban'"),
        ({"kind": "cash"}, "pay['kind']: expected \""),
        ({"number": "1"}, "pay has no 'kind'"), (7, "pay: expected "), ([1], "pay: expected "),
        ({"iban": 3, "kind": "bank"}, "pay['iban']: expected str"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("kept", ["inline", "discriminator", "nested"])
def test_what_is_wrong_with_a_choice_is_told_of_the_branch_that_is_meant(
    value: Any, told: str, order: int, kept: str
) -> None:
    parts: list[Any] = [{"type": "object", **CARD}, {"type": "object", **BANK}, {"type": "string", "minLength": 99}]
    schemas: dict[str, Any] = {}
    choice: dict[str, Any] = {"anyOf": parts[::order]}
    if kept == "discriminator":
        # Nothing in the branches but the names in the mapping tells them apart.
        plain = [{**part, "properties": {**part["properties"], "kind": {"type": "string"}}} for part in parts[:2]]
        schemas = {"Card": plain[0], "Bank": plain[1]}
        mapping = {"card": "#/schemas/Card", "bank": "#/schemas/Bank", "sepa": "#/schemas/Bank"}
        choice = {"anyOf": [{"$ref": "#/schemas/Card"}, {"$ref": "#/schemas/Bank"}][::order]}
        choice["discriminator"] = {"propertyName": "kind", "mapping": mapping}
    if kept == "nested":
        choice = {"anyOf": [{"type": "null"}, choice]}
    pay = operation(Parameter("pay", "pay", "body", choice, required=True))
    with pytest.raises(Refused, match=re.escape(told)):
        ArgumentChecker(schemas).check("s.pay", pay, {"pay": value})
