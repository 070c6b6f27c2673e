"""An MCP server of both eras: over stdio, or with a port over streamable HTTP.

The variable SHOP_LOG names a file that gets a line for each order.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Annotated

from mcp.server.mcpserver import Elicit, Image, MCPServer, Resolve
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478da63fcff9fa11e000782027f3dc848ef"
    "0000000049454e44ae426082"
)

server = MCPServer("Shop of mugs", title="The mug shop", version="3.1", instructions="Mugs are counted in pieces.")
orders: list[dict[str, object]] = []


class Line(BaseModel):
    """A line of an order."""

    mug: str
    pieces: Annotated[int, Field(ge=1, le=99)] = 1


class Order(BaseModel):
    """An order."""

    number: int
    customer: int
    lines: list[Line]


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def list_orders(customer: Annotated[int | None, Field(description="Number of the customer")] = None) -> list[Order]:
    """List the orders, oldest first."""
    return [Order.model_validate(order) for order in orders if customer in (None, order["customer"])]


@server.tool(annotations=ToolAnnotations(destructive_hint=False))
def create_order(customer: int, lines: list[Line]) -> Order:
    """Create an order.

    It is delivered the next day.
    """
    order = Order(number=len(orders) + 1, customer=customer, lines=lines)
    orders.append(order.model_dump())
    if log := os.environ.get("SHOP_LOG"):
        with open(log, "a", encoding="utf-8") as file:
            file.write(order.model_dump_json() + "\n")
    return order


@server.tool(name="delete-orders", annotations=ToolAnnotations(idempotent_hint=True))
def delete_orders() -> str:
    """Delete all orders."""
    orders.clear()
    return "gone"


@server.tool(annotations=ToolAnnotations(read_only_hint=True), structured_output=False)
def picture(mug: str) -> Image:
    """Draw a mug."""
    return Image(data=PIXEL, format="png")


@server.tool(annotations=ToolAnnotations(read_only_hint=True), structured_output=False)
def echo(value: str | None = "unset") -> str:
    """Say it again."""
    return repr(value)


@server.tool(annotations=ToolAnnotations(read_only_hint=True), structured_output=False)
def parts() -> list[TextContent | Image]:
    """Answer with a text and a picture."""
    return [TextContent(type="text", text="a mug"), Image(data=PIXEL, format="png")]


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def measured() -> CallToolResult:
    """Answer with data and a picture of them."""
    picture = Image(data=PIXEL, format="png").to_image_content()
    return CallToolResult(content=[picture], structured_content={"mugs": 3})


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def fail() -> str:
    """Fail."""
    raise ValueError("the shelf fell down")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def wait(seconds: float) -> str:
    """Take a while."""
    time.sleep(seconds)
    return "done"


@server.tool(annotations=ToolAnnotations(read_only_hint=True), structured_output=False)
def long(characters: int) -> str:
    """Answer at length."""
    return "x" * characters


class Sure(BaseModel):
    """The answer of a person."""

    sure: bool


def ask_for_certainty() -> Elicit[Sure]:
    """Ask the person at the client."""
    return Elicit("Are you sure?", Sure)


@server.tool()
def close_shop(sure: Annotated[Sure, Resolve(ask_for_certainty)]) -> str:
    """Close the shop, once a person has agreed."""
    return "closed" if sure.sure else "open"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
