"""Checks of a tool source: its document, its servers, trials of its read operations, and its descriptions.

What is found lowers the weights of tools (`tools.weights`), which search results show and heed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from codenav.core.errors import CodeNavError
from codenav.core.execution import ToolCall
from codenav.core.options import ToolOptions
from codenav.core.system.stored import Document
from codenav.core.system.terminal_text import flattened, neutral
from codenav.tools import weights
from codenav.tools.addresses import is_url
from codenav.tools.broker.answers import Promises
from codenav.tools.broker.broker import PREFIX, Broker, server_of
from codenav.tools.broker.flights import Failed, Flight, Refused
from codenav.tools.broker.request import Request
from codenav.tools.broker.security import Secrets
from codenav.tools.broker.transport import Http
from codenav.tools.examples import NoExample, example_arguments
from codenav.tools.layout import State
from codenav.tools.model import Effect, Operation, Schema, ToolSpec
from codenav.tools.places import Place
from codenav.tools.reading import read_spec
from codenav.tools.references import Library
from codenav.tools.state_files import read_spec_of
from codenav.tools.types import merged
from codenav.tools.validation import violations_of
from codenav.tools.weights import BEST, Checked

DOCUMENT, SERVER, TRIAL, DESCRIPTION = "document", "server", "trial", "description"
"""First words of the names of rows."""
_NOTE = re.compile(r"(?:[^/]\S* \S+ is left out: |all operations of \S+ are left out: )?(/\S*): (.*)", re.DOTALL)
"""A note of the reader on a place in the document; others are on what codenav itself does not do."""

SECONDS = 30.0
"""Time for one server or trial."""
EXAMPLE = "an example of the arguments in the specification makes a real trial"
_UNKNOWN = frozenset((400, 404, 409, 410, 422))
"""Statuses that say nothing against a service if the arguments were made up: there may be no order 1."""
_REFUSED = frozenset((401, 403))


@dataclass(frozen=True, slots=True)
class Row(Document):
    """The outcome of one check."""

    name: str
    ok: bool
    detail: str = ""
    hint: str = ""
    fault: bool = False
    """True if the service is at fault, not what it was asked with."""

    stored: ClassVar[Sequence[str]] = ("name", "ok", "detail", "hint")

    @property
    def kind(self) -> str:
        """The first word of the name."""
        return self.name.partition(" ")[0]


def document_rows(place: Place, *, allow_private: bool) -> Iterator[Row]:
    """A row for each place of a document that its specification does not allow.

    Raises:
        CodeNavError: it cannot be read at all.
    """
    if place.kind == "openapi":
        for path, message in violations_of(Library(place.where, allow_private=allow_private)):
            yield Row(f"{DOCUMENT} {path}", False, message, "the reader repairs it or leaves it out")


def note_rows(notes: Sequence[str], known: Collection[str]) -> Iterator[Row]:
    """A row for each place that the reader repaired or left out; `known` are the names of rows that there are."""
    for match in filter(None, map(_NOTE.fullmatch, notes)):
        name = f"{DOCUMENT} {match[1]}"
        if not any(one.startswith(name) for one in known):
            yield Row(name, False, match[2], "the reader repairs it or leaves it out")


def rows(state: State, options: ToolOptions, *, network: bool = True) -> Iterator[Row]:
    """The checks of a state, and new weights once all were made. Without `network` no server is asked.

    Raises:
        OSError: the weights cannot be written.
    """
    spec = read_spec_of(state.path)
    paths = state.summary.operations
    found = weights.by_rules(spec, paths)
    if network:
        down: dict[str, str] = {}
        yield from _servers(state, spec, options, down)
        for item in spec.operations:
            server = server_of(options, spec, item)
            found[paths[item.name]] = replace(found[paths[item.name]], server=down.get(server, ""))
        yield from _trials(state, spec, options, found)
    else:
        before = weights.read(state.path)
        for path, known in before.items():
            if path in found:
                found[path] = replace(found[path], server=known.server, trial=known.trial)
    yield from _descriptions(spec, found, state)
    weights.save(state.path, found)


def _servers(state: State, spec: ToolSpec, options: ToolOptions, down: dict[str, str]) -> Iterator[Row]:
    """A row for each server; `down` gets the reasons of those that do not answer."""
    if spec.transport:
        began = time.monotonic()
        try:
            listed = len(read_spec(state.place.name).operations)
            yield Row(f"{SERVER} {state.place.where}", True, f"{listed} tools in {time.monotonic() - began:.1f} s")
        except CodeNavError as error:
            down[""] = f"its server: {error}"
            yield Row(f"{SERVER} {state.place.where}", False, str(error), error.hint or "")
        return
    urls = [options.server] if options.server else [url for url in spec.servers if is_url(url)]
    urls += [server_of(options, spec, item) for item in spec.operations]
    secrets = Secrets(options)
    with closing(Http()) as http:
        for url in filter(None, dict.fromkeys(urls)):
            row = _try_server(http, url, public=secrets.must_be_public(spec, url))
            if row.fault:
                down[url] = f"its server: {row.detail}"
            yield row
    if not any(urls) and any(item.method for item in spec.operations):
        yield Row(SERVER, False, "the specification names none with an address", "--server URL")


def _trials(state: State, spec: ToolSpec, options: ToolOptions, found: dict[str, Checked]) -> Iterator[Row]:
    """A row for each operation that only reads; the reasons of those that failed go into `found`."""
    made: list[ToolCall] = []
    reading = replace(options, allow="read")
    with closing(Broker([state.path], reading, called=made.append)) as broker:
        for item in spec.operations:
            path = state.summary.operations[item.name]
            callable_here = item.method or spec.transport or item.name in options.handlers
            if item.effect is not Effect.READ or not callable_here or found[path].server:
                continue
            row = _try_operation(broker, made, spec, item)
            if row.fault:
                found[path] = replace(found[path], trial=f"its trial: {row.detail}")
            yield row


def _descriptions(spec: ToolSpec, found: dict[str, Checked], state: State) -> Iterator[Row]:
    """A row for the description of each operation."""
    for item in spec.operations:
        rating = found[state.summary.operations[item.name]].rating
        told = f"completeness {rating.completeness}, readability {rating.readability}"
        told += f": {'; '.join(rating.findings)}" if rating.findings else ""
        yield Row(f"{DESCRIPTION} {spec.name}.{item.name}", rating.completeness == rating.readability == BEST, told)


def _try_server(http: Http, url: str, *, public: bool) -> Row:
    """Ask a server for its base URL: any answer but a failure of its own will do. `public` as in `Http.send`."""
    name, began = f"{SERVER} {url}", time.monotonic()
    request = Request("GET", url, [("Accept", "*/*")], None)
    try:
        answer = http.send(request, Flight(began + SECONDS), idempotent=False, servers=[url], public=public)
    except Refused as refusal:
        return Row(name, False, str(refusal), fault=True)
    except Failed as failure:
        told = flattened(neutral(str(failure)), 300)
        return Row(name, False, told, "start the server, or name another one: --server URL", fault=True)
    kind = flattened(neutral(answer.headers.get("content-type", "").partition(";")[0]), 60)
    detail = f"{answer.status}, {_duration(time.monotonic() - began)}, {kind or 'no content type'}"
    good = answer.status < 500
    return Row(name, good, detail, "" if good else "look at its log", fault=not good)


def _try_operation(broker: Broker, made: list[ToolCall], spec: ToolSpec, operation: Operation) -> Row:
    """Call an operation with its example arguments, and compare the answer with its schema.

    `made` gets the records of the broker's calls.
    """
    name = f"{TRIAL} {spec.name}.{operation.name}"
    try:
        arguments = example_arguments(operation, spec.schemas)
    except NoExample:
        return Row(name, True, "not tried: no value of its arguments is known", EXAMPLE)
    made.clear()
    broker.begin("", SECONDS)
    given = broker(f"{PREFIX}{spec.name}/{operation.name}", {"arguments": arguments})
    call = made[-1]
    told = f"{call.status if call.status is not None else call.outcome}, {_duration(call.seconds)}"
    if call.outcome == "refused":
        # The broker sent nothing: a secret is missing, or the example does not fit its own schema.
        secret = "secret" in call.shown
        return Row(name, False, call.shown, "--secret NAME=VARIABLE" if secret else "", fault=not secret)
    if call.outcome == "failed" and call.status is None:
        return Row(name, False, call.shown, fault=True)
    if call.status in _REFUSED:
        return Row(name, False, call.shown, "--secret NAME=VARIABLE")
    if call.outcome != "ok":
        if call.status in _UNKNOWN and _made_up(operation, arguments, spec.schemas):
            return Row(name, True, f"{told}, for made-up arguments", EXAMPLE)
        return Row(name, False, call.shown, fault=True)
    if "file" in given or operation.result is None:
        return Row(name, True, f"{told}, {'a file' if 'file' in given else 'no schema to compare with'}")
    problem = Promises(spec.schemas).broken(operation, call.answer)
    if problem:
        return Row(name, False, f"{told}, {problem}", fault=True)
    return Row(name, True, f"{told}, as its schema says")


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


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
