"""Real OpenAPI documents: are all operations there, and are our requests those of an independent implementation?

    python benchmarks/tool_requests.py FOLDER [--calls 100] [--differences N]

FOLDER holds documents (`*.json`, `*.yaml`). For each one: every operation is a block of the index and a function of
the stubs, mypy finds nothing in the stubs; then calls are drawn with schemathesis, which also writes each of them as a
request of its own. Arguments as drawn must be accepted, those spoilt in one place refused. schemathesis is no
dependency of codenav: install it beside it, or put its folder on PYTHONPATH.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import yaml
from tool_bodies import read_body
from tool_draws import arguments_of, drawn, plain_type, prepared, repaired

from codenav.tools.broker.arguments import ArgumentChecker
from codenav.tools.broker.flights import Refused
from codenav.tools.broker.request import Unsendable, build
from codenav.tools.layout import laid_out
from codenav.tools.model import Operation, ToolSpec
from codenav.tools.places import parse
from codenav.tools.state_files import OPERATIONS, read_spec_of

SERVER = "https://service.example"
CALLS = 100
OWN_HEADERS = frozenset(
    ("accept", "accept-encoding", "connection", "content-length", "content-type", "cookie", "host", "user-agent",
     "x-schemathesis-testcaseid")
)  # fmt: skip
"""Headers that belong to a client, not to a call."""


@dataclass
class Outcome:
    """What was found about one document."""

    name: str
    operations: int = 0
    blocks: int = 0
    functions: int = 0
    typed: str = ""
    calls: int = 0
    equal: int = 0
    differences: list[tuple[str, str]] = field(default_factory=list)
    """The kind of each difference, and an example."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Drawn calls that say nothing about our requests, by reason."""
    accepted: int = 0
    refusals: list[str] = field(default_factory=list)
    spoilt: int = 0
    spoilt_refused: int = 0
    passed: list[str] = field(default_factory=list)
    """Spoilt arguments that were accepted."""


