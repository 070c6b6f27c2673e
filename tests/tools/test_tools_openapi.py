"""Operations of OpenAPI documents: names, groups, parameters, bodies, answers, servers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from document_server import DocumentServer
from openapi_made import by_name, document, one, read

from codenav.core.errors import UsageError
from codenav.tools.broker.arguments import ArgumentChecker
from codenav.tools.broker.flights import Refused
from codenav.tools.broker.request import build
from codenav.tools.model import Effect
from codenav.tools.openapi import read_openapi
from codenav.tools.stubs import stubs_of

TEXT = {"type": "string"}
NEW = ("3.0.3", "3.1.0", "3.2.0")


def query(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": TEXT, **more}


def sends(content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"requestBody": {"content": content, **more}}


def test_names_do_not_depend_on_what_comes_after(tmp_path: Path) -> None:
    paths: dict[str, Any] = {
        "/orders": {"get": {"operationId": "listOrders"}, "post": {"operationId": "create-order"}},
        "/orders/{id}": {"get": {"operationId": "listOrders"}, "delete": {}, "put": {"operationId": "class"}},
        "/v1/things/{a}/{b-c}": {"get": {}},
        "/v1/things/{a}/{b_c}": {"get": {}},
        "/odd": {"get": {"operationId": "  "}, "post": {"operationId": "商品"}, "put": {"operationId": 7}},
    }
    expected = [
        ("list_orders", "listOrders"), ("create_order", "create-order"),
        ("list_orders_2", "GET /orders/{id}"), ("delete_orders_id", "DELETE /orders/{id}"), ("class_", "class"),
        ("get_v1_things_a_b_c", "GET /v1/things/{a}/{b-c}"), ("get_v1_things_a_b_c_2", "GET /v1/things/{a}/{b_c}"),
        ("get_odd", "GET /odd"), ("商品", "商品"), ("put_odd", "PUT /odd"),
    ]  # fmt: skip
    spec = read(tmp_path, document(paths))
    assert [(operation.name, operation.id) for operation in spec.operations] == expected
    assert "/paths/~1orders~1{id}/get/operationId: 'listOrders' is there already" in "\n".join(spec.notes)
    fewer = read(tmp_path, document(dict(list(paths.items())[:2])))
    assert [(operation.name, operation.id) for operation in fewer.operations] == expected[:5]


EFFECTS = {
    "GET": (Effect.READ, True), "HEAD": (Effect.READ, True), "OPTIONS": (Effect.READ, True),
    "TRACE": (Effect.READ, True), "POST": (Effect.WRITE, False), "PUT": (Effect.WRITE, True),
    "PATCH": (Effect.WRITE, False), "DELETE": (Effect.DESTROY, True),
}  # fmt: skip


def test_effects(tmp_path: Path) -> None:
    item: dict[str, Any] = {method.lower(): {} for method in EFFECTS}
    for version, more, expected in (
        ("3.1.0", {}, EFFECTS),
        ("3.2.0", {"query": {}, "additionalOperations": {"PURGE": {}}},
         {**EFFECTS, "QUERY": (Effect.READ, True), "PURGE": (Effect.DESTROY, False)}),
    ):  # fmt: skip
        found = read(tmp_path, document({"/a": {**item, **more}}, version))
        assert {one.method: (one.effect, one.idempotent) for one in found.operations} == expected


def test_groups(tmp_path: Path) -> None:
    made = document(
        {
            "/orders": {"get": {"tags": ["Order desk", "other"]}, "post": {"operationId": "orders"}},
            "/api/v2/orders/{id}": {"get": {}},
            "/{id}": {"get": {}},
            "/b": {"get": {"tags": ["order_desk"]}},
        },
        tags=[{"name": "Order desk", "description": "All about orders."}, {"name": "unused"}],
    )
    spec = read(tmp_path, made)
    assert [(operation.name, operation.group) for operation in spec.operations] == [
        ("get_orders", "order_desk"), ("orders", "orders_group"), ("get_api_v2_orders_id", "orders_group"),
        ("get_id", "root"), ("get_b", "order_desk_2"),
    ]  # fmt: skip
    assert [(group.name, group.title, group.text) for group in spec.groups] == [
        ("order_desk", "Order desk", "All about orders."), ("orders_group", "orders", ""), ("root", "root", ""),
        ("order_desk_2", "order_desk", ""),
    ]  # fmt: skip


@pytest.mark.parametrize("version", NEW)
def test_parameters_at_path_level_and_references_beside_other_keys(tmp_path: Path, version: str) -> None:
    made = document(
        {
            "/orders/{order-id}": {
                "parameters": [
                    {"name": "order-id", "in": "path", "required": True, "schema": TEXT},
                    query("from", description="Of the path."),
                    {"$ref": "#/components/parameters/Page", "description": "Said beside."},
                    query("id"),
                ],
                "get": {
                    "parameters": [
                        query("from", description="Of the operation.", required=True),
                        {"name": "id", "in": "header", "schema": TEXT},
                        {"name": "Accept", "in": "header", "schema": TEXT},
                        {"name": "content-type", "in": "header", "schema": TEXT},
                    ]
                },
            }
        },
        version,
        components={"parameters": {"Page": query("page", schema={"type": "integer"}, description="The page.")}},
    )
    (operation,) = read(tmp_path, made).operations
    assert [(found.name, found.wire, found.place, found.required, found.text) for found in operation.parameters] == [
        ("order_id", "order-id", "path", True, ""), ("from_", "from", "query", True, "Of the operation."),
        ("page", "page", "query", False, "Said beside."), ("id", "id", "query", False, ""),
        ("id_header", "id", "header", False, ""),
    ]  # fmt: skip


@pytest.mark.parametrize("version", NEW)
def test_styles(tmp_path: Path, version: str) -> None:
    listed = {"type": "array", "items": TEXT}
    made = one(
        tmp_path,
        {
            "parameters": [
                {"name": "a", "in": "path", "required": True, "schema": listed},
                {"name": "b", "in": "path", "required": True, "schema": listed, "style": "matrix", "explode": True},
                query("c", schema=listed),
                query("d", schema=listed, explode=False),
                query("e", schema=listed, style="pipeDelimited"),
                query("f", schema={"type": "object"}, style="deepObject", explode=True, allowReserved=True),
                {"name": "g", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}},
                {"name": "h", "in": "header", "schema": listed},
                {"name": "i", "in": "cookie", "schema": listed},
                query("j", schema=listed, style="matrix"),
            ]
        },
        version,
        path="/x/{a}/{b}",
    )
    found = {name: (item.style, item.explode, item.content_type) for name, item in by_name(made).items()}
    assert found == {
        "a": ("simple", False, ""), "b": ("matrix", True, ""), "c": ("form", True, ""), "d": ("form", False, ""),
        "e": ("pipeDelimited", False, ""), "f": ("deepObject", True, ""), "g": ("", False, "application/json"),
        "h": ("simple", False, ""), "i": ("form", True, ""), "j": ("form", True, ""),
    }  # fmt: skip
    assert by_name(made)["f"].allow_reserved


def test_collection_formats(tmp_path: Path) -> None:
    def listed(name: str, where: str = "query", **more: Any) -> dict[str, Any]:
        return {"name": name, "in": where, "type": "array", "items": TEXT, "required": where == "path", **more}

    parameters = [
        listed("p", "path"), listed("pp", "path", collectionFormat="pipes"), listed("csv"),
        listed("ssv", collectionFormat="ssv"), listed("tsv", collectionFormat="tsv"),
        listed("pipes", collectionFormat="pipes"), listed("multi", collectionFormat="multi"), listed("h", "header"),
    ]  # fmt: skip
    made = one(tmp_path, {"parameters": parameters}, "2.0", path="/x/{p}/{pp}")
    assert {name: (item.style, item.explode) for name, item in by_name(made).items()} == {
        "p": ("simple", False), "pp": ("pipeDelimited", False), "csv": ("form", False),
        "ssv": ("spaceDelimited", False), "tsv": ("tabDelimited", False), "pipes": ("pipeDelimited", False),
        "multi": ("form", True), "h": ("simple", False),
    }  # fmt: skip
    assert by_name(made)["csv"].schema == {"type": "array", "items": TEXT}


def test_a_query_string_of_3_2(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"a": TEXT}}
    content = {"application/x-www-form-urlencoded": {"schema": schema}}
    made = one(tmp_path, {"parameters": [{"name": "q", "in": "querystring", "content": content}]}, "3.2.0")
    assert [(item.place, item.style, item.explode, item.schema) for item in made.parameters] == [
        ("query", "form", True, schema)
    ]


def test_the_path_decides_on_path_parameters(tmp_path: Path) -> None:
    parameters = [{"name": "gone", "in": "path", "required": True, "schema": TEXT}]
    spec = read(tmp_path, document({"/a/{x}": {"get": {"parameters": parameters}}}))
    assert [(item.name, item.place, item.required) for item in spec.operations[0].parameters] == [("x", "path", True)]
    assert any("the path has no {gone}" in note for note in spec.notes)
    assert any("{x} of the path is not declared" in note for note in spec.notes)


def test_examples(tmp_path: Path) -> None:
    schema = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "examples": [3]}}}
    body = {"application/json": {"schema": schema, "examples": {
        "one": {"$ref": "#/components/examples/One"}, "two": {"value": {"n": 2}}, "far": {"externalValue": "http://x"},
    }}}  # fmt: skip
    parameters = [
        query("a", example="x", required=True), query("b", examples={"first": {"value": "y"}}),
        query("c", schema={"type": "integer", "examples": ["12"]}), query("d", schema={"type": "integer"}, example="?"),
    ]  # fmt: skip
    made = one(
        tmp_path,
        {"operationId": "make", "parameters": parameters, **sends(body)},
        method="post",
        components={"examples": {"One": {"value": {"n": 1}}}},
    )
    assert {name: item.example for name, item in by_name(made).items()} == {
        "a": "x", "n": 1, "b": "y", "c": 12, "d": None,
    }  # fmt: skip
    assert list(made.examples) == [{"a": "x", "n": 1}]
    made = one(tmp_path, {"parameters": [query("a", example="x", required=True)]})
    assert list(made.examples) == [{"a": "x"}]
    made = one(tmp_path, {"parameters": [query("a", required=True)]})
    assert list(made.examples) == []


@pytest.mark.parametrize(
    ("types", "chosen"),
    [
        (["text/csv", "application/xml", "application/json"], "application/json"),
        (["application/json-patch+json", "application/json; charset=utf-8"], "application/json; charset=utf-8"),
        (
            [
                "application/json-patch+json",
                "application/merge-patch+json",
                "application/strategic-merge-patch+json",
                "application/apply-patch+yaml",
            ],
            "application/merge-patch+json",
        ),
        (
            ["application/json-patch+json", "application/strategic-merge-patch+json"],
            "application/strategic-merge-patch+json",
        ),
        (["application/json-patch+json", "application/apply-patch+yaml"], "application/json-patch+json"),
        (["application/json-patch+json", "application/vnd.shop+json"], "application/vnd.shop+json"),
        (["application/xml", "application/vnd.shop+json"], "application/vnd.shop+json"),
        (["multipart/form-data", "application/x-www-form-urlencoded"], "application/x-www-form-urlencoded"),
        (["application/pdf", "multipart/form-data"], "multipart/form-data"),
        (["application/pdf", "text/plain"], "text/plain"),
        (["application/pdf", "image/png"], "application/pdf"),
        (["*/*"], "application/json"),
    ],
)
def test_one_content_type_is_sent(tmp_path: Path, types: list[str], chosen: str) -> None:
    content = {name: {"schema": {"type": "object", "properties": {"a": TEXT}}} for name in types}
    made = one(tmp_path, sends(content), method="post")
    assert made.body is not None and made.body.content_type == chosen


def test_an_object_becomes_parameters(tmp_path: Path) -> None:
    schema = {
        "allOf": [
            {"$ref": "#/components/schemas/Base"},
            {"type": "object", "required": ["name", "sku"], "properties": {"sku": TEXT, "id": TEXT}},
        ]
    }
    base = {
        "type": "object",
        "required": ["name", "created"],
        "properties": {
            "name": {**TEXT, "description": "Its name.", "example": "mug"},
            "created": {**TEXT, "readOnly": True},
            "class": TEXT,
        },
    }
    made = one(
        tmp_path,
        {"parameters": [query("id")], **sends({"application/json": {"schema": schema}})},
        method="post",
        components={"schemas": {"Base": base}},
    )
    assert [(item.name, item.wire, item.place, item.required) for item in made.parameters] == [
        ("name", "name", "body", True), ("sku", "sku", "body", True), ("id", "id", "query", False),
        ("class_", "class", "body", False), ("id_body", "id", "body", False),
    ]  # fmt: skip
    assert made.body is not None and made.body.spread and made.body.required
    assert (by_name(made)["name"].text, by_name(made)["name"].example) == ("Its name.", "mug")


@pytest.mark.parametrize(("given", "body", "name"), [({}, True, True), ({"required": False}, False, False),
                                                     ({"required": True}, True, True)])  # fmt: skip
def test_a_body_that_is_required(tmp_path: Path, given: dict[str, bool], body: bool, name: bool) -> None:
    schema = {"type": "object", "required": ["name"], "properties": {"name": TEXT}}
    made = one(tmp_path, sends({"application/json": {"schema": schema}}, **given), method="post")
    assert made.body is not None and (made.body.required, by_name(made)["name"].required) == (body, name)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": TEXT},
        {"type": "object"},
        {"type": "object", "properties": {"a": TEXT}, "additionalProperties": {"type": "integer"}},
        {"oneOf": [{"type": "object", "properties": {"a": TEXT}}, TEXT]},
        {"allOf": [{"type": "object", "properties": {"a": TEXT}}, {"anyOf": [{"required": ["a"]}]}]},
        {},
    ],
)
def test_everything_else_is_one_parameter(tmp_path: Path, schema: dict[str, Any]) -> None:
    made = one(
        tmp_path, {"parameters": [query("body")], **sends({"application/json": {"schema": schema}}, required=True)},
        method="post",
    )  # fmt: skip
    assert [(item.name, item.wire, item.place, item.required) for item in made.parameters] == [
        ("body_body", "body", "content", True), ("body", "body", "query", False),
    ]  # fmt: skip
    assert made.body is not None and not made.body.spread


def test_forms_and_files(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {
        "file": {"type": "string", "format": "binary"}, "tags": {"type": "array", "items": TEXT},
    }}  # fmt: skip
    encoding = {"file": {"contentType": "image/png", "x-a": 1}, "tags": {"style": "form", "explode": False}}
    made = one(tmp_path, sends({"multipart/form-data": {"schema": schema, "encoding": encoding}}), method="post")
    assert made.body is not None and made.body.spread
    assert made.body.encoding == {"file": {"contentType": "image/png"}, "tags": {"style": "form", "explode": False}}
    assert by_name(made)["file"].schema == {"type": "string", "format": "binary"}
    content = {"application/octet-stream": {}}
    made = one(tmp_path, sends(content, required=True), method="post")
    assert [(item.place, item.schema) for item in made.parameters] == [
        ("content", {"type": "string", "format": "binary"})
    ]
    content = {"image/png": {"schema": {"type": "string", "contentMediaType": "image/png"}}}
    made = one(tmp_path, sends(content), method="post")
    assert made.parameters[0].schema["format"] == "binary"
    content = {"application/xml": {"schema": {"type": "object", "properties": {"a": TEXT}}}}
    made = one(tmp_path, sends(content), method="post")
    assert made.parameters[0].schema["type"] == "string"


def test_bodies_of_2_0(tmp_path: Path) -> None:
    body = {"name": "pet", "in": "body", "required": True, "schema": {"$ref": "#/definitions/Pet"}}
    pet = {"type": "object", "required": ["name"], "properties": {"name": TEXT, "id": {**TEXT, "readOnly": True}}}
    made = one(
        tmp_path, {"parameters": [body], "consumes": ["application/xml", "application/json"]}, "2.0", method="post",
        definitions={"Pet": pet},
    )  # fmt: skip
    assert made.body is not None and made.body.content_type == "application/json" and made.body.spread
    assert [(item.name, item.place, item.required) for item in made.parameters] == [("name", "body", True)]
    form = [
        {"name": "note", "in": "formData", "type": "string", "required": True},
        {"name": "ids", "in": "formData", "type": "array", "items": {"type": "integer"}, "collectionFormat": "multi"},
    ]
    made = one(tmp_path, {"parameters": form}, "2.0", method="post", consumes=["application/json"])
    assert made.body is not None and made.body.content_type == "application/x-www-form-urlencoded"
    assert made.body.encoding == {"ids": {"style": "form", "explode": True}}
    file = {"name": "upload", "in": "formData", "type": "file"}
    made = one(tmp_path, {"parameters": [*form, file], "consumes": ["multipart/form-data"]}, "2.0", method="post")
    assert made.body is not None and made.body.content_type == "multipart/form-data"
    assert by_name(made)["upload"].schema == {"type": "string", "format": "binary"}


def answers(**statuses: Any) -> dict[str, Any]:
    """An operation with answers, each with a schema that tells them apart."""
    responses = {}
    for name, title in statuses.items():
        status = name.removeprefix("s")
        content = {} if title is None else {"content": {"application/json": {"schema": {"title": title}}}}
        responses[status] = {"description": f"Text of {status}.", **content}
    return {"responses": responses}


@pytest.mark.parametrize(
    ("responses", "title", "text"),
    [
        (answers(s400="bad", s201="made", s200="found"), "found", "Text of 200."),
        (answers(s2XX="some", s404="bad"), "some", "Text of 2XX."),
        (answers(default="any", s404="bad"), "any", "Text of default."),
        (answers(default="error", s200="fine"), "fine", "Text of 200."),
        (answers(default="error", s204=None), None, "Text of 204."),
        (answers(s200=None, s202="later"), "later", "Text of 200."),
        (answers(s404="bad"), None, ""),
    ],
)
def test_the_good_answer(tmp_path: Path, responses: dict[str, Any], title: str | None, text: str) -> None:
    made = one(tmp_path, responses)
    assert (made.result or {}).get("title") == title
    assert made.result_text == text


def test_media_types_of_answers(tmp_path: Path) -> None:
    content = {"text/csv": {}, "application/json": {"schema": TEXT, "example": "x"}}
    made = one(tmp_path, {"responses": {"200": {"description": "", "content": content}}})
    assert (made.result, list(made.result_types)) == (TEXT, ["application/json", "text/csv"])
    made = one(tmp_path, {"responses": {"200": {"description": "", "content": {"image/png": {}}}}})
    assert made.result == {"type": "string", "format": "binary"}
    made = one(
        tmp_path,
        {"responses": {"200": {"description": "", "schema": TEXT, "examples": {"application/json": "y"}}}},
        "2.0", produces=["application/json"],
    )  # fmt: skip
    assert (made.result, list(made.result_types)) == (TEXT, ["application/json"])


@pytest.mark.parametrize("version", NEW)
def test_nested_fields_of_one_direction(tmp_path: Path, version: str) -> None:
    inner = {
        "type": "object",
        "required": ["id", "name", "password"],
        "properties": {"id": {**TEXT, "readOnly": True}, "name": TEXT, "password": {**TEXT, "writeOnly": True}},
    }
    outer = {"type": "object", "properties": {"user": {"$ref": "#/components/schemas/User"}}}
    user = {"application/json": {"schema": {"$ref": "#/components/schemas/User"}}}
    operation = {
        **sends({"application/json": {"schema": outer}}),
        "responses": {"200": {"description": "", "content": user}},
    }
    made = document({"/users": {"put": operation}}, version, components={"schemas": {"User": inner}})
    spec = read(tmp_path, made)
    (found_operation,) = spec.operations
    sent = spec.schemas[found_operation.parameters[0].schema["$ref"].removeprefix("#/schemas/")]
    assert sorted(sent["properties"]) == ["name", "password"] and sorted(sent["required"]) == ["name", "password"]
    assert found_operation.result is not None
    found = spec.schemas[found_operation.result["$ref"].removeprefix("#/schemas/")]
    assert sorted(found["properties"]) == ["id", "name", "password"] and sorted(found["required"]) == ["id", "name"]


def test_servers(tmp_path: Path) -> None:
    made = document(
        {
            "/a": {"get": {}, "post": {"servers": [{"url": "https://upload.example/"}]}},
            "/b": {"servers": [{"url": "/base"}], "get": {}},
        }
    )
    made["servers"] = [
        {"url": "https://{region}.shop.example:{port}/v{v}/", "variables": {
            "region": {"default": "eu"}, "port": {"enum": ["8443"], "default": "8443"}, "v": {"default": "2"},
        }},
        {"url": "https://{open}.example"},
        {"url": "ws://shop.example"},
        {"url": "/relative"},
    ]  # fmt: skip
    spec = read(tmp_path, made)
    assert list(spec.servers) == ["https://eu.shop.example:8443/v2", "/relative"]
    assert [list(operation.servers) for operation in spec.operations] == [[], ["https://upload.example"], ["/base"]]
    assert any("'open' has no value" in note for note in spec.notes)
    assert any("'ws://shop.example' is no address of HTTP" in note for note in spec.notes)


@pytest.mark.parametrize(
    ("version", "given", "page", "found"),
    [
        ("3.1.0", {"servers": []}, "", []),
        ("3.1.0", {"servers": []}, "/docs/openapi.json", [""]),
        ("3.1.0", {"servers": [{"url": "../api/v2"}, {"url": "/"}]}, "/docs/v1/openapi.json", ["/docs/api/v2", ""]),
        ("2.0", {"host": ""}, "", []),
        ("2.0", {"host": "", "basePath": "/v1"}, "/old.json", ["/v1"]),
        ("2.0", {"schemes": ["http", "https", "ws"], "basePath": "/v1/"}, "",
         ["https://shop.example/v1", "http://shop.example/v1"]),
        ("2.0", {"basePath": "/"}, "", ["https://shop.example"]),
        ("2.0", {"schemes": ["http"]}, "", ["http://shop.example"]),
    ],
)  # fmt: skip
def test_servers_of_a_document_by_its_address(
    tmp_path: Path, version: str, given: dict[str, Any], page: str, found: list[str]
) -> None:
    made = {**document({"/a": {"get": {}}}, version), **given}
    if not page:
        spec = read(tmp_path, made)
        assert list(spec.servers) == found
        assert any("names no server" in note or "names no host" in note for note in spec.notes) == (not found)
        return
    with DocumentServer({page: made}) as server:
        spec = read_openapi(server.url(page).replace("http://", "http://me:secret@"))
        assert list(spec.servers) == [server.url(path) for path in found]
    assert "secret" not in json.dumps(spec.to_dict())


@pytest.mark.parametrize(
    "version", ["openapi: 3.1", "openapi: 3.0", "swagger: 2.0", "openapi: '3.1.1'", "openapi: 3.2.0"]
)
def test_versions_as_people_write_them(tmp_path: Path, version: str) -> None:
    paths = "paths: {/a: {get: {responses: {200: {description: x}}}}}"
    text = f"{version}\ninfo: {{title: a, version: 1.10}}\n{paths}"
    assert len(read(tmp_path, text, "shop.yaml").operations) == 1


def test_head_of_a_document(tmp_path: Path) -> None:
    made = document({"/a": {"get": {}}}, webhooks={"order": {"post": {"responses": {}}}})
    made["info"] = {"title": "Shop", "version": "2.1", "description": "Sells mugs."}
    spec = read(tmp_path, made)
    assert (spec.name, spec.format, spec.title, spec.version, spec.text) == (
        "shop", "openapi", "Shop", "2.1", "Sells mugs.",
    )  # fmt: skip
    assert len(spec.operations) == 1
    assert read(tmp_path, made, "openapi.json").name == "shop"
    assert read(tmp_path, made, "Big-Shop.v2.json").name == "big_shop_v2"


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ("[]", "is a list, no OpenAPI document"),
        ("{}", "has neither `openapi` nor `swagger`"),
        ('{"openapi": "4.0.0", "info": {}, "paths": {}}', r"is of OpenAPI 4\.0\.0; versions 2\.0, 3\.0"),
        ('{"swaggerVersion": "1.2"}', r"is of Swagger 1\.2"),
        ('{"openapi": "3.1.0", "info": {"title": "a", "version": "1"}, "paths": {}}', "has no operations"),
        ('{"openapi": "3.1.0", "info": {"title": "a", "version": "1"}}', "has no operations"),
        ('{"openapi": "3.1.0", "info": {"title": "a", "version": "1"}, "paths": 3}', "has no operations"),
        ('{"tools": []}', "has neither `openapi` nor `swagger`"),
    ],
)
def test_no_openapi_documents(tmp_path: Path, made: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read(tmp_path, made)
    assert "\n" not in str(caught.value) and str(tmp_path / "shop.json") in str(caught.value)


def spoil(change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """A document of two operations, the first of them changed."""
    operation = {"operationId": "first", "parameters": [query("q")], "responses": {"200": {"description": ""}}}
    made = document({"/first": {"post": operation}, "/second": {"get": {"operationId": "second"}}})
    change(operation)
    return made


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda operation: operation["parameters"].append(query("x", **{"in": "nowhere"})), "parameters/1"),
        (lambda operation: operation["parameters"].append({"in": "query", "schema": {}}), "parameters/1"),
        (lambda operation: operation["parameters"].append({"$ref": "#/components/parameters/None"}), "parameters/1"),
        (lambda operation: operation.update(parameters={"a": 1}), "parameters"),
        (lambda operation: operation.update(requestBody={"description": "no content"}), "requestBody"),
        (lambda operation: operation.update(requestBody={"$ref": "#/nowhere"}), "requestBody"),
    ],
)  # fmt: skip
def test_an_operation_that_cannot_be_read_is_named_and_costs_no_other(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], path: str
) -> None:
    spec = read(tmp_path, spoil(change))
    assert [operation.name for operation in spec.operations] == ["second"]
    notes = [note for note in spec.notes if note.startswith("POST /first is left out: ")]
    assert len(notes) == 1 and f"/paths/~1first/post/{path}: " in notes[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda operation: operation.update(servers="x"),
        lambda operation: operation.update(security=[3]),
        lambda operation: operation["parameters"][0].update(required="true"),
        lambda operation: operation["parameters"][0].update(style="odd"),
        lambda operation: operation["parameters"][0].update(schema={"type": "strin", "minimum": "5"}),
        lambda operation: operation["parameters"][0].update(schema={"$ref": "#/components/schemas/None"}),
        lambda operation: operation["parameters"][0].update(schema=[]),
        lambda operation: operation.update(responses={"200": {"$ref": "#/components/responses/None"}}),
    ],
)
def test_faults_to_live_with_are_noted(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    spec = read(tmp_path, spoil(change))
    assert len(spec.operations) == 2
    assert any("/paths/~1first/post" in note for note in spec.notes), spec.notes


@pytest.mark.parametrize(
    "change",
    [{"cache": "no"}, {"responses": None}, {"responses": {"200": {}}}, {"operationId": 12}, {"deprecated": "false"}],
)
def test_faults_that_change_nothing_cost_nothing(tmp_path: Path, change: dict[str, Any]) -> None:
    spec = read(tmp_path, spoil(lambda operation: operation.update(change)))
    assert len(spec.operations) == 2 and not spec.notes


def test_a_document_of_which_nothing_can_be_read(tmp_path: Path) -> None:
    made = spoil(lambda operation: operation.update(parameters=3))
    del made["paths"]["/second"]
    with pytest.raises(UsageError, match="can be called: POST /first is left out: /paths/~1first/post"):
        read(tmp_path, made)


@pytest.mark.parametrize("version", ["2.0", "3.0.3"])
def test_an_answer_that_is_xml_only_is_a_text_and_asked_for_as_it_is(tmp_path: Path, version: str) -> None:
    schema = {"type": "object", "properties": {"a": TEXT}}
    for types, first, is_text in (
        (["application/xml"], "application/xml", True), (["application/vnd.shop+xml; charset=utf-8"], "", True),
        (["application/xml", "application/json"], "application/json", False), (["text/xml"], "text/xml", True),
    ):  # fmt: skip
        answer: dict[str, Any] = {"description": "", "schema": schema}
        if version != "2.0":
            answer = {"description": "", "content": {name: {"schema": schema} for name in types}}
        made = one(tmp_path, {"produces": types, "responses": {"200": answer}}, version)
        assert made.result_types[0] == (first or types[0]) and made.result is not None
        assert (made.result["type"] == "string") == is_text, types
        accept = dict(build(made, {}, "https://shop.example").headers)["Accept"]
        others = [f"{name};q=0.5" for name in types if name != made.result_types[0]]
        assert accept == ", ".join([made.result_types[0], *others, "*/*;q=0.1"])


def test_one_of_several_is_any_of_them(tmp_path: Path) -> None:
    """A value that fits two branches is sent: which one is meant, the server decides."""
    loose = [{"type": "object", "properties": {"a": TEXT}}, {"type": "object", "properties": {"b": TEXT}}]
    both = {"oneOf": loose, "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "allOf": [{"minProperties": 1}]}
    for schema in ({"oneOf": loose}, {"$ref": "#/components/schemas/Either"}, both):
        content = {"application/json": {"schema": schema}}
        spec = read(tmp_path, document({"/a": {"post": {"operationId": "put", **sends(content)}}},
                                       components={"schemas": {"Either": {"oneOf": loose}}}))  # fmt: skip
        made = spec.operations[0]
        assert "oneOf" not in json.dumps([made.to_dict(), dict(spec.schemas)])
        checker = ArgumentChecker(spec.schemas)
        assert checker.check("s.put", made, {"body": {"a": "x", "b": "y"}})
        for wrong in ({"a": 1, "b": 1}, *([{}] if schema is both else [])):
            with pytest.raises(Refused):
                checker.check("s.put", made, {"body": wrong})
        said = stubs_of(spec)[0].docstring
        assert 'Shape {"a"?: str} | {"b"?: str}' in said or schema is both, said
        assert said.count("the server decides.") == 1


def test_parameters_that_are_choices_or_may_be_null_show_their_shape(tmp_path: Path) -> None:
    card, bank = ({"type": "object", "required": [name], "properties": {name: TEXT}} for name in ("number", "iban"))
    schemas = {"Card": card, "Bank": bank}
    properties = {
        "pay": {"anyOf": [{"$ref": "#/components/schemas/Card"}, {"$ref": "#/components/schemas/Bank"}]},
        "maybe": {"anyOf": [{"$ref": "#/components/schemas/Card"}, {"type": "null"}]},
        "many": {"type": "array", "items": {"oneOf": [{"$ref": "#/components/schemas/Bank"}, TEXT]}},
        "own": {"type": "object", "properties": {"n": {"type": "integer"}}, "oneOf": [card, bank]},
    }
    content = {"application/json": {"schema": {"type": "object", "properties": properties}}}
    made = document({"/a": {"post": sends(content)}}, components={"schemas": schemas})
    said = " ".join(stubs_of(read(tmp_path, made))[0].docstring.split())
    for shown in (
        'pay: Shape {"number": str} | {"iban": str}.', 'maybe: Shape {"number": str} | None.',
        'many: Shape [{"iban": str} | str].', 'own: Shape {"number": str, "n"?: int} | {"iban": str, "n"?: int}.',
    ):  # fmt: skip
        assert shown in said
    assert said.count("the server decides.") == 1
    assert "the server decides" not in stubs_of(read(tmp_path, document({"/a": {"get": {}}})))[0].docstring


def test_texts(tmp_path: Path) -> None:
    made = one(tmp_path, {"summary": "List orders.", "description": "All of them. Newest first.", "deprecated": True})
    assert (made.title, made.text, made.deprecated) == ("List orders.", "All of them. Newest first.", True)
    made = one(tmp_path, {"description": "\n# All of them. Newest first.\nMore."})
    assert made.title == "All of them."
    made = one(tmp_path, {"description": "word " * 100})
    assert len(made.title) <= 120 and made.title.endswith("…")
