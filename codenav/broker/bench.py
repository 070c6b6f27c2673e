"""A broker with a small specification, for the cases of `sandbox check` in which code inside attacks it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from codenav.broker.broker import Broker
from codenav.execution import ToolCall
from codenav.options import ToolOptions
from codenav.tools.model import Body, Effect, Group, Operation, Parameter, Scheme, ToolSpec
from codenav.tools.state_files import STUBS, write_state

VARIABLE = "CODENAV_CHECK_TOOL_KEY"
_TEXT = {"type": "string"}


class Bench:
    """A `StepHandler` with a broker for the specification `bench`; writes are allowed, deleting is not."""

    def __init__(self, url: str, folder: Path, secret: str) -> None:
        """Write the state into a folder. `secret` is the key of its operations, until `close` in a variable."""
        os.environ[VARIABLE] = secret
        write_state(_spec(url), folder)
        self.stubs = folder / STUBS
        """The path to import `tools.bench` from."""
        self.called: list[ToolCall] = []
        options = ToolOptions(allow="write", secrets={"bench_key": VARIABLE})
        self._broker = Broker([folder], options, called=self.called.append)

    def begin(self, seconds: float) -> None:
        """Begin a step."""
        self._broker.begin("", seconds)

    def end(self) -> None:
        """End a step, and its call that still runs."""
        self._broker.cancel()

    def __call__(self, name: str, arguments: dict[str, Any], /) -> Any:
        return self._broker(name, arguments)

    def close(self) -> None:
        """End the broker, and forget the secret."""
        self._broker.close()
        os.environ.pop(VARIABLE, None)


def _spec(url: str) -> ToolSpec:
    key = (("bench_key",),)
    item = Parameter("item", "item", "path", _TEXT, required=True)
    text = Parameter("text", "text", "body", {**_TEXT, "maxLength": 1000}, required=True)

    def operation(name: str, method: str, path: str, *parameters: Parameter, **more: Any) -> Operation:
        effect = {"GET": Effect.READ, "DELETE": Effect.DESTROY}.get(method, Effect.WRITE)
        return Operation(
            name, name, "all", method=method, path=path, parameters=parameters, effect=effect,
            idempotent=method != "POST", result_types=("application/json",), **more,
        )  # fmt: skip

    return ToolSpec(
        "bench", "openapi", servers=(url,), groups=(Group("all"),),
        schemes=(Scheme("bench_key", "key", "header", "X-Key"),),
        operations=(
            operation("get_item", "GET", "/items/{item}", item),
            operation("add_item", "POST", "/items", text, security=key, body=Body("application/json", spread=True)),
            operation("remove_item", "DELETE", "/items/{item}", item, security=key),
            operation("tell", "GET", "/tell", Parameter("note", "X-Note", "header", _TEXT), security=key),
            operation("slow_write", "POST", "/slow"),
            operation("away", "GET", "/away", security=key),
            operation(
                "named", "GET", "/named", Parameter("name", "name", "query", _TEXT, required=True),
                result={**_TEXT, "format": "binary"},
            ),
        ),
    )  # fmt: skip
