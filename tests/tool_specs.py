"""The operations of `tool_service` as specifications, and a broker for them, without a reader of documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from codenav.core.execution import ToolCall
from codenav.core.options import ToolOptions
from codenav.tools.broker.broker import Broker
from codenav.tools.model import Body, Effect, Group, Operation, Parameter, Scheme, ToolSpec
from codenav.tools.state_files import write_state

JSON = "application/json"
NUMBER = {"type": "integer", "minimum": 1}
_EFFECTS = {"GET": Effect.READ, "DELETE": Effect.DESTROY}
LINES = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "required": ["product", "quantity"],
        "additionalProperties": False,
        "properties": {"product": NUMBER, "quantity": {**NUMBER, "maximum": 99}},
    },
}
SCHEMES = (
    Scheme("shop_key", "key", "header", "X-Api-Key"),
    Scheme("shop_query", "key", "query", "api_key"),
    Scheme("shop_cookie", "key", "cookie", "shop_session"),
    Scheme("shop_basic", "basic"),
    Scheme("shop_bearer", "bearer"),
    Scheme("shop_oauth", "oauth2", token_url="/oauth/token"),
)


OK = {"type": "object", "required": ["ok"], "properties": {"ok": {"type": "boolean"}}}


def operation(name: str, method: str, path: str, *parameters: Parameter, **more: Any) -> Operation:
    """An operation of the service."""
    return Operation(
        name, name, method=method, path=path, parameters=parameters,
        **{"effect": _EFFECTS.get(method, Effect.WRITE), "idempotent": method in ("GET", "PUT", "DELETE"),
           "result_types": (JSON,), "group": "all", **more},
    )  # fmt: skip


def shop(url: str) -> ToolSpec:
    """The shop."""
    key, order = (("shop_key",),), Parameter("order_id", "orderId", "path", NUMBER, required=True, example=1001)
    product = Parameter("product_id", "productId", "path", NUMBER, required=True, example=1)
    body = Body(JSON, required=True, spread=True)
    who = {
        way: operation(f"whoami_{way}", "GET", f"/whoami/{way}", security=((f"shop_{way}",),))
        for way in ("key", "query", "cookie", "basic", "bearer", "oauth")
    }
    either = operation(
        "whoami_either", "GET", "/whoami/either", security=(("shop_bearer",), ("shop_key", "shop_cookie"))
    )
    image = {"type": "string", "format": "binary"}
    return ToolSpec(
        "shop", "openapi", "Shop", servers=(url,), groups=(Group("all"),), schemes=SCHEMES,
        schemas={"Lines": LINES},
        operations=(
            operation(
                "list_products", "GET", "/products",
                Parameter("q", "q", "query", {"type": "string"}, text="Words of the name.", example="mug"),
                Parameter("color", "color", "query", {"type": "string", "enum": ["blue", "red", "white"]}),
                Parameter("tags", "tags", "query", {"type": "array", "items": {"type": "string"}}),
                Parameter("limit", "limit", "query", {"type": "integer", "minimum": 1, "maximum": 100}),
            ),
            operation("get_product", "GET", "/products/{productId}", product),
            operation(
                "get_product_image", "GET", "/products/{productId}/image", product,
                result_types=("image/png",), result=image,
            ),
            operation(
                "upload_product_image", "POST", "/products/{productId}/image", product,
                Parameter("image", "image", "body", image, required=True),
                Parameter("caption", "caption", "body", {"type": "string"}),
                security=key, body=Body("multipart/form-data", required=True, spread=True),
            ),
            operation(
                "list_orders", "GET", "/orders", Parameter("customer", "customer", "query", NUMBER), security=key
            ),
            operation(
                "create_order", "POST", "/orders",
                Parameter(
                    "customer", "customer", "body", NUMBER, required=True, text="Number of the customer.", example=7
                ),
                Parameter("lines", "lines", "body", {"$ref": "#/schemas/Lines"}, required=True),
                Parameter("note", "note", "body", {"type": "string", "maxLength": 200}),
                security=key, body=body, examples=({"customer": 7, "lines": [{"product": 1, "quantity": 2}]},),
            ),
            operation("get_order", "GET", "/orders/{orderId}", order, security=key),
            operation(
                "update_order", "PUT", "/orders/{orderId}", order,
                Parameter("note", "note", "body", {"type": "string", "maxLength": 200}),
                security=key, body=body,
            ),
            operation("delete_order", "DELETE", "/orders/{orderId}", order, security=key),
            operation(
                "login", "POST", "/login",
                Parameter("user", "user", "body", {"type": "string"}, required=True),
                Parameter("password", "password", "body", {"type": "string"}, required=True),
                body=Body("application/x-www-form-urlencoded", required=True, spread=True),
            ),
            operation(
                "echo", "POST", "/echo", Parameter("body", "body", "content", {"type": "string"}, required=True),
                body=Body("text/plain", required=True), result_types=("text/plain",),
            ),
            *who.values(), either,
        ),
    )  # fmt: skip


def trouble(url: str) -> ToolSpec:
    """Routes that are slow or fail."""
    key, text, number = (("shop_key",),), {"type": "string"}, {"type": "number"}

    def get(name: str, *parameters: Parameter, method: str = "GET", route: str = "", **more: Any) -> Operation:
        return operation(name, method, f"/trouble/{route or name}", *parameters, **more)

    status = Parameter("status", "status", "path", {"type": "integer"}, required=True)
    flaky = (
        Parameter("times", "times", "query", {"type": "integer"}),
        Parameter("fault", "fault", "query", text),
        Parameter("after", "after", "query", text),
    )
    seconds, size = Parameter("seconds", "seconds", "query", number), Parameter("bytes", "bytes", "query", number)
    squeezed = Parameter("squeezed", "squeezed", "query", {"type": "boolean"})
    return ToolSpec(
        "trouble", "openapi", "Trouble", servers=(url,), groups=(Group("all"),), schemes=SCHEMES[:1],
        operations=(
            get("slow", seconds),
            get("slow_write", seconds, method="POST", route="slow"),
            get("status", status, route="status/{status}"),
            get("status_write", status, method="POST", route="status/{status}"),
            get("flaky", *flaky),
            get("flaky_put", *flaky, method="PUT", route="flaky"),
            get("flaky_post", *flaky, method="POST", route="flaky"),
            get("html"), get("empty"), get("broken"), get("wrong", result=OK),
            get("large", size, squeezed),
            get("endless", Parameter("slowly", "slowly", "query", {"type": "boolean"})),
            get("moved"), get("elsewhere"), get("circle"),
            get("elsewhere_write", method="POST", route="elsewhere"),
            get("tell", Parameter("status", "status", "query", {"type": "integer"}), security=key),
            get(
                "named", Parameter("name", "name", "query", text, required=True),
                result=dict(text, format="binary"), result_types=("application/octet-stream",),
            ),
            operation("header", "GET", "/reflect", Parameter("value", "X-Value", "header", text)),
            operation("path", "GET", "/reflect/{id}", Parameter("id", "id", "path", text, required=True)),
        ),
    )  # fmt: skip


class Calls:
    """A broker for specifications, with the records of its calls."""

    def __init__(self, folder: Path, specs: Sequence[ToolSpec], options: ToolOptions, **more: Any) -> None:
        self.made: list[ToolCall] = []
        folders = []
        for spec in specs:
            target = folder / f"state-{spec.name}"
            if not target.exists():
                write_state(spec, target)
            folders.append(target)
        self.broker = Broker(folders, options, called=self.made.append, **more)
        self.broker.begin("the request", None)

    def __call__(self, tool: str, /, **arguments: Any) -> Mapping[str, Any]:
        """Call `SPEC.NAME` as a stub does."""
        return self.broker("tools/" + tool.replace(".", "/"), {"arguments": arguments})

    @property
    def last(self) -> ToolCall:
        """The record of the last call."""
        return self.made[-1]
