"""Trials of read operations with example arguments, and of servers: does the service do as its document says?"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from codenav.core.execution import ToolCall
from codenav.core.system.terminal_text import flattened, neutral
from codenav.tools.broker.broker import PREFIX, Broker
from codenav.tools.broker.faults import Failed, Refused
from codenav.tools.broker.flights import Flight
from codenav.tools.broker.request import Request
from codenav.tools.broker.transport import Http
from codenav.tools.examples import NoExample, example_arguments
from codenav.tools.fitting import first_problem, validator_for
from codenav.tools.model import Operation, Schema, ToolSpec
from codenav.tools.types import merged

SECONDS = 30.0
"""Time for one server or trial."""
EXAMPLE = "an example of the arguments in the specification makes a real trial"
_UNKNOWN = frozenset((400, 404, 409, 410, 422))
"""Statuses that say nothing against a service if the arguments were made up: there may be no order 1."""
_REFUSED = frozenset((401, 403))


@dataclass(frozen=True, slots=True)
class Tried:
    """The outcome of a trial."""

    ok: bool
    detail: str
    hint: str = ""
    finding: bool = False
    """True if the service is at fault, not what it was asked with."""


def try_server(http: Http, url: str, *, public: bool = False) -> Tried:
    """Ask a server for its base URL: any answer but a failure of its own will do. `public` as in `Http.send`."""
    began = time.monotonic()
    request = Request("GET", url, [("Accept", "*/*")], None)
    try:
        answer = http.send(request, Flight(began + SECONDS), idempotent=False, servers=[url], public=public)
    except Refused as refusal:
        return Tried(False, str(refusal), finding=True)
    except Failed as failure:
        told = flattened(neutral(str(failure)), 300)
        return Tried(False, told, "start the server, or name another one: --server URL", finding=True)
    kind = flattened(neutral(answer.headers.get("content-type", "").partition(";")[0]), 60)
    detail = f"{answer.status}, {_told(time.monotonic() - began)}, {kind or 'no content type'}"
    return Tried(answer.status < 500, detail, "" if answer.status < 500 else "look at its log", answer.status >= 500)


def try_operation(broker: Broker, made: list[ToolCall], spec: ToolSpec, operation: Operation) -> Tried:
    """Call an operation with its example arguments, and compare the answer with its schema.

    `made` gets the records of the broker's calls.
    """
    try:
        arguments = example_arguments(operation, spec.schemas)
    except NoExample:
        return Tried(True, "not tried: no value of its arguments is known", EXAMPLE)
    made.clear()
    broker.begin("", SECONDS)
    given = broker(f"{PREFIX}{spec.name}/{operation.name}", {"arguments": arguments})
    call = made[-1]
    told = f"{call.status if call.status is not None else call.outcome}, {_told(call.seconds)}"
    if call.outcome == "refused":
        # The broker sent nothing: a secret is missing, or the example does not fit its own schema.
        secret = "secret" in call.shown
        return Tried(False, call.shown, "--secret NAME=VARIABLE" if secret else "", finding=not secret)
    if call.outcome == "failed" and call.status is None:
        return Tried(False, call.shown, "", finding=True)
    if call.status in _REFUSED:
        return Tried(False, call.shown, "--secret NAME=VARIABLE")
    if call.outcome != "ok":
        if call.status in _UNKNOWN and _made_up(operation, arguments, spec.schemas):
            return Tried(True, f"{told}, for made-up arguments", EXAMPLE)
        return Tried(False, call.shown, "", finding=True)
    if "file" in given or operation.result is None:
        return Tried(True, f"{told}, {'a file' if 'file' in given else 'no schema to compare with'}")
    problem = unlike(call.answer, operation.result, spec.schemas)
    if problem:
        return Tried(False, f"{told}, not as its schema says: {problem}", "", finding=True)
    return Tried(True, f"{told}, as its schema says")


def unlike(value: Any, schema: Schema, schemas: Mapping[str, Schema]) -> str:
    """The place where a value is not as a schema says, and why; empty if it is, or if the schema cannot be read."""
    problem = first_problem(validator_for(schema, schemas), value)
    if problem is None:
        return ""
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem.absolute_path)
    return flattened(neutral(f"{where.lstrip('.') or 'the answer'}: {problem.message}"), 300)


def _made_up(operation: Operation, arguments: Mapping[str, Any], schemas: Mapping[str, Schema]) -> bool:
    """True if a value comes from a schema's type alone, not from an example in the specification."""
    if any(dict(example) == dict(arguments) for example in operation.examples):
        return False
    words = ("example", "examples", "enum", "const", "default")
    return any(
        item.name in arguments
        and item.example is None
        and not any(merged(item.schema, schemas).get(word) is not None for word in words)
        for item in operation.parameters
    )


def _told(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
