"""The broker: it answers the calls of stubs in a sandbox, and believes nothing of what they say.

A call is `tools/SPEC/NAME` with `{"arguments": {…}}`. Its answer is one of

    {"value": JSON}
    {"file": {"name", "type", "data": base64}}  with "show": true for a picture to display
    {"parts": [one of these two, …]}
    {"error": {"status", "message", "body"}}    an error status, or no answer
    {"refused": "one sentence"}                 nothing was sent
"""

from __future__ import annotations

import difflib
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from codenav.core.approval import Approver
from codenav.core.clocks import Clock
from codenav.core.errors import Unavailable, UsageError
from codenav.core.execution import ToolCall
from codenav.core.options import GATES, ToolOptions
from codenav.core.protocols import Model
from codenav.core.secrets.masking import data_masker
from codenav.core.system.closing import Closing
from codenav.core.system.terminal_text import flattened, neutral
from codenav.tools.addresses import is_url
from codenav.tools.broker import answers
from codenav.tools.broker.answers import Promises
from codenav.tools.broker.arguments import ArgumentChecker, without_content
from codenav.tools.broker.compress import Compressor
from codenav.tools.broker.flights import Failed, Flight, OutOfTime, Refused
from codenav.tools.broker.gates import DRY_RUN, Gate
from codenav.tools.broker.local import call_function, call_mcp
from codenav.tools.broker.request import Unsendable, build
from codenav.tools.broker.security import Secrets
from codenav.tools.broker.transport import Http
from codenav.tools.mcp_client import McpConnection
from codenav.tools.model import Effect, Operation, ToolSpec
from codenav.tools.secret_names import HEADER
from codenav.tools.state_files import OPERATIONS, read_operation, read_spec_of, read_summary

PREFIX = "tools/"
MOST_CALLS = 200
"""Most calls to tools in one step, refused ones included."""
NOT_SENT = "not sent (dry run)"
"""The answer of a call that a dry run checked and did not send."""
_NAME = re.compile(r"tools/(\w+)/(\w+)", re.ASCII)


class _Service:
    """One specification, and what its calls share."""

    def __init__(self, folder: Path) -> None:
        summary = read_summary(folder)
        self.folder, self.paths = folder, summary.operations
        self.spec: ToolSpec = read_spec_of(folder, names=())
        self.checker, self.promises = ArgumentChecker(self.spec.schemas), Promises(self.spec.schemas)
        self._operations: dict[str, Operation] = {}
        self.connection: McpConnection | None = None

    def operation(self, name: str) -> Operation | None:
        """Return an operation by its name in Python; None if there is none."""
        if name not in self._operations and name in self.paths:
            self._operations[name] = read_operation(self.folder / OPERATIONS / self.paths[name])
        return self._operations.get(name)


