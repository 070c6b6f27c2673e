"""Schemas of all versions as JSON Schema 2020-12."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from openapi_made import document, one, read

from codenav.tools.model import ToolSpec

TEXT = {"type": "string"}


def converted(folder: Path, schema: Any, version: str = "3.0.3", **schemas: Any) -> Any:
    """The schema of the answer of an operation."""
    if version == "2.0":
        answer: dict[str, Any] = {"schema": schema}
        more: dict[str, Any] = {"definitions": schemas}
    else:
        answer = {"content": {"application/json": {"schema": schema}}}
        more = {"components": {"schemas": schemas}}
    return one(folder, {"responses": {"200": {"description": "", **answer}}}, version, **more).result


def accepts(spec: ToolSpec, schema: Any, value: Any) -> bool:
    """True if a value is one of a schema."""
    whole = {"schemas": dict(spec.schemas), "allOf": [schema]}
    jsonschema.Draft202012Validator.check_schema(whole)
    return bool(jsonschema.Draft202012Validator(whole).is_valid(value))


@pytest.mark.parametrize(
    ("version", "given", "made"),
    [
        ("3.0.3", {"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ("3.0.3", {"type": "string", "enum": ["a"], "nullable": True},
         {"type": ["string", "null"], "enum": ["a", None]}),
        ("2.0", {"type": "string", "x-nullable": True}, {"type": ["string", "null"]}),
        ("3.0.3", {"nullable": True, "oneOf": [TEXT]}, {"anyOf": [{"anyOf": [TEXT]}, {"type": "null"}]}),
        ("3.0.3", {"nullable": True}, {}),
        ("3.1.0", {"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ("3.0.3", {"type": "number", "minimum": 1, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": False},
         {"type": "number", "exclusiveMinimum": 1, "maximum": 9}),
        ("3.1.0", {"type": "number", "exclusiveMinimum": 1}, {"type": "number", "exclusiveMinimum": 1}),
        ("3.0.3", {"type": "string", "example": "x"}, {"type": "string", "examples": ["x"]}),
        ("3.1.0", {"type": "string", "examples": ["x", "y"]}, {"type": "string", "examples": ["x", "y"]}),
        ("2.0", {"type": "file"}, {"type": "string", "format": "binary"}),
        ("3.1.0", {"type": "string", "contentMediaType": "image/png", "contentEncoding": "base64"},
         {"type": "string", "contentMediaType": "image/png", "contentEncoding": "base64"}),
        ("3.1.0", {"contentMediaType": "application/octet-stream"},
         {"type": "string", "format": "binary", "contentMediaType": "application/octet-stream"}),
        ("3.1.0", True, {}), ("3.1.0", False, {"not": {}}), ("3.1.0", {"additionalProperties": False},
                                                            {"additionalProperties": False}),
        ("3.0.3", {"type": "object", "additionalProperties": {"type": "string", "nullable": True}},
         {"type": "object", "additionalProperties": {"type": ["string", "null"]}}),
        ("3.1.0", {"prefixItems": [TEXT], "items": False}, {"prefixItems": [TEXT], "items": False}),
        ("2.0", {"type": "array", "items": [TEXT, {"type": "integer"}]}, {"type": "array"}),
        ("3.0.3", {"type": "string", "pattern": "^a+$", "xml": {"name": "a"}, "externalDocs": {"url": "x"}, "x-a": 1},
         {"type": "string", "pattern": "^a+$"}),
        ("3.0.3", {"type": "string", "pattern": "(?<bad>["}, {"type": "string"}),
        ("3.0.3", {"type": "object", "required": [], "properties": {}}, {"type": "object", "properties": {}}),
        ("3.0.3", {"type": "string", "maxLength": "12", "minLength": -1}, {"type": "string"}),
        ("3.0.3", {"type": "object", "additionalProperties": "true"}, {"type": "object"}),
        ("3.0.3", {"type": "text"}, {}),
        ("3.0.3", {"properties": {"$ref": TEXT, "required": TEXT}}, {"properties": {"$ref": TEXT, "required": TEXT}}),
        ("3.1.0", {"dependentRequired": {"a": ["b"]}, "const": None, "if": TEXT, "then": {"minLength": 1}},
         {"dependentRequired": {"a": ["b"]}, "const": None, "if": TEXT, "then": {"minLength": 1}}),
    ],
)  # fmt: skip
def test_keywords(tmp_path: Path, version: str, given: Any, made: Any) -> None:
    found = converted(tmp_path, given, version)
    assert found == made
    jsonschema.Draft202012Validator.check_schema(found)


def test_references_have_names(tmp_path: Path) -> None:
    made = document(
        {"/a": {"get": {"responses": {"200": {"description": "", "content": {"application/json": {"schema": {
            "properties": {
                "one": {"$ref": "#/components/schemas/A", "description": "Beside."},
                "two": {"$ref": "#/components/schemas/a~1b%20c"},
                "deep": {"$ref": "#/components/schemas/A/properties/size"},
            }
        }}}}}}}},
        "3.1.0",
        components={"schemas": {
            "A": {"properties": {"size": {"type": "integer"}}}, "a/b c": TEXT, "unused": TEXT,
        }},
    )  # fmt: skip
    spec = read(tmp_path, made)
    assert spec.operations[0].result == {
        "properties": {
            "one": {"$ref": "#/schemas/A", "description": "Beside."}, "two": {"$ref": "#/schemas/a_b_c"},
            "deep": {"$ref": "#/schemas/size"},
        }
    }  # fmt: skip
    assert spec.schemas == {
        "A": {"properties": {"size": {"type": "integer"}}}, "a_b_c": TEXT, "size": {"type": "integer"},
    }  # fmt: skip


def test_nullable_beside_a_reference(tmp_path: Path) -> None:
    found = converted(tmp_path, {"$ref": "#/components/schemas/A", "nullable": True, "minLength": 3}, A=TEXT)
    assert found == {"anyOf": [{"$ref": "#/schemas/A"}, {"type": "null"}]}


@pytest.mark.parametrize("version", ["2.0", "3.0.3", "3.1.0"])
def test_circular_references(tmp_path: Path, version: str) -> None:
    root = "#/definitions/" if version == "2.0" else "#/components/schemas/"
    schemas = {
        "Node": {"type": "object", "required": ["name"], "properties": {
            "name": TEXT, "next": {"$ref": f"{root}Node"},
            "all": {"type": "array", "items": {"$ref": f"{root}Tree"}},
        }},
        "Tree": {"allOf": [{"$ref": f"{root}Node"}, {"type": "object"}]},
    }  # fmt: skip
    more: dict[str, Any] = {"definitions": schemas} if version == "2.0" else {"components": {"schemas": schemas}}
    answer = {"schema": {"$ref": f"{root}Node"}}
    answer = answer if version == "2.0" else {"content": {"application/json": answer}}
    operation = {"responses": {"200": {"description": "", **answer}}}
    spec = read(tmp_path, document({"/a": {"get": operation}}, version, **more))
    schema = spec.operations[0].result
    assert accepts(spec, schema, {"name": "a", "next": {"name": "b", "all": [{"name": "c"}]}})
    assert not accepts(spec, schema, {"name": "a", "next": {"name": "b", "all": [{"name": 3}]}})


@pytest.mark.parametrize(
    "schemas",
    [
        {"A": {"$ref": "#/components/schemas/A"}},
        {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}},
        {"A": {"allOf": [{"$ref": "#/components/schemas/B"}]}, "B": {"oneOf": [{"$ref": "#/components/schemas/A"}]}},
        {"A": {"not": {"anyOf": [{"$ref": "#/components/schemas/A"}]}}},
    ],
)
def test_a_schema_that_consists_of_itself(tmp_path: Path, schemas: dict[str, Any]) -> None:
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}
    operation = {"requestBody": {"content": content}, "responses": {"200": {"description": "", "content": content}}}
    made = document({"/a": {"post": operation}}, components={"schemas": schemas})
    spec = read(tmp_path, made)
    # Would never return, or fail for want of memory, on a circle.
    accepts(spec, spec.operations[0].result, 1)
    assert any("consists of itself" in note for note in spec.notes)


def test_a_reference_that_leads_nowhere(tmp_path: Path) -> None:
    schema = {"properties": {"a": {"$ref": "#/components/schemas/None", "description": "Said."}}}
    assert converted(tmp_path, schema) == {"properties": {"a": {"description": "Said."}}}


def test_discriminators_stay_as_annotations(tmp_path: Path) -> None:
    schemas = {
        "Pet": {"oneOf": [{"$ref": "#/components/schemas/Cat"}], "discriminator": {
            "propertyName": "kind", "mapping": {"cat": "#/components/schemas/Cat", "dog": "Dog", "none": "Nobody"},
        }},
        "Cat": TEXT, "Dog": TEXT,
    }  # fmt: skip
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}
    operation = {"responses": {"200": {"description": "", "content": content}}}
    spec = read(tmp_path, document({"/a": {"get": operation}}, components={"schemas": schemas}))
    assert spec.schemas["Pet"]["discriminator"] == {
        "propertyName": "kind", "mapping": {"cat": "#/schemas/Cat", "dog": "#/schemas/Dog"},
    }  # fmt: skip
    assert set(spec.schemas) == {"Pet", "Cat", "Dog"}
