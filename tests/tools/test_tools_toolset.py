"""The tool set file."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codenav.core import schemas
from codenav.core.errors import UsageError
from codenav.tools.functions import read_functions
from codenav.tools.model import Effect, Operation, Scheme, ToolSpec

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "mug_shop.yaml"
Document = dict[str, Any]


def minimal() -> Document:
    parameters: Document = {"id": {"type": "integer"}, "colour": {"type": "string"}}
    tool = {"name": "get", "text": "Get a mug.", "url": "/mugs/{id}", "parameters": parameters, "secrets": ["key"]}
    return {
        "name": "shop", "server": "https://shop.example/api/", "secrets": {"key": {"type": "bearer"}},
        "sets": [{"name": "mugs", "tools": [tool]}],
    }  # fmt: skip


def read(document: Document, folder: Path) -> ToolSpec:
    path = folder / "set.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return read_functions(str(path))


def only(spec: ToolSpec) -> Operation:
    [operation] = spec.operations
    return operation


def test_the_example() -> None:
    spec = read_functions(str(EXAMPLE))
    assert (spec.name, spec.format, spec.title) == ("mug_shop", "tools", "A shop that sells mugs")
    assert spec.servers == ("http://localhost:8000/api",)
    orders, sums = spec.groups
    assert orders.intent[0] == "Order mugs for a customer" and orders.guidance.startswith("A customer is known by")
    assert orders.examples[0]["calls"][0] == {"tool": "find_customers", "arguments": {"name": "Ada Lovelace"}}
    assert spec.schemes == (
        Scheme("shop_key", "key", "header", "X-Shop-Key", text='On the page "Access" of the shop.'),
    )  # fmt: skip
    assert [(one.name, one.group, one.method, one.effect, one.idempotent) for one in spec.operations] == [
        ("find_customers", "orders", "GET", Effect.READ, True),
        ("find_mugs", "orders", "GET", Effect.READ, True),
        ("create_order", "orders", "POST", Effect.WRITE, False),
        ("delete_order", "orders", "DELETE", Effect.DESTROY, True),
        ("with_tax", "sums", "", Effect.READ, True),
    ]
    find, _, create, _, tax = spec.operations
    assert find.security == (("shop_key",),) and tax.security == ()
    [name] = find.parameters
    assert (name.place, name.style, name.explode, name.required) == ("query", "form", True, True)
    assert (name.example, name.hint) == ("Lovelace", 'The name of a person behind "for" or "of".')
    assert name.schema == {"type": "string", "minLength": 2} and find.examples == ({"name": "Lovelace"},)
    assert [(one.name, one.place, one.required) for one in create.parameters] == [
        ("customer", "path", True), ("lines", "body", True),
    ]  # fmt: skip
    assert create.parameters[1].schema["items"] == {"$ref": "#/schemas/Line"}
    assert create.result == {"$ref": "#/schemas/Order"} and set(spec.schemas) == {"Customer", "Mug", "Line", "Order"}
    assert create.body is not None and create.body.spread and create.body.required and find.body is None
    assert sums.name == "sums" and not tax.path and tax.body is not None
    assert ToolSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec


def test_places_names_and_bodies(tmp_path: Path) -> None:
    document = minimal()
    tool = document["sets"][0]["tools"][0]
    tool |= {"method": "PUT", "body": "multipart", "effect": "destroy", "idempotent": False, "title": "Put it"}
    tool["parameters"] = {
        "mug": {"wire": "id", "type": "integer"},
        "trace": {"place": "header", "wire": "X-Trace", "type": "string"},
        "session": {"place": "cookie"},
        "class": {"place": "query", "schema": {"type": "array", "items": {"type": "string"}}, "default": []},
        "photo": {"type": "string", "format": "binary", "required": True},
    }
    tool["examples"] = [{"mug": 5, "class": ["a"]}]
    put = only(read(document, tmp_path))
    assert [(one.name, one.wire, one.place, one.required) for one in put.parameters] == [
        ("mug", "id", "path", True), ("photo", "photo", "body", True), ("trace", "X-Trace", "header", False),
        ("session", "session", "cookie", False), ("class_", "class", "query", False),
    ]  # fmt: skip
    assert put.body is not None and put.body.content_type == "multipart/form-data" and put.body.required
    assert (put.effect, put.idempotent, put.title) == (Effect.DESTROY, False, "Put it")
    assert put.parameters[4].schema == {"type": "array", "items": {"type": "string"}, "default": []}
    assert put.examples == ({"mug": 5, "class_": ["a"]},)


def test_secrets(tmp_path: Path) -> None:
    document = minimal()
    document["secrets"] |= {
        "login": {"type": "basic"}, "bot": {"type": "header", "name": "Authorization", "prefix": "Bot "},
        "q": {"type": "query", "name": "key"},
    }  # fmt: skip
    document["sets"][0]["secrets"] = ["login", "q"]
    del document["sets"][0]["tools"][0]["secrets"]
    spec = read(document, tmp_path)
    assert only(spec).security == (("login", "q"),)
    assert spec.schemes == (
        Scheme("key", "bearer"), Scheme("login", "basic"), Scheme("bot", "key", "header", "Authorization", "Bot "),
        Scheme("q", "key", "query", "key"),
    )  # fmt: skip
    document["sets"][0]["tools"][0]["secrets"] = []
    assert only(read(document, tmp_path)).security == (), "a tool that needs none says so"


def tool_of(document: Document) -> Document:
    found: Document = document["sets"][0]["tools"][0]
    return found


def without(document: Document, key: str) -> None:
    del document[key]


def parameter(document: Document, name: str) -> Document:
    found: Document = tool_of(document)["parameters"][name]
    return found


TOOL = "sets[0].tools[0]"
ID, COLOUR = f"{TOOL}.parameters.id", f"{TOOL}.parameters.colour"
CALL = {"request": "r", "calls": [{"tool": "gett"}]}
CHANGES: list[tuple[Callable[[Document], Any], str]] = [
    (lambda d: without(d, "name"), "the whole file: 'name' is a required property"),
    (lambda d: d.update(nam="x"), "the whole file: unknown key 'nam', did you mean 'name'?"),
    (lambda d: d.update(sets=[]), "sets: [] should be non-empty"),
    (lambda d: d.update(server="shop"), "server: 'shop' does not fit: URL that relative addresses"),
    (lambda d: without(d, "server"), f"{TOOL}.url: '/mugs/{{id}}' is relative, but the file has no 'server'"),
    (lambda d: tool_of(d).pop("text"), f"{TOOL}: 'text' is a required property"),
    (lambda d: tool_of(d).update(method="FETCH"), f"{TOOL}.method: 'FETCH' is not one of ['GET',"),
    (lambda d: tool_of(d).update(url="mugs"), f"{TOOL}.url: 'mugs' does not fit: Path below"),
    (lambda d: tool_of(d).update(url="/mugs/{n}"), f"{TOOL}.url: {{n}} is no parameter of the tool"),
    (lambda d: tool_of(d).update(secrets=["kay"]), "there is no secret 'kay', did you mean 'key'?"),
    (lambda d: tool_of(d).update(examples=[{"idd": 1}]), "examples[0]: there is no parameter 'idd', did you mean"),
    (lambda d: parameter(d, "id").update(type="int"), f"{ID}.type: 'int' does not fit: JSON type"),
    (lambda d: parameter(d, "id").update(requird=1), f"{ID}: unknown key 'requird', did you mean 'required'?"),
    (lambda d: parameter(d, "id").update(place="query"), f"{ID}.place: the URL has a {{id}}"),
    (lambda d: parameter(d, "colour").update(place="path"), f"{COLOUR}.place: the URL has no {{colour}}"),
    (lambda d: parameter(d, "colour").update(pattern="("), f"{COLOUR}.pattern: '(' is no regular expression"),
    (lambda d: parameter(d, "id").update(schema={"items": 5}), f"{ID}.schema.items: "),
    (lambda d: tool_of(d).update(result={"type": "x"}), f"{TOOL}.result.type: "),
    (lambda d: d["sets"][0]["tools"].append(tool_of(d)), "sets[0].tools[1].name: 'get' is there twice"),
    (lambda d: d["secrets"].update(k={"type": "header"}), "secrets.k: 'name' is missing, the name of the header"),
    (lambda d: d["sets"][0].update(examples=[CALL]), "calls[0].tool: there is no tool 'gett'"),
]


@pytest.mark.parametrize(("change", "words"), CHANGES, ids=[words for _, words in CHANGES])
def test_each_violation_is_told_with_its_path(change: Callable[[Document], Any], words: str, tmp_path: Path) -> None:
    document = minimal()
    assert read(document, tmp_path).operations
    change(document)
    with pytest.raises(UsageError) as caught:
        read(document, tmp_path)
    assert words in str(caught.value) and "\n" not in str(caught.value)
    assert caught.value.exit_code == 2 and caught.value.hint == "codenav schema toolset"


def test_several_violations_have_a_line_each(tmp_path: Path) -> None:
    document = minimal()
    tool_of(document).update(text=5, method="GOT", extra=1)
    with pytest.raises(UsageError) as caught:
        read(document, tmp_path)
    first, *lines = str(caught.value).splitlines()
    assert first.endswith("set.json is no valid tool set file:") and len(lines) == 3
    assert all(line.startswith("  sets[0].tools[0]") for line in lines)
    many = copy.deepcopy(minimal())
    many["sets"][0]["tools"] = [{"name": f"t{number}"} for number in range(30)]
    with pytest.raises(UsageError) as caught:
        read(many, tmp_path)
    assert len(str(caught.value).splitlines()) == 22 and str(caught.value).endswith("… and 10 more")


def test_the_schema_ships() -> None:
    assert schemas.load("toolset")["required"] == ["name", "sets"]
