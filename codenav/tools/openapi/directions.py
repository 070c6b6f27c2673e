"""Schemas by direction: what only a server sets is no part of a request, what only a client sends none of an answer.

Also here: references that lead back to themselves without going down into a value, which no validator can follow.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any

from codenav.tools.model import Schema
from codenav.tools.naming import unique
from codenav.tools.schemas import LISTS, PREFIX, SCHEMAS, TABLES

SAME_VALUE = {"allOf", "anyOf", "dependentSchemas", "else", "if", "not", "then"}
"""Keywords with schemas of the same value."""
MOST_PARTS = 200
"""Schemas that one may be made of for their properties to be seen as its own."""


def within(schema: Schema, *, in_place: bool = False) -> Iterator[dict[str, Any]]:
    """A schema and all schemas in it; `in_place`: only those that look at the same value."""
    waiting: list[Any] = [schema]
    while waiting:
        found = waiting.pop()
        yield found
        for key, item in found.items():
            if in_place and key not in SAME_VALUE:
                continue
            if key in TABLES:
                waiting += item.values()
            elif key in LISTS:
                waiting += item
            elif key in SCHEMAS and isinstance(item, dict):
                waiting.append(item)


def references(schema: Schema, *, in_place: bool = False) -> Iterator[dict[str, Any]]:
    """The schemas in a schema, itself included, that hold a `$ref`."""
    return (found for found in within(schema, in_place=in_place) if isinstance(found.get("$ref"), str))


def cut_circles(schemas: Mapping[str, Schema], note: Callable[[str], None]) -> None:
    """Take out the references by which a value would have to be checked against itself for ever."""
    done: set[str] = set()
    for start in schemas:
        trail: list[tuple[str, Iterator[dict[str, Any]]]] = []
        on_trail: set[str] = set()
        if start not in done:
            trail.append((start, references(schemas[start], in_place=True)))
            on_trail.add(start)
        while trail:
            name, waiting = trail[-1]
            holder = next(waiting, None)
            if holder is None:
                done.add(name)
                on_trail.discard(name)
                trail.pop()
                continue
            target = holder["$ref"].removeprefix(PREFIX)
            if target in on_trail:
                del holder["$ref"]
                note(f"the schema {target} consists of itself: anything is accepted there")
            elif target not in done and target in schemas:
                trail.append((target, references(schemas[target], in_place=True)))
                on_trail.add(target)


class Directions:
    """Variants of schemas for requests and answers; a schema that is the same in both has none."""

    def __init__(self, schemas: dict[str, Schema], flags: Container[str]) -> None:
        """flags: those of `readOnly` and `writeOnly` that any schema holds."""
        self.schemas = schemas
        self.variants: dict[str, dict[str, str]] = {"readOnly": {}, "writeOnly": {}}
        """The names of variants by those of their schemas."""
        names = list(schemas)
        for flag, ending in (("readOnly", "Request"), ("writeOnly", "Answer")):
            variants = self.variants[flag]
            reached = self._reach(names, flag) if flag in flags else set[str]()
            for name in filter(reached.__contains__, names):
                variants[name] = unique(f"{name}.{ending}", schemas)
                schemas[variants[name]] = {}
            for name, variant in variants.items():
                schemas[variant] = self._changed(schemas[name], flag)

    def of_request(self, schema: Schema) -> Schema:
        """A schema without the properties that only the server sets."""
        return self._directed(schema, "readOnly")

    def of_answer(self, schema: Schema) -> Schema:
        """A schema that requires no property that only the client sends."""
        return self._directed(schema, "writeOnly")

    def _reach(self, names: list[str], flag: str) -> set[str]:
        """The schemas that hold the flag, or refer to one that does."""
        users: dict[str, list[str]] = {}
        found = set()
        for name in names:
            if _flagged(self.schemas[name], flag):
                found.add(name)
            for holder in references(self.schemas[name]):
                users.setdefault(holder["$ref"].removeprefix(PREFIX), []).append(name)
        waiting = list(found)
        while waiting:
            for user in users.get(waiting.pop(), ()):
                if user not in found:
                    found.add(user)
                    waiting.append(user)
        return found

    def _directed(self, schema: Schema, flag: str) -> Schema:
        variants = self.variants[flag]
        targets = (holder["$ref"].removeprefix(PREFIX) for holder in references(schema))
        return self._changed(schema, flag) if _flagged(schema, flag) or any(map(variants.get, targets)) else schema

    def _changed(self, schema: Schema, flag: str, hidden: frozenset[str] = frozenset()) -> Schema:
        hidden |= self._hidden(schema, flag)
        made = dict(schema)
        reference = made.get("$ref")
        if isinstance(reference, str) and (name := reference.removeprefix(PREFIX)) in self.variants[flag]:
            made["$ref"] = PREFIX + self.variants[flag][name]
        if "required" in made:
            made["required"] = [name for name in made["required"] if name not in hidden]
            if not made["required"]:
                del made["required"]
        for key, value in schema.items():
            if key in TABLES:
                made[key] = {
                    name: self._changed(item, flag)
                    for name, item in value.items()
                    if not (key == "properties" and flag == "readOnly" and name in hidden)
                }
            elif key in LISTS:
                below = hidden if key == "allOf" else frozenset[str]()
                made[key] = [self._changed(item, flag, below) for item in value]
            elif key in SCHEMAS and isinstance(value, dict):
                made[key] = self._changed(value, flag)
        return made

    def _hidden(self, schema: Schema, flag: str) -> frozenset[str]:
        """The properties with the flag of a schema, those of the schemas that it is made of included."""
        found: set[str] = set()
        seen: set[str] = set()
        waiting = [schema]
        while waiting:
            part = waiting.pop()
            found.update(
                name
                for name, item in part.get("properties", {}).items()
                if item.get(flag) or self._top(item).get(flag)
            )  # fmt: skip
            waiting += part.get("allOf", ())
            reference = part.get("$ref")
            if isinstance(reference, str) and reference not in seen and len(seen) < MOST_PARTS:
                seen.add(reference)
                waiting.append(self.schemas.get(reference.removeprefix(PREFIX), {}))
        return frozenset(found)

    def _top(self, schema: Schema) -> Schema:
        """The schema that a reference names; not further."""
        reference = schema.get("$ref")
        return self.schemas.get(reference.removeprefix(PREFIX), {}) if isinstance(reference, str) else schema


def _flagged(schema: Schema, flag: str) -> bool:
    """True if a schema or one directly in it holds the flag."""
    return any(found.get(flag) for found in within(schema))