class Broker(Closing):
    """A `CallHandler` for calls to the tools of some sources. Thread-safe."""

    def __init__(
        self,
        folders: Sequence[Path],
        options: ToolOptions,
        *,
        confirm: Approver | None = None,
        called: Callable[[ToolCall], None] | None = None,
        model: Model | None = None,
    ) -> None:
        """Open the states of tool sources; nothing is sent.

        Args:
            folders: Their states (`Source.tools`).
            options: Gate, secrets, server, functions.
            confirm: Asks a person about a call that is to be approved; without it such a call is refused.
            called: Gets the record of each call when it is over.
            model: Names the fields of long answers that the record shows; without it rules do.

        Raises:
            UsageError: no such gate, a secret is not NAME=VARIABLE, or no source takes it.
            Unavailable: the variable of a secret is not set.
        """
        if options.allow and options.allow not in GATES:
            raise UsageError(f"no gate {options.allow!r}", hint=f"--allow takes {', '.join(GATES)}")
        self._options = options
        self._gate = Gate(options.allow, confirm, asks=options.approve == "writes")
        self._called = called or (lambda call: None)
        self._compress = Compressor(options.answer_characters, model)
        self._http = Http(call_seconds=options.tool_timeout)
        self._services = {service.spec.name: service for service in map(_Service, folders)}
        self._secrets = Secrets(options, [service.spec for service in self._services.values()])
        self._lock = threading.Lock()
        self._flights: set[Flight] = set()
        self._request, self._count = "", 0
        self._until: float | None = None
        self._clock = Clock()
        self.doubt: Callable[[str, str, Any], str] | None = None
        """Says why a call that writes must not be sent, by tool, required argument and value; empty: it may be."""

    def begin(self, request: str, seconds: float | None) -> None:
        """Begin a step for a request, of at most so many seconds: its calls are counted anew."""
        with self._lock:
            if request != self._request:
                self._gate.begin()
            self._request, self._count = request, 0
            self._until, self._clock = None if seconds is None else time.monotonic() + seconds, Clock()

    def demand_secrets(self, spec: ToolSpec, operation: Operation) -> None:
        """Raise Unavailable if a secret is missing without which an operation cannot be called."""
        try:
            self._secrets.chosen(spec, operation)
        except Refused as refusal:
            raise Unavailable(str(refusal), hint="docs/tools.md, section Secrets") from None

    def cancel(self) -> None:
        """End the calls in flight, from any thread. Their code is told that they were interrupted."""
        with self._lock:
            flights = list(self._flights)
        for flight in flights:
            flight.cancel()
        for service in self._services.values():
            if service.connection is not None and flights:
                service.connection.cancel()

    def close(self) -> None:
        """End all calls and connections. Safe to call twice."""
        self.cancel()
        self._http.close()
        for service in self._services.values():
            connection, service.connection = service.connection, None
            if connection is not None:
                connection.close()

    def __call__(self, name: str, arguments: dict[str, Any], /) -> dict[str, Any]:
        """Answer a call. Nothing that the code can cause is raised."""
        call = ToolCall(flattened(neutral(name.removeprefix(PREFIX).replace("/", ".")), 120))
        began = time.monotonic()
        try:
            service, operation = self._found(name)
            given = arguments.get("arguments", {}) if set(arguments) <= {"arguments"} else None
            call = replace(call, effect=operation.effect.value, arguments=self._mask(without_content(_plain(given))))
            result, call = self._answered(service, operation, given, call)
        except Refused as refusal:
            told = self._mask(flattened(neutral(str(refusal)), 1000))
            result, call = answers.Result({"refused": told}, None, outcome="refused", message=told), call
        except Failed as failure:
            told = self._mask(f"{call.tool}: {failure}")
            result = answers.error_result(told, status=failure.status)
            result.outcome = "failed"
            call = replace(call, status=failure.status, tries=failure.tries)
        except RecursionError:
            told = f"{call.tool}: the arguments or the answer are nested too deeply"
            result = answers.error_result(told)
        except Exception as error:
            # A fault of ours, or of the files of the source: the code is told, and the run goes on.
            told = self._mask(f"{call.tool}: the broker failed: {type(error).__name__}: {error}")
            result = answers.error_result(told)
            result.outcome = "failed"
        call = replace(
            call, outcome=result.outcome, seconds=time.monotonic() - began, answer=result.kept,
            shown=result.message or call.shown,
        )  # fmt: skip
        self._called(call)
        return result.given

    def _mask(self, data: Any) -> Any:
        """Data without the secrets of now: a token may have been fetched a moment ago."""
        return data_masker(self._secrets.masked())(data)

    def _found(self, name: str) -> tuple[_Service, Operation]:
        """Count a call, and return what it calls. Raises Refused."""
        with self._lock:
            self._count += 1
            count = self._count
        if count > MOST_CALLS:
            raise Refused(f"a step may make {MOST_CALLS} calls to tools; make the others in another step")
        match = _NAME.fullmatch(name)
        service = self._services.get(match[1]) if match else None
        operation = service.operation(match[2]) if service and match else None
        if service is None or operation is None:
            known = [f"{one}.{operation}" for one, found in self._services.items() for operation in found.paths]
            asked = name.removeprefix(PREFIX).replace("/", ".")[:120]
            near = difflib.get_close_matches(asked, known, n=1, cutoff=0.5)
            raise Refused(f"there is no tool {asked}" + (f"; did you mean {near[0]}?" if near else ""))
        return service, operation

    def _answered(
        self, service: _Service, operation: Operation, given: Any, call: ToolCall
    ) -> tuple[answers.Result, ToolCall]:
        """Check a call, make it, and return its result with what is known of it. Raises Refused, Failed."""
        if operation.unusable:
            raise Refused(f"{call.tool} cannot be called: {operation.unusable}")
        checked = service.checker.check(call.tool, operation, given)
        spec = service.spec
        schemes = self._secrets.chosen(spec, operation)
        with self._clock.current():
            sent = self._gate.check(call.tool, operation.effect, self._mask(without_content(checked)))
        if not sent:
            return answers.Result({"value": NOT_SENT}, NOT_SENT, outcome=DRY_RUN), replace(call, shown=NOT_SENT)
        for one in operation.parameters if self.doubt and operation.effect is not Effect.READ else ():
            free = one.required and not {"enum", "const", "default"} & set(one.schema)
            with self._clock.current():
                why = self.doubt(call.tool, one.name, checked[one.name]) if free and self.doubt else ""
            if why:
                raise Refused(why)
        with self._lock:
            until = time.monotonic() + self._http.call_seconds
            flight = Flight(until if self._until is None else min(until, self._until + self._clock.asked))
            if not flight.left:
                raise Refused("the time of this step is over")
            self._flights.add(flight)
        try:
            if operation.method:
                result, call = self._sent(service, operation, checked, schemes, flight, call)
            elif spec.transport:
                connection = self._connection(service, schemes)
                result, size = call_mcp(connection, call.tool, operation, checked, flight, self._mask)
                result.odd = self._mask(connection.noise())
                call = replace(call, bytes=size)
            else:
                result = call_function(self._options.handlers, call.tool, operation, checked, flight, self._mask)
        except OutOfTime:
            raise Failed(f"no answer within {_told_seconds(self._http.call_seconds)}") from None
        finally:
            flight.stopped.set()
            with self._lock:
                self._flights.discard(flight)
        if result.outcome == "ok":
            call = replace(call, shown=self._shown(service, operation, result))
        return result, call

    def _sent(
        self, service: _Service, operation: Operation, checked: Mapping[str, Any], schemes: Sequence[Any],
        flight: Flight, call: ToolCall,
    ) -> tuple[answers.Result, ToolCall]:  # fmt: skip
        """Make a call over HTTP."""
        spec = service.spec
        target = server_of(self._options, spec, operation)
        if not target:
            raise Refused(f"{spec.name} names no server with an address: codenav run --server URL names one")
        whole = "://" in operation.path.partition("{")[0]
        server = "" if whole and not self._options.server else target
        credentials = self._secrets.credentials(spec, operation, schemes, server or operation.path, self._http, flight)
        try:
            request = build(operation, checked, server, credentials)
        except Unsendable as problem:
            raise Refused(f"{call.tool}: {problem}") from None
        public = self._secrets.must_be_public(spec, target)
        answer = self._http.send(request, flight, idempotent=operation.idempotent, servers=[target], public=public)
        if answer.status == 401:
            self._secrets.forget_tokens(spec.name)
        result = answers.read(call.tool, operation, spec.schemas, answer, self._mask)
        if answer.status in (401, 403):
            self._blame(result, spec, schemes)
        return result, replace(call, status=answer.status, bytes=len(answer.body), tries=answer.tries)

    def _blame(self, result: answers.Result, spec: ToolSpec, schemes: Sequence[Any]) -> None:
        """Name the secrets that a server has refused, or how one is given where the specification names none."""
        names = " and ".join(f"{one.name} ({self._secrets.variable(spec.name, one.name)})" for one in schemes)
        if names:
            result.message += f"; the secret {names} was sent: check its value and what it may do"
        elif not spec.schemes:
            result.message += f"; {spec.name} names no way to log in: {HEADER} sends a header"
        result.given["error"]["message"] = result.message

    def _connection(self, service: _Service, schemes: Sequence[Any]) -> McpConnection:
        """Return the connection to an MCP server, which is made at its first use."""
        with self._lock:
            if service.connection is None:
                spec = service.spec
                known = [scheme.name for one in self._services.values() for scheme in one.spec.schemes]
                tokens = [self._secrets.value(spec.name, scheme.name) for scheme in schemes]
                service.connection = McpConnection(
                    spec.transport,
                    environment=self._secrets.for_process(spec, known),
                    headers={"Authorization": f"Bearer {tokens[0]}"} if tokens else {},
                )
            return service.connection

    def _shown(self, service: _Service, operation: Operation, result: answers.Result) -> str:
        """Return an answer as an observation shows it; before it, where it is not what the specification promises."""
        with self._lock:
            request = self._request
        shown = self._compress(operation, service.spec.schemas, request, result.kept)
        broken = service.promises.broken(operation, result.given["value"]) if "value" in result.given else ""
        odd = "; ".join(filter(None, (broken, result.odd)))
        return f"{odd}; {shown}"[: self._options.answer_characters] if odd else shown


def server_of(options: ToolOptions, spec: ToolSpec, operation: Operation) -> str:
    """The URL that a call goes to, or where it begins; empty if the specification names none with an address."""
    whole = operation.path.partition("{")[0]
    servers = (whole if "://" in whole else "", *operation.servers, *spec.servers)
    return options.server or next((server for server in servers if is_url(server)), "")


def _plain(given: Any) -> Any:
    return given if isinstance(given, dict) else {}


def _told_seconds(seconds: float) -> str:
    return f"{seconds:g} s"
