"""Function lists in the shapes that people have them in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from document_server import DocumentServer
from drawn import drawn
from hypothesis import given
from hypothesis import strategies as st

from codenav.core.errors import NotFound, UsageError
from codenav.tools.argument_schemas import title_and_text
from codenav.tools.functions import read_functions, spec_of_functions
from codenav.tools.model import Effect, ToolSpec

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "A city", "examples": ["Oslo"]},
        "days": {"type": "integer"},
    },
    "required": ["city"],
}  # fmt: skip
DESCRIBED = {"name": "getWeather", "description": "Forecast the weather. It may be wrong."}
SHAPES: dict[str, Any] = {
    "chat": [{"type": "function", "function": {**DESCRIBED, "parameters": SCHEMA}}],
    "flat": [{"type": "function", "strict": True, **DESCRIBED, "parameters": SCHEMA}],
    "older": [{**DESCRIBED, "parameters": SCHEMA}],
    "one": {**DESCRIBED, "parameters": SCHEMA},
    "request": {"model": "m", "tools": [{"type": "function", "function": {**DESCRIBED, "parameters": SCHEMA}}]},
    "functions": {"functions": [{**DESCRIBED, "parameters": SCHEMA}]},
    "messages": [{**DESCRIBED, "input_schema": SCHEMA}],
    "schema": {**SCHEMA, "title": "getWeather", "description": DESCRIBED["description"]},
    "schemas": [{**SCHEMA, "title": "getWeather", "description": DESCRIBED["description"]}],
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape: str, tmp_path: Path) -> None:
    path = tmp_path / "weather.json"
    path.write_text(json.dumps(SHAPES[shape]), encoding="utf-8")
    spec = read_functions(str(path))
    assert (spec.name, spec.format, [group.name for group in spec.groups]) == ("weather", "tools", ["weather"])
    [tool] = spec.operations
    assert (tool.name, tool.id, tool.method, tool.path) == ("get_weather", "getWeather", "", "")
    assert (tool.title, tool.text) == ("Forecast the weather", "It may be wrong.")
    assert tool.effect is Effect.WRITE and not tool.idempotent and tool.body is not None and tool.body.spread
    assert [(one.name, one.required, one.text, one.example) for one in tool.parameters] == [
        ("city", True, "A city", "Oslo"), ("days", False, "", None),
    ]  # fmt: skip
    assert tool.parameters[0].schema == {"type": "string"}
    assert ToolSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec


def test_a_saved_list_of_an_mcp_server() -> None:
    def tool(name: str, **annotations: bool) -> dict[str, object]:
        return {"name": name, "inputSchema": {"type": "object"}, "annotations": annotations}

    listed = [tool("a", readOnlyHint=True), tool("b", destructiveHint=False, idempotentHint=True), tool("c")]
    listed.append({"name": "d", "inputSchema": SCHEMA, "outputSchema": {"type": "object"}, "title": "Dee"})
    spec = spec_of_functions({"jsonrpc": "2.0", "id": 1, "result": {"tools": listed}}, "saved.json")
    assert [(one.effect, one.idempotent) for one in spec.operations] == [
        (Effect.READ, True), (Effect.WRITE, True), (Effect.DESTROY, False), (Effect.DESTROY, False),
    ]  # fmt: skip
    assert spec.operations[3].result == {"type": "object"} and spec.operations[3].title == "Dee"


def test_definitions_are_shared_and_names_are_stable() -> None:
    line = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Line"}, "n": {"type": "integer"}}}
    other = {"type": "string"}

    def function(name: str, definition: dict[str, object]) -> dict[str, object]:
        own = {"type": "object", "properties": {"line": {"$ref": "#/$defs/Line"}}, "$defs": {"Line": definition}}
        return {"name": name, "parameters": own}

    spec = spec_of_functions([function("a", line), function("b", line), function("c", other)], "x.json")
    assert spec.schemas == {
        "Line": {**line, "properties": {"next": {"$ref": "#/schemas/Line"}, "n": {"type": "integer"}}}, "Line_2": other,
    }  # fmt: skip
    assert [one.parameters[0].schema["$ref"] for one in spec.operations] == [
        "#/schemas/Line", "#/schemas/Line", "#/schemas/Line_2",
    ]  # fmt: skip


def test_older_dialects_and_references_to_nowhere() -> None:
    parameters: dict[str, Any] = {
        "type": "object",
        "properties": {
            "a": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
            "b": {"type": "string", "nullable": True, "enum": ["x"]},
            "c": {"$ref": "https://example.com/schema.json"},
            "d": {"$ref": "#/properties/a"},
            "e": {"type": "array", "items": {"$ref": "#"}},
            "g": {"type": "string", "pattern": r"\p{Lu}"},
        },
    }
    parameters["$schema"] = "http://json-schema.org/draft-04/schema#"
    spec = spec_of_functions([{"name": "f", "inputSchema": parameters}], "x")
    found = {one.name: one.schema for one in spec.operations[0].parameters}
    assert found["a"] == {"type": "number", "exclusiveMinimum": 0} == spec.schemas["a"]
    assert found["b"] == {"type": ["string", "null"], "enum": ["x", None]}
    assert found["c"] == {} and found["d"] == {"$ref": "#/schemas/a"}
    assert found["e"] == {"type": "array", "items": {"$ref": "#/schemas/f"}}
    assert spec.schemas["f"]["properties"]["e"] == found["e"]
    assert found["g"] == {"type": "string"}
    assert spec.notes[:2] == (
        "f/properties/c: `$ref` 'https://example.com/schema.json' is not in the document: anything is accepted there",
        "f/properties/g/pattern: is not what a schema may have there: left out",
    )


def test_arguments_that_are_no_plain_object() -> None:
    whole = [
        {"anyOf": [{"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"b": {}}}]},
        {"type": "object", "additionalProperties": {"type": "integer"}},
    ]
    for schema in whole:
        [tool] = spec_of_functions([{"name": "f", "parameters": schema}], "x").operations
        [only] = tool.parameters
        assert (only.name, only.place, only.required, only.schema) == ("body", "content", True, schema)
        assert tool.body is not None and not tool.body.spread
    nothing = {"type": "object", "additionalProperties": False}
    [tool] = spec_of_functions([{"name": "f", "parameters": nothing}], "x").operations
    assert not tool.parameters and tool.body is not None and tool.body.spread


def test_an_answer_whose_schema_is_none_costs_only_that() -> None:
    spec = spec_of_functions([{"name": "f", "outputSchema": {"type": "int"}}, {"name": "g", "outputSchema": 5}], "x")
    assert [one.result for one in spec.operations] == [None, None]
    assert spec.notes[0].startswith("f: the schema of its answer is no JSON Schema: type: ")


def test_odd_names() -> None:
    names = ["get-user", "getUser", "class", "2fa", "über", "__init__"]
    spec = spec_of_functions([{"name": name} for name in names], "x")
    made = [one.name for one in spec.operations]
    assert len(set(made)) == len(names) and all(name.isidentifier() for name in made)
    assert [one.id for one in spec.operations] == names
    properties = {"from": {}, "From": {}, "x-y": {}}
    [tool] = spec_of_functions([{"name": "f", "parameters": {"properties": properties}}], "x").operations
    assert [(one.name, one.wire) for one in tool.parameters] == [("from_", "from"), ("from_2", "From"), ("x_y", "x-y")]


def test_what_cannot_be_called_is_left_out_and_told() -> None:
    spec = spec_of_functions([{"type": "web_search"}, {"name": "a"}, {"name": "a", "description": "again"}], "x")
    assert [one.id for one in spec.operations] == ["a"]
    assert spec.notes == (
        "'web_search' is a tool of the model's server and was left out", "'a' is there twice; the first one counts",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], "has no tools"),
        ({}, "has no tools"),
        ("text", "has no tools"),
        ({"openapi": "3.1.0", "paths": {}}, "has no tools"),
        ([5], r"\[0\] is a number, not a function"),
        ([{"name": "a"}, {"description": "b"}], r"\[1\] has no name"),
        ([{"name": " "}], "has an empty name"),
        ([{"name": "a", "parameters": []}], "its parameters are a list, not a JSON Schema"),
        ([{"name": "a", "parameters": {"properties": {"b": {"type": "int"}}}}], r"no JSON Schema: properties\.b\.type"),
        ([{"type": "web_search"}], "no tools that code could call"),
    ],
)  # fmt: skip
def test_bad_lists(document: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        spec_of_functions(document, "x.json")
    assert "\n" not in str(caught.value)


KEYS = [
    "$defs", "$ref", "additionalProperties", "allOf", "anyOf", "default", "enum", "exclusiveMinimum", "function", "id",
    "inputSchema", "items", "minimum", "name", "nullable", "outputSchema", "parameters", "pattern", "properties",
    "required", "result", "title", "tools", "type",
]  # fmt: skip
TEXTS = ["", "#", "#/$defs/a", "#/properties/name", "a", "array", "class", "function", "object", "string", "(", "é"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(TEXTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*KEYS, "a"]), inner, max_size=5),
    max_leaves=25,
)


@drawn(400)
@given(st.lists(st.fixed_dictionaries({"name": st.sampled_from(TEXTS), "inputSchema": VALUES}), max_size=3) | VALUES)
def test_any_document_is_read_or_refused_with_a_reason(document: Any) -> None:
    try:
        spec = spec_of_functions(document, "x.json")
    except UsageError as error:
        assert str(error) and "\n" not in str(error)
        return
    assert ToolSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec
    assert len({one.name for one in spec.operations}) == len(spec.operations)
    for one in spec.operations:
        assert one.name.isidentifier() and all(parameter.name.isidentifier() for parameter in one.parameters)


def test_a_list_at_an_address() -> None:
    with DocumentServer({"/lists/weather.json": '[{"name": "f"}]'}) as server:
        assert read_functions(server.url("/lists/weather.json")).name == "weather"
        with pytest.raises(NotFound):
            read_functions(server.url("/lists/none.json"))


@pytest.mark.parametrize(
    ("title", "text", "found"),
    [
        ("", "", ("", "")),
        ("Given", "Text. More.", ("Given", "Text. More.")),
        ("", "Do a thing", ("Do a thing", "")),
        ("", "Do a thing.\n\n    It takes long.", ("Do a thing", "It takes long.")),
        ("", "Compute e.g. a sum. It is exact.", ("Compute e.g. a sum", "It is exact.")),
        ("", "Is it open? Yes or no.", ("Is it open?", "Yes or no.")),
        ("", "word " * 50, ("", ("word " * 50).strip())),
    ],
)  # fmt: skip
def test_titles(title: str, text: str, found: tuple[str, str]) -> None:
    assert title_and_text(title, text) == found
