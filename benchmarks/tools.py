"""Tools: the cost of a call from a sandbox, of a large specification, and of requests and answers that are right.

    python benchmarks/tools.py calls [--image IMAGE]     a call through stub and broker beside the same one on the host
    python benchmarks/tools.py first                     1,000 operations in 5 MB: index, and first import inside
    python benchmarks/tools.py all --specs FOLDER --checkouts FOLDER [--image IMAGE]

`all` runs `tool_requests.py` and `tool_answers.py`, too, and ends with the table of bars.
"""

from __future__ import annotations

import argparse
import http.server
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import tool_answers
import tool_requests
from measure import run

from codenav.core.execution import Outcome, SandboxSpec
from codenav.core.options import ToolOptions
from codenav.core.system.interpreter import find_interpreter
from codenav.sandboxes import start
from codenav.tools.broker.broker import Broker
from codenav.tools.layout import laid_out
from codenav.tools.places import parse

EXTRA_SECONDS = {"bubblewrap": 0.005, "docker": 0.008}
"""Bars: what a call may cost beyond the request itself, p50."""
INDEX_SECONDS, IMPORT_SECONDS = 5.0, 0.3
OPERATIONS, BYTES = 1000, 5_000_000
ROUNDS, EACH, WARM = 4, 50, 10
"""Rounds in which host and sandbox take turns, calls of each in a round, and calls before the first one."""
ANSWER = json.dumps({"id": 7, "name": "Mug", "color": "blue", "price": 8.5, "tags": ["kitchen", "gift"]}).encode()

INSIDE = """
import time
from tools.bench import get_product
def times(many):
    found = []
    for number in range(many):
        began = time.perf_counter()
        product = get_product(product_id=7, color="blue")
        found.append(time.perf_counter() - began)
    assert product["name"] == "Mug"
    return found
"""


@dataclass(frozen=True)
class Bar:
    """A line of the last table."""

    name: str
    measured: str
    bar: str
    held: bool


