"""Compressed answers of tools: of how many is the field kept that answers the request?

    python benchmarks/tool_answers.py --checkouts FOLDER [--half tuning|"put away"] [--show API]

FOLDER holds checkouts of the public repositories named in `tool_answers.toml`, as FOLDER/OWNER/NAME, at the commits
named there. Beside the compressor stands its rival: the first 1,024 characters of the answer.
"""

from __future__ import annotations

import argparse
import copy
import gzip
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from codenav.tools.broker.compress import LIMIT, compressed, text_of
from codenav.tools.model import Operation, Schema
from codenav.tools.reading import read_spec

CASES = Path(__file__).resolve().parent / "tool_answers.toml"
GZIP = b"\x1f\x8b"
BAR = 0.9
"""Part of the half put away whose field is kept."""


@dataclass(frozen=True)
class Case:
    """An answer with a request and the field that answers it."""

    api: str
    half: str
    request: str
    field: tuple[str, ...]
    answer: Any
    operation: Operation
    schemas: Mapping[str, Schema]

    def shown(self, answer: Any) -> str:
        """An answer as our compressor shows it."""
        return compressed(self.operation, self.schemas, self.request, answer)


def cases(checkouts: Path) -> list[Case]:
    """The cases, their answers taken from checkouts."""
    found = []
    for row in tomllib.loads(CASES.read_text(encoding="utf-8"))["answer"]:
        file = checkouts / row["file"]
        answer = pointed(document(file), row["at"]) if "at" in row else bodies(file)[row["record"]]
        if isinstance(answer, str):
            answer = json.loads(answer)
        # Dates of YAML become texts, as they are on the wire.
        answer = json.loads(json.dumps(answer, default=str))
        operation, schemas = described(checkouts, row)
        field = tuple(row["field"].strip("/").split("/"))
        found.append(Case(row["api"], row["half"], row["request"], field, answer, operation, schemas))
    return found


def described(checkouts: Path, row: Mapping[str, Any]) -> tuple[Operation, Mapping[str, Schema]]:
    """The operation of a case and the schemas of its spec; only its name where the API has no spec."""
    method, _, path = row["operation"].partition(" ")
    if "spec" not in row:
        return Operation(row["operation"], row["operation"], method=method, path=path), {}
    spec = spec_of(checkouts / row["spec"])
    for operation in spec.operations:
        if (operation.method, operation.path) == (method, path):
            return operation, spec.schemas
    raise SystemExit(
        f"{row['spec']} has no operation {row['operation']}: is the checkout at the commit of {CASES.name}?"
    )


@cache
def spec_of(file: Path) -> Any:
    """A spec as codenav reads it."""
    return read_spec(f"openapi:{file}")


@cache
def document(file: Path) -> Any:
    """A document of YAML or JSON."""
    import yaml

    text = file.read_text(encoding="utf-8")
    return (
        json.loads(text) if file.suffix == ".json" else yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    )


def pointed(document: Any, pointer: str) -> Any:
    """The value at a JSON pointer; references on the way are followed."""

    def real(value: Any) -> Any:
        while isinstance(value, dict) and str(value.get("$ref", "")).startswith("#/"):
            value = pointed(document, value["$ref"][1:])
        return value

    value = document
    for step in pointer.split("/")[1:]:
        value = real(value)
        step = step.replace("~1", "/").replace("~0", "~")
        value = value[int(step)] if isinstance(value, list) else value[step]
    return real(value)


@cache
def bodies(file: Path) -> list[Any]:
    """The JSON bodies of a recording: of PyGithub's lines, or of a cassette."""
    if file.suffix == ".txt":
        lines = file.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.startswith(('{"', "[{"))]
    recording = document(file)
    found = []
    for exchange in recording.get("http_interactions") or recording["interactions"]:
        response = exchange["response"]
        body = (response.get("body") or {}).get("string") or response.get("content") or ""
        body = gzip.decompress(body) if isinstance(body, bytes) and body.startswith(GZIP) else body
        try:
            found.append(json.loads(body))
        except ValueError:
            found.append(None)
    return found


def changed(value: Any) -> Any:
    """Another value of the same type and length."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1 if len(str(value + 1)) == len(str(value)) else value - 1
    return "".join(chr(ord(letter) + 1) if letter.isalnum() else letter for letter in value)


def keeps(case: Case, shown: Callable[[Any], str]) -> bool:
    """True if the text shows the field: its value stands there, and another value makes another text."""
    other = copy.deepcopy(case.answer)
    node = other
    for step in case.field[:-1]:
        node = node[int(step)] if isinstance(node, list) else node[step]
    last: Any = int(case.field[-1]) if isinstance(node, list) else case.field[-1]
    value, node[last] = node[last], changed(node[last])
    text = shown(case.answer)
    # Of a long text its beginning is enough.
    return json.dumps(value, ensure_ascii=False)[:60].rstrip('"') in text and shown(other) != text


def main() -> int:
    """Print a table by API and the bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkouts", type=Path, required=True)
    parser.add_argument("--half", choices=("tuning", "put away"))
    parser.add_argument("--show", default="", help="print the answers of this API as shown")
    options = parser.parse_args()
    chosen = [case for case in cases(options.checkouts) if options.half in (None, case.half)]
    return report(chosen, options.show)


def report(chosen: list[Case], show: str = "") -> int:
    """Print a table by API and the bar. The exit code."""
    total, ours, rivals, longest = Counter[str](), Counter[str](), Counter[str](), 0
    for case in chosen:
        text = case.shown(case.answer)
        longest = max(longest, len(text))
        kept = keeps(case, case.shown)
        rival = keeps(case, lambda answer: text_of(answer)[:LIMIT])
        for name in (case.api, f"half: {case.half}"):
            total[name] += 1
            ours[name] += kept
            rivals[name] += rival
        if show in (case.api, "all") or (show == "lost" and not kept):
            print(f"\n--- {case.api} {case.operation.id}: {case.request}")
            print(f"{'kept' if kept else 'LOST'} {'/'.join(case.field)}\n{text}")
    print(f"\n{'':20} {'answers':>8} {'kept':>6} {'first 1,024':>12}")
    for name in total:
        print(f"{name:20} {total[name]:8} {ours[name]:6} {rivals[name]:12}")
    print(f"longest: {longest} characters (bar: {LIMIT})")
    away = "half: put away"
    passed = longest <= LIMIT and (away not in total or ours[away] >= BAR * total[away])
    if away in total:
        print(f"kept in the half put away: {ours[away] / total[away]:.0%} (bar: {BAR:.0%})")
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main())
