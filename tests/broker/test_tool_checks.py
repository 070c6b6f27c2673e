"""`codenav tools check` against a real service: its document, its servers, trials, descriptions, and the weights."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command_line import codenav as cli
from tool_service import KEY, TROUBLE, ToolService

import codenav
from codenav.core import schemas
from codenav.tools import layout, places, weights
from codenav.tools.broker.answers import Promises
from codenav.tools.model import Operation

SHOP_KEY = {"SHOP_KEY": KEY}


@pytest.fixture
def service() -> Iterator[ToolService]:
    with ToolService() as started:
        yield started


def check(*arguments: str, code: int, **environment: str) -> list[dict[str, Any]]:
    """The rows of a check, by its JSON."""
    ended = cli("tools", "check", *arguments, "--json", env=environment)
    assert ended.code == code, ended.err
    jsonschema.validate(ended.document, schemas.load("rows"))
    return list(ended.document)


def checked(source: str) -> dict[str, weights.Checked]:
    """The checks that are kept of a source, by the name of the tool."""
    state = layout.laid_out(places.parse(source), max_age=None)
    kept = weights.read(state.path)
    return {name: kept[path] for name, path in state.summary.operations.items() if path in kept}


def test_a_service_that_does_as_its_document_says(service: ToolService) -> None:
    source = f"openapi:{service.url}/openapi.json"
    secrets = ["--secret", "shop_key=SHOP_KEY"]
    told = cli("index", source).err
    assert "checks found 4 tools wanting: codenav tools check SOURCE names them" in told
    assert "wanting" not in cli("index", source).err
    rows = {row["name"]: row for row in check(source, *secrets, code=1, **SHOP_KEY)}
    assert all(set(row) == {"name", "ok", "detail", "hint"} for row in rows.values())
    assert rows["document"]["ok"]
    server = rows[f"server {service.url}"]
    assert server["ok"] and server["detail"].startswith("404, ") and server["detail"].endswith("ms, application/json")
    assert rows["trial shop.list_products"]["detail"].endswith("as its schema says")
    assert rows["trial shop.list_orders"]["ok"]
    assert rows["trial shop.get_product_image"]["detail"].endswith("a file")
    # Its document names order 1001 as an example; there is none.
    assert "404 Not Found" in rows["trial shop.get_order"]["detail"]
    missing = rows["trial shop.whoami_query"]
    assert not missing["ok"] and "shop_query" in missing["detail"] and missing["hint"].startswith("--secret")
    assert not service.writes
    assert not any(name.startswith("trial shop.create") for name in rows)
    kept = checked(source)
    assert kept["get_order"].weight == 0.5
    assert "404 Not Found" in kept["get_order"].trial
    assert "whoami_query" not in kept
    assert KEY not in json.dumps([row for row in rows.values()])
    index = codenav.index(source)
    assert "weight 0.5 (its trial" in next(hit for hit in index.search("type:TOOL") if hit.name == "get_order").why
    index.close()


def test_what_fails_is_told_in_one_line_and_lowers_the_weight(service: ToolService) -> None:
    source = f"openapi:{service.url}/trouble.json"
    rows = {row["name"]: row for row in check(source, "--secret", "shop_key=SHOP_KEY", code=1, **SHOP_KEY)}
    wrong = {
        "html": "a web page where JSON is promised", "empty": "promises: null is not of type \"object\"",
        "broken": "JSON that cannot be read", "wrong": "['ok']: \"perhaps\" is not of type \"boolean\"",
        "large": "over 8 MiB", "endless": "over 8 MiB", "elsewhere": "not followed", "circle": "over 5 redirects",
    }  # fmt: skip
    for name, said in wrong.items():
        row = rows[f"trial trouble.{name}"]
        assert not row["ok"] and said in row["detail"] and "\n" not in row["detail"], name
    assert rows["trial trouble.status"] == {
        "name": "trial trouble.status", "ok": True, "detail": rows["trial trouble.status"]["detail"],
        "hint": "an example of the arguments in the specification makes a real trial",
    }  # fmt: skip
    assert {name for name, found in checked(source).items() if found.trial} == set(wrong)


def test_no_network_asks_nobody_and_keeps_what_is_known(service: ToolService, tmp_path: Path) -> None:
    file = tmp_path / "trouble.yaml"
    file.write_text(TROUBLE.read_text().replace("http://127.0.0.1:8000", service.url))
    source = f"openapi:{file}"
    check(source, "--secret", "shop_key=SHOP_KEY", code=1, **SHOP_KEY)
    seen = len(service.log)
    rows = check(source, "--no-network", code=0)
    assert {row["name"].partition(" ")[0] for row in rows} == {"document", "description"}
    assert len(service.log) == seen
    assert "perhaps" in checked(source)["wrong"].trial
    rows = check(source, "--no-network", "--strict", code=1)
    ended = cli("tools", "check", source, "--no-network", "--strict")
    assert "strict leaves out: " in ended.out
    assert "wrong" in ended.out.rpartition("leaves out: ")[2].strip().split(", ")


def test_a_server_that_is_down(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    file = tmp_path / "trouble.yaml"
    file.write_text(TROUBLE.read_text().replace("http://127.0.0.1:8000", url))
    rows = check(f"openapi:{file}", code=4)
    server = next(row for row in rows if row["name"] == f"server {url}")
    assert not server["ok"] and "connection refused" in server["detail"] and "--server" in server["hint"]
    assert not any(row["name"].startswith("trial") for row in rows)
    found = checked(f"openapi:{file}")
    assert found["html"].weight == 0.5
    assert "connection refused" in found["html"].reasons[0]
    ended = cli("tools", "check", f"openapi:{url}/openapi.json")
    assert ended.code == 4
    assert len(ended.err.strip().splitlines()) <= 2


def test_a_document_that_is_none_is_not_indexed(tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text(json.dumps({"openapi": "3.0.3", "info": {"title": "Bad", "version": "1"}, "paths": ["/orders"]}))
    rows = check(f"openapi:{file}", "--no-network", code=1)
    assert any(row["name"].startswith("document /paths") and not row["ok"] for row in rows)
    assert cli("search", "orders", "--on", f"openapi:{file}").code == 2


@pytest.mark.parametrize(
    ("source", "said"),
    [("pkg:networkx", "pkg:networkx is no source of tools"), ("openapi:/nowhere/at/all.yaml", "there is no file")],
)
def test_bad_input_is_one_sentence(source: str, said: str) -> None:
    ended = cli("tools", "check", source)
    assert ended.code == 2
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_the_schema_of_an_answer() -> None:
    schemas = {"Node": {"type": "object", "properties": {"next": {"$ref": "#/schemas/Node"}}, "required": ["id"]}}
    node = {"$ref": "#/schemas/Node"}
    for value, schema, said in (
        ({"id": 1, "next": {"id": 2}}, node, ""),
        ({"id": 1, "next": {}}, node, "['next']: \"id\" is a required property"),
        ([{"id": 1}, 7], {"type": "array", "items": node}, '[1]: 7 is not of type "object"'),
        (7, {"$ref": "#/schemas/Gone"}, ""),
        ("x", {"pattern": "(?<name>["}, ""),
    ):
        found = Promises(schemas).broken(Operation("op", "op", result=schema), value)
        assert found == (f"not what the specification promises: {said}" if said else "")
