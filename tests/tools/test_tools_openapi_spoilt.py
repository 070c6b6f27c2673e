"""Documents with a place or two spoilt: read or refused in one line, never a traceback and never a broken schema."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import orjson
from drawn import drawn
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from openapi_made import document, read

from codenav.core.errors import CodeNavError
from codenav.tools.model import ToolSpec
from codenav.tools.openapi.directions import references
from codenav.tools.schemas import PREFIX

TEXT = {"type": "string", "minLength": 1, "example": "x"}
PARAMETERS = [
    {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}},
    {"name": "q", "in": "query", "style": "pipeDelimited", "schema": {"type": "array", "items": TEXT}},
    {"name": "token", "in": "header", "schema": TEXT, "example": "y"},
    {"$ref": "#/components/parameters/Page"},
]  # fmt: skip
SCHEMAS = {
    "Order": {"type": "object", "required": ["id", "next"], "additionalProperties": False, "properties": {
        "id": {"type": "string", "readOnly": True}, "next": {"$ref": "#/components/schemas/Order"},
        "state": {"type": "string", "enum": ["open", "done"], "nullable": True},
        "all": {"allOf": [{"$ref": "#/components/schemas/Item"}], "discriminator": {
            "propertyName": "kind", "mapping": {"item": "#/components/schemas/Item"},
        }},
    }},
    "Item": {"oneOf": [TEXT, {"type": "object", "properties": {"secret": {**TEXT, "writeOnly": True}}}]},
}  # fmt: skip
CONTENT = {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}, "examples": {"a": {"value": {}}}},
           "multipart/form-data": {"schema": {}, "encoding": {"a": {"style": "form"}}}}  # fmt: skip
ONE = {"application/json": {"schema": {"$ref": "#/components/schemas/Item"}, "example": 3}}
RESPONSES = {"200": {"description": "", "content": CONTENT}, "default": {"$ref": "#/components/responses/Error"}}
NEW = document(
    {
        "/orders/{id}": {
            "parameters": PARAMETERS,
            "servers": [{"url": "https://{a}.example", "variables": {"a": {"default": "b"}}}],
            "put": {"operationId": "put", "tags": ["orders"], "requestBody": {"content": CONTENT},
                    "responses": RESPONSES, "security": [{"key": []}, {"oauth": ["a"], "basic": []}]},
            "get": {"responses": RESPONSES, "parameters": [{"name": "q", "in": "query", "content": ONE}]},
        },
        "/items": {"get": {"operationId": "items"}},
    },
    security=[{"basic": []}],
    tags=[{"name": "orders", "description": "Orders."}],
    components={
        "schemas": SCHEMAS, "parameters": {"Page": {"name": "page", "in": "query", "schema": {"type": "integer"}}},
        "responses": {"Error": {"description": "No."}},
        "securitySchemes": {
            "key": {"type": "apiKey", "in": "query", "name": "k"}, "basic": {"type": "http", "scheme": "basic"},
            "oauth": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://a.example/"}}},
        },
    },
)  # fmt: skip
OLD = document(
    {
        "/orders/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "type": "integer"}],
            "post": {
                "consumes": ["multipart/form-data"], "produces": ["application/json"],
                "parameters": [{"name": "f", "in": "formData", "type": "file"},
                               {"name": "l", "in": "formData", "type": "array", "items": {"type": "string"}}],
                "responses": {"200": {"description": "", "schema": {"$ref": "#/definitions/A"},
                                      "examples": {"application/json": {}}}},
            },
            "put": {"parameters": [{"name": "b", "in": "body", "schema": {"$ref": "#/definitions/A"}}]},
        }
    },
    "2.0", schemes=["https"], basePath="/v1", consumes=["application/json"],
    securityDefinitions={"o": {"type": "oauth2", "flow": "application", "tokenUrl": "https://a.example", "scopes": {}}},
    security=[{"o": ["x"]}],
    definitions={"A": {"type": "object", "x-nullable": True, "properties": {"a": {"$ref": "#/definitions/A"}}}},
)  # fmt: skip

JUNK = st.sampled_from([
    None, True, False, 0, -1, 3.5, 10**30, "", "x", "a b", "#/x", "#", "#/paths", "/", "true", "{", "{}", "\ud800", [],
    [1], [None], [[]], ["a", "a"], ["string"], {}, {"a": 1}, {"a": {}}, {"": ""}, {"$ref": "#"}, {"$ref": 3},
    {"$ref": "#/paths"},
    {"$ref": "#/components/schemas/Order"}, {"$ref": "none.json"}, {"type": "array"}, {"type": ["file"]},
    {"allOf": [{"$ref": "#/components/schemas/Order"}]}, "delete",
])  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values in a value."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def put(value: Any, path: tuple[Any, ...], junk: Any) -> None:
    """Spoil a place that may be gone by now."""
    try:
        for key in path[:-1]:
            value = value[key]
        if junk == "delete":
            del value[path[-1]]
        elif isinstance(value, dict) or path[-1] < len(value):
            value[path[-1]] = copy.deepcopy(junk)
    except (KeyError, IndexError, TypeError):
        pass


def check(spec: ToolSpec) -> None:
    """Everything that other parts rely on."""
    assert spec.operations and spec.name.isidentifier()
    assert ToolSpec.from_dict(orjson.loads(orjson.dumps(spec.to_dict()))).to_dict() == spec.to_dict()
    names = [operation.name for operation in spec.operations]
    assert len(set(names)) == len(names)
    schemes, groups = {scheme.name for scheme in spec.schemes}, {group.name for group in spec.groups}
    assert not groups & set(names)
    schemas = list(spec.schemas.values())
    for operation in spec.operations:
        assert operation.group in groups
        assert {name for alternative in operation.security for name in alternative} <= schemes
        named = [parameter.name for parameter in operation.parameters]
        assert len(set(named)) == len(named) and all(name.isidentifier() for name in named)
        schemas += [parameter.schema for parameter in operation.parameters]
        schemas += [operation.result] if operation.result is not None else []
        whole = [parameter for parameter in operation.parameters if parameter.place == "content"]
        assert len(whole) <= 1 and (operation.body is not None or not whole)
    for schema in schemas:
        jsonschema.Draft202012Validator.check_schema(dict(schema))
        assert all(holder["$ref"].removeprefix(PREFIX) in spec.schemas for holder in references(schema))
        # No schema leads a validator round in a circle.
        jsonschema.Draft202012Validator({"schemas": dict(spec.schemas), "allOf": [schema]}).is_valid({"a": {}})


@drawn(300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_spoilt_documents(tmp_path: Path, data: st.DataObject) -> None:
    made = copy.deepcopy(
        data.draw(st.sampled_from([NEW, {**NEW, "openapi": "3.0.3"}, {**NEW, "openapi": "3.2.0"}, OLD]))
    )
    for _ in range(data.draw(st.integers(0, 3))):
        put(made, data.draw(st.sampled_from(list(places(made)))), data.draw(JUNK))
    try:
        spec = read(tmp_path, json.dumps(made))
    except CodeNavError as error:
        assert "\n" not in str(error) and error.exit_code == 2
        return
    check(spec)
