"""References into other files and to other addresses."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from document_server import DocumentServer, Page
from openapi_made import by_name, document, read

from codenav.core.errors import NotFound, Unavailable, UsageError
from codenav.tools.openapi import read_openapi
from codenav.tools.openapi.directions import references

TEXT = {"type": "string"}


def answering(reference: str) -> dict[str, Any]:
    """A document whose only answer has a schema elsewhere."""
    content = {"application/json": {"schema": {"$ref": reference}}}
    return document({"/a": {"get": {"responses": {"200": {"description": "", "content": content}}}}})


def test_files_below_the_folder(tmp_path: Path) -> None:
    made = document({"/orders/{id}": {"$ref": "paths/orders.yaml"}, "/b": {"$ref": "paths/orders.yaml#/x-other"}})
    (tmp_path / "paths").mkdir()
    (tmp_path / "parts.json").write_text(json.dumps({
        "id": {"name": "id", "in": "path", "required": True, "schema": {"$ref": "#/size"}}, "size": {"type": "integer"},
        "answer": {"description": "", "content": {"application/json": {"schema": {"$ref": "paths/Order.yaml"}}}},
    }))  # fmt: skip
    (tmp_path / "paths" / "orders.yaml").write_text("""
get:
  operationId: getOrder
  parameters: [{$ref: ../parts.json#/id}]
  responses: {200: {$ref: '../parts.json#/answer'}}
x-other: {get: {operationId: other, responses: {204: {description: ''}}}}
""")
    (tmp_path / "paths" / "Order.yaml").write_text("""
type: object
properties:
  id: {$ref: '../parts.json#/size'}
  parent: {$ref: Order.yaml}
  spec: {$ref: '../shop.json#/components/schemas/Own'}
""")
    made["components"] = {"schemas": {"Own": TEXT}}
    spec = read(tmp_path, made)
    assert [operation.name for operation in spec.operations] == ["get_order", "other"], spec.notes
    assert by_name(spec.operations[0])["id"].schema == {"$ref": "#/schemas/size"}
    assert spec.operations[0].result == {"$ref": "#/schemas/Order"}
    assert spec.schemas == {
        "size": {"type": "integer"}, "Own": TEXT,
        "Order": {"type": "object", "properties": {
            "id": {"$ref": "#/schemas/size"}, "parent": {"$ref": "#/schemas/Order"}, "spec": {"$ref": "#/schemas/Own"},
        }},
    }  # fmt: skip


@pytest.mark.parametrize(
    "reference",
    ["../secret.json", "/etc/passwd", "file:///etc/passwd", "sub/../../secret.json", "%2e%2e/secret.json", "link.json",
     "//etc/passwd", "../folder-beside/a.json"],
)  # fmt: skip
def test_files_outside_of_the_folder_are_refused(tmp_path: Path, reference: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "folder-beside").mkdir()
    for path in (tmp_path / "secret.json", tmp_path / "folder-beside" / "a.json"):
        path.write_text(json.dumps({"description": "the secret"}))
    (folder / "link.json").symlink_to(tmp_path / "secret.json")
    with pytest.raises(UsageError, match="outside of the folder of the named document: refused") as caught:
        read(folder, answering(reference))
    assert reference in str(caught.value) and "the secret" not in str(caught.value)


def test_a_file_that_is_not_there_or_no_document(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("a: [")
    for name, reason in (("none.yaml", "there is no file"), ("bad.yaml", "is not valid YAML"), (".", "is a folder")):
        spec = read(tmp_path, answering(name))
        assert any(reason in note and note.endswith("anything is accepted there") for note in spec.notes), spec.notes


def test_addresses_from_an_address(tmp_path: Path) -> None:
    pages: dict[str, Any] = {
        "/docs/openapi.json": answering("schemas/order.json#/Order"),
        "/docs/schemas/order.json": {"Order": {"properties": {"size": {"$ref": "/size.yaml"}}}},
        "/size.yaml": "type: integer",
    }
    with DocumentServer(pages) as server:
        spec = read_openapi(server.url("/docs/openapi.json"))
    assert spec.schemas == {"Order": {"properties": {"size": {"$ref": "#/schemas/size"}}}, "size": {"type": "integer"}}
    assert [path for path, _ in server.seen] == ["/docs/openapi.json", "/docs/schemas/order.json", "/size.yaml"]


def test_private_addresses_need_leave(tmp_path: Path) -> None:
    with DocumentServer({"/order.json": TEXT}) as inside:
        made = answering(inside.url("/order.json"))
        with pytest.raises(UsageError, match="is in a private network: refused") as caught:
            read(tmp_path, made)
        assert "--set allow_private=yes" in caught.value.hint
        with DocumentServer({"/openapi.json": made}) as server, pytest.raises(UsageError, match="private network"):
            # From localhost, too: another port is another origin.
            read_openapi(server.url())
        assert inside.seen == []
        assert read(tmp_path, made, allow_private=True).schemas == {"order": TEXT}


@pytest.mark.parametrize("reference", ["file:///etc/passwd", "ftp://a.example/b"])
def test_other_kinds_of_addresses_from_an_address(reference: str) -> None:
    with (
        DocumentServer({"/openapi.json": answering(reference)}) as server,
        pytest.raises(UsageError, match="which is no address of HTTP: refused"),
    ):
        read_openapi(server.url())


def test_an_address_that_fails_leaves_nothing_half_read() -> None:
    with DocumentServer({"/openapi.json": answering("/gone.json"), "/b.json": answering("/broken.json"),
                         "/broken.json": Page(status=500)}) as server:  # fmt: skip
        with pytest.raises(NotFound, match=r"gone\.json does not exist"):
            read_openapi(server.url())
        with pytest.raises(Unavailable, match=r"broken\.json was not read: the server says 500"):
            read_openapi(server.url("/b.json"))


def test_circles_of_references(tmp_path: Path) -> None:
    made = document({"/a": {"$ref": "#/paths/~1b"}, "/b": {"$ref": "#/paths/~1a"}, "/c": {"get": {
        "parameters": [{"$ref": "#/components/parameters/A"}],
    }}, "/d": {"get": {}}}, components={"parameters": {
        "A": {"$ref": "#/components/parameters/B"}, "B": {"$ref": "#/components/parameters/A"},
    }})  # fmt: skip
    spec = read(tmp_path, made)
    assert [operation.name for operation in spec.operations] == ["get_d"]
    assert sum("round in a circle" in note for note in spec.notes) == 3


def test_the_own_address_of_3_2(tmp_path: Path) -> None:
    made = answering("https://shop.example/openapi.json#/components/schemas/A")
    made = {**made, "openapi": "3.2.0", "$self": "https://shop.example/openapi.json"}
    made["components"] = {"schemas": {"A": TEXT}}
    assert read(tmp_path, made).schemas == {"A": TEXT}


def test_a_path_item_beside_a_reference(tmp_path: Path) -> None:
    made = document({
        "/a": {"$ref": "#/components/pathItems/A", "post": {"operationId": "own", "responses": {}}}, "/b": {"get": {}},
    })  # fmt: skip
    made["components"] = {"pathItems": {"A": {"get": {"operationId": "shared", "responses": {}}}}}
    assert sorted(operation.name for operation in read(tmp_path, made).operations) == ["get_b", "own", "shared"]


def files(folder: Path, made: dict[str, str]) -> None:
    """Write files below a folder."""
    for name, text in made.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_operations_in_files_of_their_own(tmp_path: Path) -> None:
    """Their own references are relative to them, whatever part of an operation stands behind one."""
    files(tmp_path, {
        "items.yml": "get: {$ref: resources/keys/list.yml}\nparameters: [{$ref: shared/all.yml#/page}]",
        "resources/keys/list.yml": """
operationId: listKeys
summary: List the keys.
parameters: {$ref: 'parts%20of%20it.yml#/parameters'}
requestBody: {$ref: 'parts%20of%20it.yml#/body'}
responses: {$ref: ../../shared/all.yml#/responses}
security: [{key: []}]
""",
        "resources/keys/parts of it.yml": """
parameters: [{$ref: ../../shared/all.yml#/page}, {name: kind, in: query, schema: {$ref: kind.yml}, example: a}]
body: {content: {application/json: {schema: {type: object, properties: {$ref: properties.yml}}}}}
""",
        "resources/keys/kind.yml": "{type: string, enum: [a, b]}",
        "resources/keys/properties.yml": "{label: {type: string}, again: {$ref: kind.yml}}",
        "shared/all.yml": """
page: {name: page, in: query, schema: {type: integer}}
responses: {200: {$ref: '#/one'}}
one: {description: The keys., content: {application/json: {$ref: '#/media'}}}
media: {schema: {type: array, items: {$ref: 'Key.yml'}}, examples: {first: {$ref: first.yml}}}
""",
        "shared/Key.yml": "{type: object, properties: {id: {type: integer}, kind: {$ref: ../resources/keys/kind.yml}}}",
        "shared/first.yml": "{value: [{id: 3}]}",
    })  # fmt: skip
    schemes = {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}}
    by_operation = {"/keys": {"get": {"$ref": "resources/keys/list.yml"}}}
    for paths in (by_operation, {"/keys": {"$ref": "items.yml"}}, {"$ref": "paths.yml"}):
        (tmp_path / "paths.yml").write_text(json.dumps(by_operation))
        spec = read(tmp_path, {**document({}), "paths": paths, "components": schemes})
        (made,) = spec.operations
        assert (made.id, made.title, made.security) == ("listKeys", "List the keys.", (("key",),))
        assert {item.name: item.place for item in made.parameters} == {
            "page": "query", "kind": "query", "label": "body", "again": "body",
        }  # fmt: skip
        assert by_name(made)["page"].schema == {"type": "integer"} and by_name(made)["kind"].example == "a"
        assert made.result == {"type": "array", "items": {"$ref": "#/schemas/Key"}}
        assert spec.schemas["kind"]["enum"] == ["a", "b"]


def test_keys_beside_the_reference_of_an_operation_stay_relative_to_their_own_file(tmp_path: Path) -> None:
    files(tmp_path, {
        "far/get.yml": "{operationId: far, summary: Far., responses: {200: {description: ''}}, tags: [far]}",
        "far/item.yml": "{get: {$ref: get.yml}, put: {operationId: far_put, responses: {}}}",
        "near.yml": "{name: near, in: query, schema: {type: boolean}}",
    })  # fmt: skip
    beside = {"operationId": "near", "parameters": [{"$ref": "near.yml"}]}
    made = document({"/a": {"get": {"$ref": "far/get.yml", **beside}}, "/b": {"$ref": "far/item.yml", "put": beside}})
    found = {operation.name: operation for operation in read(tmp_path, made).operations}
    assert list(found) == ["near", "far", "near_2"]
    assert (found["near"].title, found["near"].group) == ("Far.", "far_group")
    assert all(by_name(found[name])["near"].schema == {"type": "boolean"} for name in ("near", "near_2"))


def test_operations_that_lead_round_in_a_circle_or_nowhere_are_left_out(tmp_path: Path) -> None:
    files(tmp_path, {
        "a.yml": "{get: {$ref: 'b.yml#/get'}}", "b.yml": "{get: {$ref: 'a.yml#/get'}}",
        "self.yml": "{x: {$ref: '#/x/y'}}",
    })  # fmt: skip
    paths = {
        "/a": {"get": {"$ref": "a.yml#/get"}}, "/b": {"get": {"$ref": "b.yml#/none"}},
        "/c": {"get": {"$ref": "self.yml#/x/y/z"}}, "/d": {"get": {"operationId": "left"}},
    }  # fmt: skip
    spec = read(tmp_path, document(paths))
    assert [operation.name for operation in spec.operations] == ["left"]
    told = [note for note in spec.notes if "is left out" in note]
    assert "circle" in told[0] and "leads nowhere" in told[1] and "circle" in told[2], spec.notes


def test_files_of_the_same_repository(tmp_path: Path) -> None:
    """The folder above is theirs, too, within the repository; what a link leads to counts where it is."""
    repository = tmp_path / "repository"
    files(tmp_path, {
        "repository/.git/HEAD": "", "repository/common.yaml": "A: {type: integer}", "outside.yaml": "A: {type: string}",
        "repository/api/v1/kept": "", "repository/inner/.git": "gitdir: elsewhere", "repository/inner/api/kept": "",
    })  # fmt: skip
    (repository / "api" / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    (repository / "api" / "folder").symlink_to(tmp_path)
    spec = read(repository / "api" / "v1", answering("../../common.yaml#/A"))
    assert spec.schemas == {"A": {"type": "integer"}}
    for folder, reference in (
        ("api/v1", "../../../outside.yaml"), ("api/v1", "../link.yaml"), ("api", "folder/outside.yaml"),
        ("inner/api", "../../common.yaml"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match="refused") as caught:
            read(repository / folder, answering(f"{reference}#/A"))
        assert "repository" in (caught.value.hint or "")


@pytest.mark.parametrize("kind", ["allOf", "items", "properties"])
def test_long_chains_and_deep_schemas(tmp_path: Path, kind: str) -> None:
    def around(schema: Any) -> dict[str, Any]:
        return {"allOf": [schema]} if kind == "allOf" else {"items": schema} if kind == "items" else {
            "properties": {"a": schema}
        }  # fmt: skip

    schemas = {f"S{at}": around({"$ref": f"#/components/schemas/S{at + 1}"}) for at in range(3_000)}
    schemas["S3000"] = {"properties": {"id": {**TEXT, "readOnly": True}, "b": TEXT}, "required": ["id"]}
    deep: dict[str, Any] = {"properties": {"id": {**TEXT, "readOnly": True}}}
    for _ in range(180 if kind == "items" else 90):
        deep = around(deep)
    content = {"application/json": {"schema": {"anyOf": [{"$ref": "#/components/schemas/S0"}, deep]}}}
    made = document({"/a": {"put": {"requestBody": {"content": content}}}}, components={"schemas": schemas})
    spec = read(tmp_path, made)
    assert len(spec.schemas) == 3_001
    # The last of the chain lost what only the server sets; so every schema of the chain is one for requests.
    assert spec.schemas["S3000.Request"] == {"properties": {"b": TEXT}}


def test_a_chain_of_schemas_does_not_take_for_ever(tmp_path: Path) -> None:
    # Each refers twice to the next: written out they would be 2 ** 300.
    schemas = {
        f"S{number}": {"properties": {name: {"$ref": f"#/components/schemas/S{number + 1}"} for name in "ab"}}
        for number in range(300)
    }
    schemas["S300"] = {"readOnly": True, **TEXT}
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}
    start = time.perf_counter()
    spec = read(tmp_path, document({"/a": {"put": {"requestBody": {"content": content}}}},
                                   components={"schemas": schemas}))  # fmt: skip
    assert time.perf_counter() - start < 10
    assert len(spec.schemas) == 299
    assert all(len(list(references(schema))) <= 2 for schema in spec.schemas.values())
