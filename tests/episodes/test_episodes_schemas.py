"""The schemas describe what is really written, and docs/record-format.md tells the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from codenav.core import schemas
from codenav.core.blocks import BlockKind, CodeBlock, FileSkip, Hit, IndexStats, LineSpan, SearchResult
from codenav.core.errors import NotFound
from codenav.core.events import Event, Status, ToolCalled
from codenav.core.execution import Display, Execution, ExecutionError, Outcome, Variable
from codenav.episodes.record import EpisodeResult
from codenav.episodes.store import EpisodeStore

PAGE = Path(__file__).resolve().parents[2] / "docs" / "record-format.md"
BLOCK = CodeBlock("0a", BlockKind.CLASS, "A", "m.A", "m.py", LineSpan(1, 2), "class A: ...")


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schemas.load(name))


def errors(name: str, document: object) -> list[str]:
    return [error.message for error in validator(name).iter_errors(document)]


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    """Every object inside a schema."""
    if isinstance(node, dict):
        yield node
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from nodes(value)


def test_names() -> None:
    assert {
        "block", "index", "sources-show", "sources-list", "search", "execution", "episode", "episodes-list", "event",
        "rows", "elasticsearch-status", "show", "callers", "callees", "outline", "reference", "index-list",
        "index-watch",
    } <= set(schemas.names())  # fmt: skip
    with pytest.raises(NotFound) as caught:
        schemas.load("episod")
    assert caught.value.hint == "did you mean episode?"
    for name in ("", "../__init__", "xyz"):
        with pytest.raises(NotFound) as caught:
            schemas.load(name)
        assert caught.value.hint.startswith("schemas: block, ")


@pytest.mark.parametrize("name", schemas.names())
def test_each_schema_is_valid_closed_and_explained(name: str) -> None:
    schema = schemas.load(name)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:codenav:schema:{name}"
    for node in nodes(schema):
        for key, value in node.get("properties", {}).items():
            told = "description" in value or "const" in value or "properties" in value or key == "observation"
            assert told, f"{name}: {key} has no description"
    assert schemas.load(name) == schema, "loading twice gives the same"


def test_what_indexes_and_searches_give() -> None:
    stats = IndexStats(
        "pkg:x", "embedded", 1, 2, {"CLASS": 2}, {"python": 2}, {"x": "1"}, "", [FileSkip("a", "binary")]
    )
    assert not errors("index", stats.to_dict(details=False))
    assert not errors("sources-show", stats.to_dict())
    assert not errors("sources-list", [stats.to_dict()])
    assert errors("index", stats.to_dict()) and errors("sources-show", stats.to_dict(details=False))
    assert not errors("block", BLOCK.to_dict())
    found = SearchResult("q", [Hit.of(BLOCK, score=-1.5)], 3, "q", ["mended"])
    assert not errors("search", found.to_dict())
    assert errors("block", found.to_dict()["hits"][0])
    assert errors("search", {**found.to_dict(), "more": 1})


@pytest.mark.parametrize("outcome", Outcome)
def test_what_code_gives(outcome: Outcome) -> None:
    error = ExecutionError("E", "m", line_number=None)
    done = Execution(outcome, changed=[Variable("a", "b", "c")], error=error, displays=[Display("image/png", b"x")])
    assert not errors("execution", done.to_dict())
    assert not errors("execution", Execution(outcome).to_dict())
    assert errors("execution", {**done.to_dict(), "outcome": "fine"})
    assert errors("execution", {**done.to_dict(), "checks": []})


def test_a_real_episode(recorded: Callable[..., EpisodeResult], store: EpisodeStore) -> None:
    result = recorded()
    assert not errors("episode", result.to_dict())
    assert not errors("episode", recorded(upto=3).to_dict())
    assert not errors("episode", EpisodeResult("", "r", Status.ERROR, reason="x", exit_code=4).to_dict())
    assert not errors("episodes-list", [row.to_dict() for row in store.list()])
    assert result.folder is not None
    lines = (result.folder / "events.jsonl").read_text().splitlines()
    assert [error for line in lines for error in errors("event", json.loads(line))] == []


def test_a_real_stream(events: Callable[..., list[Event]]) -> None:
    assert [error for event in events() for error in errors("event", event.to_dict())] == []


@pytest.mark.parametrize(
    "path",
    [
        ("status",),
        ("summary", "verified"),
        ("usage", "requests"),
        ("sandbox", "isolated"),
        ("limits", "steps"),
        ("steps", 0, "observation", 0, "hits", 0, "lines"),
        ("steps", 1, "observation", "rule"),
        ("steps", 2, "observation", "checks", 0, "findings", 0, "line_number"),
        ("steps", 2, "observation", "error", "line"),
        ("steps", 6, "observation", "verified"),
        ("steps", 7, "observation", "gave_up"),
        ("steps", 7, "action", "type"),
    ],
)
def test_a_wrong_value_anywhere_is_found(recorded: Callable[..., EpisodeResult], path: tuple[Any, ...]) -> None:
    def changed(edit: Callable[[Any, Any], object]) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(json.dumps(recorded().to_dict()))
        place: Any = document
        for key in path[:-1]:
            place = place[key]
        edit(place, path[-1])
        return document

    assert errors("episode", changed(lambda place, key: place.update({key: {"no": 1}})))
    assert errors("episode", changed(lambda place, key: place.update({"unknown": 1})))
    if path[0] != "sandbox":
        assert errors("episode", changed(lambda place, key: place.pop(key)))


def example() -> list[str]:
    found = re.search(r"```jsonl\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found.group(1).splitlines()


def test_the_example_of_the_docs_is_a_record() -> None:
    for line in example():
        assert errors("event", json.loads(line)) == []
        assert json.dumps(json.loads(line), ensure_ascii=False, separators=(",", ":")) == line
    result = EpisodeResult.from_events(example())
    assert (result.status, result.answer, result.summary.verified) == (Status.DONE, "3.0", True)
    assert [step.action.type for step in result.steps] == ["search", "code", "done"]
    assert not errors("episode", result.to_dict())
    assert {json.loads(line)["event"] for line in example()} == {
        "run_started", "acted", "observed", "noticed", "run_ended",
    }  # fmt: skip


def test_the_example_of_a_call_is_an_event() -> None:
    (line,) = re.findall(r'^{"event":"called".*}$', PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert errors("event", json.loads(line)) == []
    assert ToolCalled.from_dict(json.loads(line)).to_dict() == json.loads(line)


def test_the_docs_explain_every_key() -> None:
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_]+)`", text))
    for name in ("episode", "event", "execution"):
        schema = schemas.load(name)
        own = {key: value for key, value in schema.get("$defs", {}).items() if key not in schemas.names()}
        for node in nodes({**schema, "$defs": own}):
            missing = {key for key in node.get("properties", {})} - named
            assert not missing, f"{name}: {missing} not explained"
