"""A specification with one operation of each awkward kind, built by hand."""

from __future__ import annotations

from pathlib import Path

from codenav.tools.model import Body, Effect, Group, Operation, Parameter, Scheme, ToolSpec
from codenav.tools.stubs import package, stubs_of

ORDER = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "status": {"enum": ["open", "closed"]},
        "id": {"type": "integer"},
        "items": {"type": "array", "items": {"$ref": "#/schemas/Item"}},
        "parent": {"$ref": "#/schemas/Order"},
    },
}
ITEM = {"type": "object", "required": ["sku"], "properties": {"sku": {"type": "string"}, "count": {"type": "integer"}}}

CREATE = Operation(
    "create_order", "createOrder", "orders", "Create an order",
    'Makes an order.\n\nA """quoted""" text with \\d in it, <b>bold</b>.', Effect.WRITE, method="POST", path="/orders",
    parameters=(
        Parameter("customer", "customer", "body", {"type": "integer", "minimum": 1}, True, "Who orders", 7),
        Parameter("items", "items", "body", {"type": "array", "items": {"$ref": "#/schemas/Item"}}, True, "The goods"),
        Parameter("note", "note", "body", {"type": ["string", "null"]}, text="A note", hint="after 'with the note'"),
        Parameter("status", "status", "query", {"enum": ["open", "closed"], "default": "open"}),
        Parameter("photo", "photo", "body", {"type": "string", "format": "binary"}),
    ),
    body=Body("multipart/form-data", True, True), result={"$ref": "#/schemas/Order"},
    result_types=("application/json",), result_text="The new order", security=(("shop_key",),),
)  # fmt: skip
LIST = Operation(
    "list", "listOrders", "orders", "List orders", effect=Effect.READ, method="GET", path="/orders",
    parameters=(Parameter("call", "call", "query", {"type": "string"}), Parameter("int", "int", "query", {})),
    result={"type": "array", "items": {"$ref": "#/schemas/Order"}}, result_types=("application/json",),
)  # fmt: skip
ORDERS = Operation("orders", "GET /x", "", effect=Effect.READ, method="GET", path="/x", deprecated=True)
INVOICE = Operation(
    "get_invoice", "getInvoice", "papers", "The invoice of an order", effect=Effect.READ, method="GET",
    path="/orders/{number}/invoice", result_types=("application/pdf",),
    parameters=(Parameter("number", "number", "path", {"type": "integer"}, True),),
)  # fmt: skip

SHOP = ToolSpec(
    "shop", "openapi", "The shop", "1.2", "Sells mugs.\n\nAnd plates.", ("http://127.0.0.1:1",),
    groups=(
        Group("orders", "Orders", "What customers buy", ("order two mugs",), "Find the goods first."),
        Group("papers", "Papers"),
    ),
    schemes=(Scheme("shop_key", "key", "header", "X-Key"),), schemas={"Order": ORDER, "Item": ITEM},
    operations=(CREATE, LIST, ORDERS, INVOICE),
)  # fmt: skip


def written(spec: ToolSpec, folder: Path) -> Path:
    """The package of stubs, written into a folder to import from."""
    for path, text in package(spec, stubs_of(spec)):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8", errors="backslashreplace")
    return folder
