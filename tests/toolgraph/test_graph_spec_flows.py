"""What specifications state of whose result goes into whom; equal names alone state nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from codenav.toolgraph.spec_flows import MOST_GIVERS, flows_of_spec, traces_of_spec
from codenav.tools.model import Link
from codenav.tools.openapi.reading import read_openapi
from codenav.tools.reading import read_spec


def answer(schema: Any, **more: Any) -> dict[str, Any]:
    return {"200": {"description": "ok", "content": {"application/json": {"schema": schema}}, **more}}


def inside(name: str, type_: str = "string") -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": type_}}


def many(name: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"total": {"type": "integer"}, "results": {"type": "array", "items": ref(name)}},
    }


def ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def thing(**properties: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": type_} for name, type_ in properties.items()}}


def spec(folder: Path, paths: dict[str, Any], **components: Any) -> Any:
    schemas = {
        "User": thing(id="integer", name="string"),
        "Country": thing(code="string", size="integer"),
        "Draft": thing(title="string", text="string"),
        "Flag": thing(on="boolean"),
        **components.pop("schemas", {}),
    }
    document = {
        "openapi": "3.0.3", "info": {"title": "x", "version": "1"}, "servers": [{"url": "http://localhost"}],
        "paths": paths, "components": {"schemas": schemas, **components},
    }  # fmt: skip
    file = folder / "x.json"
    file.write_text(json.dumps(document))
    return read_openapi(str(file))


def flows(found: Any) -> set[tuple[str, ...]]:
    return {tuple(flow) for flow in flows_of_spec(found, "")}


def get(id: str, *parameters: Any, schema: Any = None, **more: Any) -> dict[str, Any]:
    responses = answer(schema or {"type": "object"}, **more)
    return {"get": {"operationId": id, "parameters": list(parameters), "responses": responses}}


def test_what_lists_things_gives_the_ids_in_paths_behind_them(tmp_path: Path) -> None:
    paths = {
        "/users": get("list_users", schema=many("User")),
        "/search/users": get("search_users", schema={"type": "array", "items": ref("User")}),
        "/users/{user_id}": get("get_user", inside("user_id", "integer"), schema=ref("User")),
        "/users/{user_id}/orders": get("orders_of", inside("user_id", "integer"), schema=many("Order")),
        "/users/{user_id}/orders/{order_id}": get("get_order", inside("user_id", "integer"), inside("order_id")),
        "/countries": get("countries", schema=many("Country")),
        "/countries/{country}": get("country", inside("country")),
        # The type is another one, the objects have no such property, or the segment is another.
        "/accounts/{user_id}": get("account", inside("user_id", "integer")),
        "/users/{user_name}/photo": get("photo", inside("user_name", "integer")),
        "/posts": get("posts", schema=many("Draft")),
        "/posts/{post_id}": get("post", inside("post_id")),
    }
    assert flows(spec(tmp_path, paths, schemas={"Order": thing(order_id="string")})) == {
        *((giver, taker, "user_id") for giver in ("list_users", "search_users")
          for taker in ("get_user", "orders_of", "get_order")),
        # It takes the user, too, and that is the same one: only the order comes from it.
        ("orders_of", "get_order", "order_id"), ("countries", "country", "country"),
    }  # fmt: skip


def test_links_are_followed_by_id_and_by_reference_and_need_no_guess(tmp_path: Path) -> None:
    links = {
        "One": {"operationId": "get_user", "parameters": {"path.user_id": "$response.body#/id"}},
        "Two": {"operationRef": "#/paths/~1files~1{file}/get", "parameters": {"file": "$response.header.x"}},
        "Three": {"$ref": "#/components/links/Shared"},
        # What goes in again, what is fixed, what leads nowhere.
        "Four": {"operationId": "photo", "parameters": {"user_id": "$request.path.id"}},
        "Five": {"operationId": "photo", "parameters": {"user_id": 7}},
        "Six": {"operationId": "nobody", "parameters": {"x": "$response.body#/id"}},
        "Seven": {"parameters": {"x": "$response.body#/id"}},
        "Eight": {"$ref": "#/components/links/Missing"},
    }
    body = {"content": {"application/json": {"schema": {"type": "array", "items": {"type": "string"}}}}}
    paths = {
        "/users": {
            "post": {"operationId": "create_user", "responses": answer(ref("User"), links=links)},
            **get("list_users", schema=many("User")),
        },
        "/users/{user_id}": get("get_user", inside("user_id", "integer")),
        "/users/{user_id}/photo": get("photo", inside("user_id", "integer")),
        "/files/{file}": get("get_file", inside("file")),
        "/names": {"post": {"operationId": "rename", "requestBody": body, "responses": answer({"type": "object"})}},
    }
    shared = {"Shared": {"operationId": "rename", "requestBody": "$response.body#/names"}}
    found = spec(tmp_path, paths, links=shared)
    create = next(one for one in found.operations if one.name == "create_user")
    assert create.links[:2] == (Link("get_user", ("user_id",)), Link("GET /files/{file}", ("file",)))
    assert type(create).from_dict(create.to_dict()) == create
    assert flows(found) == {
        ("create_user", "get_user", "user_id"), ("create_user", "get_file", "file"),
        ("create_user", "rename", "body"),
        # No link speaks of the photo, so both that have the id of a user give it.
        ("create_user", "photo", "user_id"), ("list_users", "photo", "user_id"),
    }  # fmt: skip


def test_whole_objects_of_a_named_schema_flow_if_few_give_them(tmp_path: Path) -> None:
    body = {"required": True, "content": {"application/json": {"schema": {"type": "array", "items": ref("Draft")}}}}
    takes = {"post": {"operationId": "publish", "requestBody": body, "responses": answer(ref("Flag"))}}
    makes = {f"/make/{n}": get(f"make_{n}", schema=ref("Draft")) for n in range(MOST_GIVERS)}
    one = spec(tmp_path, {"/publish": takes, "/make": get("make", schema=ref("Draft"))})
    assert flows(one) == {("make", "publish", "body")}
    few = spec(tmp_path, {"/publish": takes, **makes})
    assert len(flows(few)) == MOST_GIVERS
    too_many = spec(tmp_path, {"/publish": takes, **makes, "/make": get("make", schema=ref("Draft"))})
    assert flows(too_many) == set()


def test_a_schema_that_is_a_part_of_itself_ends(tmp_path: Path) -> None:
    user = {"allOf": [ref("User")], **thing(id="integer")}
    paths = {"/users": get("list_users", schema=ref("User")), "/users/{id}": get("get_user", inside("id", "integer"))}
    assert flows(spec(tmp_path, paths, schemas={"User": user})) == {("list_users", "get_user", "id")}


def test_equal_names_alone_make_no_flow(tmp_path: Path) -> None:
    word = {"name": "name", "in": "query", "schema": {"type": "string"}}
    found = spec(tmp_path, {"/users": get("list_users", schema=many("User")), "/mail": get("mail", word)})
    assert flows(found) == set()


def test_the_example_requests_of_a_tool_set_are_traces() -> None:
    found = read_spec("tools:" + str(Path(__file__).parents[2] / "examples" / "mug_shop.yaml"))
    [trace] = traces_of_spec(found, "mug_shop.")
    assert trace.request == "Order two blue mugs for Ada Lovelace"
    assert [call.name for call in trace.calls] == [
        "mug_shop.find_customers", "mug_shop.find_mugs", "mug_shop.create_order",
    ]  # fmt: skip
