"""Checks of a tool source: its document, its servers, trials of its read operations, and its descriptions.

What is found lowers the weights of tools (`tools.weights`), which search results show and heed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace

from codenav.core.errors import CodeNavError
from codenav.core.execution import ToolCall
from codenav.core.options import ToolOptions
from codenav.core.system.stored import Document
from codenav.tools import weights
from codenav.tools.broker.broker import Broker
from codenav.tools.broker.security import Secrets
from codenav.tools.broker.transport import Http
from codenav.tools.broker.trials import try_operation, try_server
from codenav.tools.layout import State
from codenav.tools.model import Effect, Operation, ToolSpec
from codenav.tools.places import Place
from codenav.tools.ratings import BEST, rated
from codenav.tools.reading import read_spec
from codenav.tools.state_files import read_spec_of
from codenav.tools.weights import Checked

DOCUMENT, SERVER, TRIAL, DESCRIPTION = "document", "server", "trial", "description"
"""First words of the names of rows."""


@dataclass(frozen=True, slots=True)
class Row(Document):
    """The outcome of one check."""

    name: str
    ok: bool
    detail: str = ""
    hint: str = ""

    @property
    def kind(self) -> str:
        """The first word of the name."""
        return self.name.partition(" ")[0]


def document_rows(place: Place, *, allow_private: bool) -> Iterator[Row]:
    """A document against its specification: a row for each violation, or one if there is none.

    Raises:
        CodeNavError: it cannot be read at all.
    """
    found = []
    if place.kind == "openapi":
        from codenav.tools.validation import violations

        found = violations(place.where, allow_private=allow_private)
    for path, message in found:
        yield Row(f"{DOCUMENT} {path}", False, message, "the reader repairs it or leaves it out")
    if not found:
        yield Row(DOCUMENT, True, "as its specification says")


def rows(state: State, options: ToolOptions, *, network: bool = True) -> Iterator[Row]:
    """The checks of a state, and new weights once all were made. Without `network` no server is asked.

    Raises:
        OSError: the weights cannot be written.
    """
    spec = read_spec_of(state.path)
    paths = state.summary.operations
    found = {paths[item.name]: Checked(rated(item, spec.schemas)) for item in spec.operations}
    if network:
        down: dict[str, str] = {}
        yield from _servers(state, spec, options, down)
        for item in spec.operations:
            server = _server(spec, item, options)
            found[paths[item.name]] = replace(found[paths[item.name]], server=down.get(server, ""))
        yield from _trials(state, spec, options, found)
    else:
        before = weights.read(state.path)
        for path, known in before.items():
            if path in found:
                found[path] = replace(found[path], server=known.server, trial=known.trial)
    yield from _descriptions(spec, found, state)
    weights.save(state.path, {path: one for path, one in found.items() if one.weight < 1 or one.reasons})


def _server(spec: ToolSpec, operation: Operation, options: ToolOptions) -> str:
    """The base URL that a call goes to; empty if there is none."""
    if options.server:
        return options.server
    whole = operation.path.partition("{")[0]
    if "://" in whole:
        return whole
    return next((one for one in (*operation.servers, *spec.servers) if one.lower().startswith("http")), "")


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
    urls = [options.server] if options.server else [url for url in spec.servers if url.lower().startswith("http")]
    urls += [_server(spec, item, options) for item in spec.operations]
    secrets = Secrets(options)
    with closing(Http()) as http:
        for url in filter(None, dict.fromkeys(urls)):
            tried = try_server(http, url, public=secrets.must_be_public(spec, url))
            if tried.finding:
                down[url] = f"its server: {tried.detail}"
            yield Row(f"{SERVER} {url}", tried.ok, tried.detail, tried.hint)
    if not any(urls) and any(item.method for item in spec.operations):
        yield Row(SERVER, False, "the specification names none with an address", "--server URL")


def _trials(state: State, spec: ToolSpec, options: ToolOptions, found: dict[str, Checked]) -> Iterator[Row]:
    """A row for each operation that only reads; the reasons of those that failed go into `found`."""
    made: list[ToolCall] = []
    reading = replace(options, allow="read")
    with closing(Broker([state.path], reading, called=made.append, compress=lambda *_: "")) as broker:
        for item in spec.operations:
            path = state.summary.operations[item.name]
            callable_here = item.method or spec.transport or item.name in options.handlers
            if item.effect is not Effect.READ or not callable_here or found[path].server:
                continue
            tried = try_operation(broker, made, spec, item)
            if tried.finding:
                found[path] = replace(found[path], trial=f"its trial: {tried.detail}")
            yield Row(f"{TRIAL} {spec.name}.{item.name}", tried.ok, tried.detail, tried.hint)


def _descriptions(spec: ToolSpec, found: dict[str, Checked], state: State) -> Iterator[Row]:
    """A row for the description of each operation."""
    for item in spec.operations:
        rating = found[state.summary.operations[item.name]].rating
        told = f"completeness {rating.completeness}, readability {rating.readability}"
        told += f": {'; '.join(rating.findings)}" if rating.findings else ""
        yield Row(f"{DESCRIPTION} {spec.name}.{item.name}", rating.completeness == rating.readability == BEST, told)