class _Handler(http.server.BaseHTTPRequestHandler):
    """A service with one answer, in one packet."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(ANSWER)}\r\n\r\n"
        self.wfile.write(head.encode() + ANSWER)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _serve(port: Any) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        port.value = server.server_address[1]
        server.serve_forever()


@contextmanager
def service() -> Iterator[str]:
    """The service in a process of its own; its URL."""
    port = multiprocessing.Value("i", 0)
    process = multiprocessing.Process(target=_serve, args=(port,), daemon=True)
    process.start()
    try:
        while not port.value:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port.value}"
    finally:
        process.terminate()
        process.join()


def small_document(url: str) -> dict[str, Any]:
    """A document with the one operation of the service."""
    properties = {"id": {"type": "integer"}, "name": {"type": "string"}, "price": {"type": "number"}}
    parameters = [
        {"name": "productId", "in": "path", "required": True, "schema": {"type": "integer"}},
        {"name": "color", "in": "query", "schema": {"type": "string", "enum": ["blue", "red"]}},
    ]
    answer = {"description": "The product.", "content": {"application/json": {"schema": {"properties": properties}}}}
    operation = {"operationId": "getProduct", "summary": "Get one product.", "responses": {"200": answer}}
    return {
        "openapi": "3.0.3", "info": {"title": "Bench", "version": "1"}, "servers": [{"url": url}],
        "paths": {"/products/{productId}": {"get": {**operation, "parameters": parameters}}},
    }  # fmt: skip


def calls(backends: Sequence[str], image: str, folder: Path) -> list[Bar]:
    """A call from inside beside the same request on the host, taking turns."""
    bars = []
    print(f"{'':12}{'host p50':>12}{'inside p50':>12}{'more':>10}{'host p95':>12}{'inside p95':>12}   ms")
    with service() as url:
        document = folder / "bench.json"
        document.write_text(json.dumps(small_document(url)))
        state = laid_out(parse(f"openapi:{document}"))
        for backend in backends:
            spec = SandboxSpec(
                find_interpreter(), image=image if backend == "docker" else "", import_paths=[state.stubs]
            )
            with closing(Broker([state.path], ToolOptions())) as broker, start(backend, spec, calls=broker) as sandbox:
                host, inside = _in_turns(sandbox, broker, f"{url}/products/7?color=blue")
            more = statistics.median(inside) - statistics.median(host)
            cells = [statistics.median(host), statistics.median(inside), more, _p95(host), _p95(inside)]
            widths = [12, 12, 10, 12, 12]
            print(
                f"{backend:12}" + "".join(f"{cell * 1000:>{wide}.2f}" for cell, wide in zip(cells, widths, strict=True))
            )
            bar = EXTRA_SECONDS[backend]
            told = f"+{more * 1000:.1f} ms"
            bars.append(Bar(f"a call from {backend}, beyond the request", told, f"+{bar * 1000:g} ms", more <= bar))
    return bars


def _in_turns(sandbox: Any, broker: Broker, url: str) -> tuple[list[float], list[float]]:
    host: list[float] = []
    inside: list[float] = []

    def step(code: str) -> str:
        broker.begin("", None)
        ran = sandbox.run(code)
        if ran.outcome is not Outcome.OK:
            sys.exit(f"the sandbox answered {ran.error or ran.stderr}")
        return str(ran.stdout)

    step(INSIDE)
    with httpx2.Client() as client:
        for turn in range(ROUNDS + 1):
            times = []
            for _ in range(EACH if turn else WARM):
                began = time.perf_counter()
                client.get(url).json()
                times.append(time.perf_counter() - began)
            found = json.loads(step(f"print(times({EACH if turn else WARM}))"))
            if turn:
                host += times
                inside += found
    return host, inside


def _p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


def large_document() -> str:
    """A document of 1,000 operations and 5 MB: parameters, bodies and answers with schemas, and prose."""
    prose = "Finds what belongs to a customer, an order or a product of the shop, newest first. " * 3
    schemas = {
        f"Thing{number}": {
            "type": "object", "required": ["id"],
            "properties": {
                "id": {"type": "integer", "description": "Number of the thing."},
                **{f"field_{place}": {"type": "string", "description": prose[:90]} for place in range(8)},
                "next": {"$ref": f"#/components/schemas/Thing{(number + 1) % 200}"},
            },
        }
        for number in range(200)
    }  # fmt: skip
    paths: dict[str, Any] = {}
    for number in range(OPERATIONS):
        parameters = [
            {"name": f"filter_{place}", "in": "query", "description": prose[:120], "schema": {"type": "string"}}
            for place in range(10)
        ]
        thing = {"$ref": f"#/components/schemas/Thing{number % 200}"}
        answer = {
            "description": prose[:80],
            "content": {"application/json": {"schema": {"type": "array", "items": thing}}},
        }
        inner = {
            f"value_{place}": {"type": "integer", "minimum": place, "description": prose[:100]} for place in range(8)
        }
        body = {"content": {"application/json": {"schema": {"type": "object", "properties": inner}}}}
        paths[f"/group{number % 40}/things{number}"] = {
            "post": {
                "operationId": f"operation{number}", "tags": [f"group {number % 40}"], "summary": prose[:60],
                "description": prose, "parameters": parameters, "requestBody": body, "responses": {"200": answer},
            }
        }  # fmt: skip
    document = {"openapi": "3.0.3", "info": {"title": "Large", "version": "1"}, "paths": paths}
    text = json.dumps({**document, "components": {"schemas": schemas}})
    missing = BYTES - len(text)
    info = {"title": "Large", "version": "1", "description": prose * (missing // len(prose))} if missing > 0 else {}
    return json.dumps({**document, "info": info or document["info"], "components": {"schemas": schemas}})


def first(folder: Path, runs: int = 3) -> list[Bar]:
    """The first index of the large document, and the first import of one of its operations inside."""
    document = folder / "large.json"
    document.write_text(large_document())
    print(f"{OPERATIONS} operations, {document.stat().st_size / 1e6:.1f} MB")
    indexed, processor, imported = [], [], []
    for turn in range(runs):
        home = folder / f"home{turn}"
        command = [sys.executable, "-m", "codenav", "index", f"openapi:{document}"]
        cost = run(command, env={**os.environ, "CODENAV_HOME": str(home)})
        indexed.append(cost.wall)
        processor.append(cost.cpu)
        state = next((home / "cache" / "tools").glob("*/*/stubs"), None) or next(home.rglob("stubs"))
        code = (
            "import time\nbegan = time.perf_counter()\nfrom tools.large import operation500\n"
            "print(time.perf_counter() - began)"
        )
        with start("bubblewrap", SandboxSpec(find_interpreter(), import_paths=[state])) as sandbox:
            ran = sandbox.run(code)
        imported.append(float(ran.stdout))
    index, inside = statistics.median(indexed), statistics.median(imported)
    print(f"index {index:.2f} s ({min(indexed):.2f} to {max(indexed):.2f}), {min(processor):.2f} s of processor time")
    print(f"first import inside {inside * 1000:.0f} ms")
    return [
        Bar("index of 1,000 operations, 5 MB", f"{index:.1f} s", f"{INDEX_SECONDS:g} s", index <= INDEX_SECONDS),
        Bar("first import inside", f"{inside:.2f} s", f"{IMPORT_SECONDS:g} s", inside <= IMPORT_SECONDS),
    ]


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("calls", "first", "all"))
    parser.add_argument("--image", default="", help="Docker image with Python; without it Docker is left out")
    parser.add_argument("--specs", type=Path, help="folder of real OpenAPI documents")
    parser.add_argument("--checkouts", type=Path, help="folder of the checkouts that tool_answers.toml names")
    options = parser.parse_args()
    bars: list[Bar] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["CODENAV_HOME"] = str(folder / "home")
        if options.what in ("calls", "all"):
            bars += calls(["bubblewrap", *(["docker"] if options.image else [])], options.image, folder)
        if options.what in ("first", "all"):
            bars += first(folder)
        if options.what == "all" and options.specs:
            files = sorted(file for file in options.specs.iterdir() if file.suffix in (".json", ".yaml", ".yml"))
            outcomes = [tool_requests.measure(file, tool_requests.CALLS, folder) for file in files]
            held = tool_requests.report(outcomes, 1)
            equal, made = sum(one.equal for one in outcomes), sum(one.calls for one in outcomes)
            bars.append(
                Bar(f"{len(files)} real documents: equal requests", f"{equal} of {made}", "all, or explained", held)
            )
        if options.what == "all" and options.checkouts:
            failed = tool_answers.report(tool_answers.cases(options.checkouts))
            bars.append(
                Bar("answers: field kept in the half put away", "see above", f"{tool_answers.BAR:.0%}", not failed)
            )
    print(f"\n{'':44}{'measured':>16}{'bar':>20}")
    for bar in bars:
        print(f"{bar.name:44}{bar.measured:>16}{bar.bar:>20}  {'met' if bar.held else 'NOT met'}")
    return int(not all(bar.held for bar in bars))


if __name__ == "__main__":
    sys.exit(main())
