"""`codenav tools call`: what it prints and writes, and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command_line import codenav
from tool_service import KEY, PNG, TROUBLE, ToolService

from codenav.core import schemas

LINES = 'lines=[{"product": 1, "quantity": 2}]'


@pytest.fixture
def call(service: ToolService, tmp_path: Path) -> Iterator[Any]:
    document, trouble = service.write(tmp_path), service.write(tmp_path, TROUBLE)
    home = {"CODENAV_HOME": str(tmp_path / "home"), "SHOP_KEY": KEY}

    def run(*arguments: str) -> Any:
        on = trouble if arguments[0] == "broken" else document
        return codenav("tools", "call", *arguments, "--on", f"openapi:{on}", env=home, cwd=tmp_path)

    yield run


def test_values_are_printed(service: ToolService, call: Any) -> None:
    found = call("get_product", "product_id=1")
    assert found.code == 0 and json.loads(found.out)["name"] == "Mug"
    # A text stays one, though it looks like a number; the name of the wire is as good.
    assert call("shop.list_products", "q=7", "limit=3").out == "[]\n"
    assert service.log[-1].query == "q=7&limit=3"
    assert json.loads(call("getProduct", "productId=2").out)["color"] == "red"
    assert call("echo", "body=hello\nworld", "--allow", "write").out == "hello\nworld\n"
    whole = json.loads(call("get_product", "product_id=1", "--json").out)
    assert whole["value"]["id"] == 1 and whole["call"]["status"] == 200
    others = (("get_product", "product_id=99"), ("get_product",), ("get_product_image", "product_id=1"))
    for kind, arguments in zip(("error", "refused", "file"), others, strict=True):
        document = json.loads(call(*arguments, "--json").out)
        jsonschema.validate(document, schemas.load("tools-call"))
        assert set(document) == {kind, "call"}
    jsonschema.validate(whole, schemas.load("tools-call"))


def test_writes_and_files(service: ToolService, call: Any, tmp_path: Path) -> None:
    secret = ("--secret", "shop_key=SHOP_KEY", "--allow", "write")
    assert json.loads(call("create_order", "customer=7", LINES, *secret).out)["id"] == 1001
    assert call("get_product_image", "product_id=1", "--out", "mug.png").code == 0
    assert (tmp_path / "mug.png").read_bytes() == PNG
    (tmp_path / "new.png").write_bytes(b"\x89PNG new")
    sent = call("upload_product_image", "product_id=2", "image=@new.png", "caption=A mug", *secret)
    assert json.loads(sent.out) == {"name": "new.png", "bytes": 8, "caption": "A mug"}
    assert [seen.line for seen in service.writes] == ["POST /orders", "POST /products/2/image"]


FAULTS = [
    (("broken",), 1, "JSON that cannot be read"),
    (("get_product", "product_id=99"), 1, "answered 404 Not Found: there is no product 99"),
    (("get_product",), 2, "product_id is missing"),
    (("get_product", "1"), 2, "'1' is no argument"),
    (("get_product", "product_id=1", "productId=2"), 2, "given twice"),
    (("get_products", "product_id=1"), 2, "did you mean get_product"),
    (("get_product_image", "product_id=1"), 2, "--out FILE"),
    (("get_product", "product_id=@nowhere"), 2, "cannot read nowhere"),
    (("create_order", "customer=7", LINES), 4, "--secret shop_key=VARIABLE"),
    (("create_order", "customer=7", LINES, "--secret", "shop_key=SHOP_KEY", "--allow", "ask"), 2, "no terminal"),
    (("whoami_key", "--secret", "shop_key=HOME"), 4, "answered 401"),
    (("get_product", "product_id=1", "--server", "http://127.0.0.1:9"), 4, "connection refused"),
    (("get_product", "product_id=1", "--out", "no/such/folder/x"), 2, "cannot write"),
]  # fmt: skip


def test_each_fault_is_one_line_with_its_exit_code(call: Any) -> None:
    for arguments, code, told in FAULTS:
        found = call(*arguments)
        assert found.code == code, found
        assert found.out == "" and told in found.err and "Traceback" not in found.err, found
        lines = [line for line in found.err.splitlines() if not line.startswith("Try:")]
        assert lines[-1].startswith("Error: ") and KEY not in found.err
