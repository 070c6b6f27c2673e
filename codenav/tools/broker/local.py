"""Calls to MCP servers, and to functions of this process."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from codenav.core.errors import CodeNavError
from codenav.tools.broker import answers
from codenav.tools.broker.flights import Failed, Flight, OutOfTime, Refused
from codenav.tools.broker.transport import ANSWER_BYTES
from codenav.tools.mcp_answers import FAILURE_CHARACTERS, shortened
from codenav.tools.mcp_client import McpConnection, McpFile, McpUnavailable
from codenav.tools.model import Operation

_SPARE_SECONDS = 0.1
"""Time by which a connection gives up earlier than the call: it knows better what was amiss."""


def call_mcp(
    connection: McpConnection,
    tool: str,
    operation: Operation,
    arguments: Mapping[str, Any],
    flight: Flight,
    mask: Callable[[Any], Any],
) -> tuple[answers.Result, int]:
    """Call a tool of an MCP server. Return the result, and the bytes of the answer.

    Raises:
        Failed, OutOfTime: no answer came.
    """
    sent = on_the_wire(operation, arguments)
    for tries in count(1):
        try:
            answer = flight.run(
                lambda: connection.call(
                    operation.id,
                    sent,
                    timeout=max(flight.left - _SPARE_SECONDS, 0.01),
                    parse=operation.result is not None,
                )
            )
            break
        except McpUnavailable as error:
            refused = error.status in (401, 403)
            again = (operation.idempotent or not error.sent) and not (error.timed_out or refused)
            if not (again and flight.rest(tries, error.retry_after)):
                raise Failed(shortened(str(error), FAILURE_CHARACTERS), status=error.status, tries=tries) from None
        except CodeNavError as error:
            raise Failed(shortened(str(error), FAILURE_CHARACTERS), tries=tries) from None
    if answer.failure:
        body = mask(_plain(answer.value))
        return answers.error_result(f"{tool}: {mask(answer.failure)}", body=body), answer.bytes
    value = answer.value
    if operation.wrapped and isinstance(value, dict) and set(value) == {"result"}:
        value = value["result"]
    if isinstance(value, list) and any(isinstance(part, McpFile) for part in value):
        parts = [_result(part, operation, mask) for part in value]
        made = answers.Result({"parts": [part.given for part in parts]}, [part.kept for part in parts])
        return made, answer.bytes
    made = _result(value, operation, mask)
    if answer.beside:
        made.given["beside"] = [_result(file, operation, mask).given for file in answer.beside]
    return made, answer.bytes


def _result(value: Any, operation: Operation, mask: Callable[[Any], Any]) -> answers.Result:
    """Return an answer, or a part of one, for the code: a file is written there, and a picture displayed, too."""
    if not isinstance(value, McpFile):
        plain = mask(_plain(value))
        return answers.Result({"value": plain}, plain)
    made = answers.file_result(answers.safe_name(value.name, operation.name), value.type, value.data)
    if value.type.startswith("image/"):
        made.given["file"]["show"] = True
    return made


def call_function(
    handlers: Mapping[str, Callable[..., Any]],
    tool: str,
    operation: Operation,
    arguments: Mapping[str, Any],
    flight: Flight,
    mask: Callable[[Any], Any],
) -> answers.Result:
    """Call a function of this process.

    Raises:
        Refused: none was given for the tool.
        Failed, OutOfTime: it gave no answer.
    """
    function = handlers.get(tool) or handlers.get(operation.id) or handlers.get(operation.name)
    if function is None:
        raise Refused(f"{tool} has no address, and this run has no function for it: handlers={{{operation.id!r}: …}}")
    sent = on_the_wire(operation, arguments)
    try:
        value = flight.run(lambda: function(**sent))
        text = json.dumps(value, allow_nan=False)
    except (Failed, OutOfTime):
        raise
    except Exception as error:
        return answers.error_result(mask(f"{tool}: {type(error).__name__}: {error}"))
    if len(text) > ANSWER_BYTES:
        raise Failed(f"the answer has over {ANSWER_BYTES >> 20} MiB; ask for less")
    value = mask(json.loads(text))
    return answers.Result({"value": value}, value)


def on_the_wire(operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments by the names that a server or a function knows; one that is the whole input stands for it."""
    found: dict[str, Any] = {}
    for item in operation.parameters:
        if item.name not in arguments:
            continue
        value = arguments[item.name]
        if item.place == "content" and isinstance(value, dict):
            found.update(value)
        else:
            found[item.wire] = value
    return found


def _plain(value: Any) -> Any:
    """Return an answer as JSON data, with files inside lists as dicts."""
    if isinstance(value, McpFile):
        return {"name": value.name, "type": value.type, "data": base64.b64encode(value.data).decode("ascii")}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    return value