@dataclass(frozen=True)
class Sent:
    """A request in a form that can be compared."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    headers: tuple[tuple[str, str], ...]
    cookies: tuple[tuple[str, str], ...]
    body: Any

    def differences(self, other: Sent) -> Iterator[tuple[str, str]]:
        """The parts that differ, each with both values."""
        for name in ("method", "path", "query", "headers", "cookies", "body"):
            ours, theirs = getattr(self, name), getattr(other, name)
            # An empty object is left of a body whose properties the schema does not name.
            if ours != theirs and not (name == "body" and not ours and not theirs):
                yield name, f"ours {ours!r}\n        theirs {theirs!r}"


def normal(method: str, url: str, headers: Mapping[str, str], body: bytes | str | None) -> Sent:
    """A request without what differs between clients and means nothing: order of headers, ways to quote, boundaries."""
    parts = urlsplit(url)
    lower = {name.lower(): _text(value) for name, value in headers.items()}
    cookies = [pair.strip().partition("=")[::2] for pair in lower.get("cookie", "").split(";") if pair.strip()]
    return Sent(
        method.upper(),
        "/".join(unquote(part) for part in parts.path.split("/")),
        tuple(sorted(parse_qsl(parts.query, keep_blank_values=True), key=lambda pair: pair[0])),
        tuple(sorted((name, value) for name, value in lower.items() if name not in OWN_HEADERS)),
        tuple(sorted((name, unquote(value)) for name, value in cookies)),
        read_body(lower.get("content-type", ""), body.encode() if isinstance(body, str) else body or b""),
    )


def spoilt(operation: Operation, given: Mapping[str, Any], draw: random.Random) -> dict[str, Any]:
    """Arguments with one of them missing, unknown, or of a wrong type."""
    required = [item.name for item in operation.parameters if item.required and item.name in given]
    typed = [item for item in operation.parameters if item.name in given and plain_type(item)]
    ways = ["unknown", *(["missing"] if required else []), *(["type"] * 2 if typed else [])]
    way = draw.choice(ways)
    other = dict(given)
    if way == "unknown":
        other["no_such_argument"] = 1
    elif way == "missing":
        del other[draw.choice(required)]
    else:
        item = draw.choice(typed)
        other[item.name] = {"string": ["a list"], "array": 7.5, "object": "a text"}.get(plain_type(item), {"a": "dict"})
    return other


def measure(file: Path, calls: int, folder: Path) -> Outcome:
    """All that is asked of one document."""
    outcome = Outcome(file.stem)
    state = laid_out(parse(f"openapi:{file}"))
    spec = read_spec_of(state.path)
    outcome.operations = operations_in(_document(file))
    outcome.blocks = len(list((state.path / OPERATIONS).rglob("*.tool")))
    outcome.functions = importable(state.stubs, spec, folder)
    outcome.typed = typed(state.stubs, folder)
    checker = ArgumentChecker(spec.schemas)
    draw = random.Random(0)
    by_id = {item.id: item for item in spec.operations}
    for name, case in drawn(repaired(_document(file)), calls):
        operation = by_id.get(name)
        if operation is None:
            outcome.differences.append(("no operation", name))
            continue
        reason = prepared(operation, case)
        if reason:
            outcome.left_out[reason] += 1
            continue
        compare(outcome, operation, spec, case, checker, draw)
    return outcome


def compare(
    outcome: Outcome, operation: Operation, spec: ToolSpec, case: Any, checker: ArgumentChecker, draw: random.Random
) -> None:
    """Compare one drawn call with our request, and check its arguments as drawn and spoilt."""
    outcome.calls += 1
    given, credentials, whole = arguments_of(operation, spec, case)
    if not whole:
        outcome.differences.append(("arguments that we do not have", f"{operation.id}: {case}"))
        return
    try:
        checker.check(operation.name, operation, given)
        outcome.accepted += 1
    except Refused as refusal:
        if ", format int" in str(refusal):
            outcome.left_out["a number beyond its format (int32), which schemathesis does not heed"] += 1
            outcome.calls -= 1
            return
        outcome.refusals.append(f"{operation.id}: {refusal}")
    other = spoilt(operation, given, draw)
    outcome.spoilt += 1
    try:
        checker.check(operation.name, operation, other)
        outcome.passed.append(f"{operation.id}: {other!r}")
    except Refused:
        outcome.spoilt_refused += 1
    try:
        request = build(operation, given, SERVER, credentials)
    except Unsendable as problem:
        outcome.differences.append((f"not sent by us: {problem}", operation.id))
        return
    ours = normal(request.method, request.url, dict(request.headers), request.body)
    found = list(ours.differences(theirs(case)))
    if not found:
        outcome.equal += 1
    outcome.differences += [(kind, f"{operation.id}: {text}") for kind, text in found[:1]]


def theirs(case: Any) -> Sent:
    """The request that schemathesis makes of a call."""
    import requests

    wanted = case.as_transport_kwargs(base_url=SERVER)
    names = ("method", "url", "headers", "files", "data", "json", "params", "cookies")
    made = requests.Request(**{name: wanted[name] for name in names if name in wanted}).prepare()
    return normal(made.method or "", made.url or "", dict(made.headers), made.body)


def operations_in(document: Any) -> int:
    """The number of operations in a document, counted by hand."""
    methods = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
    return sum(method in methods for item in document["paths"].values() for method in item)


def importable(stubs: Path, spec: ToolSpec, folder: Path) -> int:
    """The number of operations that can be imported as functions from the stubs."""
    code = (
        "import importlib, json, sys\n"
        f"sys.path.insert(0, {str(stubs)!r})\n"
        f"package = importlib.import_module('tools.{spec.name}')\n"
        f"print(sum(callable(getattr(package, name)) for name in json.loads({_names(spec)!r})))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, check=False)
    return int(ran.stdout or 0)


def typed(stubs: Path, folder: Path) -> str:
    """`clean`, or the last line of mypy."""
    command = [sys.executable, "-m", "mypy", "--strict", "--namespace-packages", "--explicit-package-bases", "tools"]
    options = [f"--cache-dir={folder / 'mypy'}", "--python-executable", sys.executable]
    ran = subprocess.run([*command, *options], capture_output=True, text=True, cwd=stubs, check=False)
    return "clean" if ran.returncode == 0 else (ran.stdout + ran.stderr).strip().splitlines()[-1]


def _names(spec: ToolSpec) -> str:
    return json.dumps([item.name for item in spec.operations])


def _document(file: Path) -> Any:
    text = file.read_text(encoding="utf-8")
    return json.loads(text) if file.suffix == ".json" else yaml.safe_load(text)


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def report(outcomes: list[Outcome], shown: int) -> bool:
    """Print the table, then each kind of difference with examples. True if the bars hold."""
    heads = ("operations", "blocks", "functions", "mypy", "calls", "equal", "accepted", "spoilt", "refused")
    print(f"{'document':12}" + "".join(f"{head:>11}" for head in heads))
    for one in outcomes:
        cells = (
            one.operations, one.blocks, one.functions, one.typed[:10], one.calls, one.equal, one.accepted, one.spoilt,
            one.spoilt_refused,
        )  # fmt: skip
        print(f"{one.name:12}" + "".join(f"{cell:>11}" for cell in cells))
    for one in outcomes:
        kinds = Counter(kind for kind, _ in one.differences)
        for kind, count in kinds.most_common():
            print(f"\n{one.name}: {kind}: {count}")
            for _, example in [pair for pair in one.differences if pair[0] == kind][:shown]:
                print(f"    {example[:600]}")
        for reason, count in one.left_out.items():
            print(f"\n{one.name}: left out: {count}: {reason}")
        for title, examples in (("refused as drawn", one.refusals), ("accepted though spoilt", one.passed)):
            if examples:
                print(f"\n{one.name}: {title}: {len(examples)}")
                for example in examples[:shown]:
                    print(f"    {example[:400]}")
    return all(
        one.operations == one.blocks == one.functions and one.typed == "clean" and one.accepted == one.calls
        and one.spoilt == one.spoilt_refused
        for one in outcomes
    )  # fmt: skip


def main() -> int:
    """Print the table of all documents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--differences", type=int, default=3, help="examples of each kind of difference")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        for file in sorted(options.folder.iterdir()):
            if file.suffix in (".json", ".yaml", ".yml") and options.only in file.stem:
                outcomes.append(measure(file, options.calls, Path(folder)))
    return int(not report(outcomes, options.differences))


if __name__ == "__main__":
    sys.exit(main())
