"""JSON Schemas of several documents, gathered in one table that `#/schemas/NAME` refers to."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from codenav.tools.model import Schema
from codenav.tools.naming import unique

PREFIX = "#/schemas/"
DEEPEST = 60
"""Levels of schemas in schemas; what is below allows everything."""

SCHEMAS = {
    "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
    "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
}  # fmt: skip
LISTS = {"allOf", "anyOf", "oneOf", "prefixItems"}
TABLES = {"dependentSchemas", "patternProperties", "properties"}
DROPPED = {"$anchor", "$comment", "$defs", "$dynamicAnchor", "$id", "$schema", "definitions", "id"}
"""Definitions are found by the references to them."""


def add_parts(schema: dict[str, Any], key: str, parts: list[Any]) -> None:
    """Add `allOf`, `anyOf`, `oneOf` or `prefixItems` to a schema. One of several (`oneOf`) is any of them.

    Real documents have branches that a right value fits together; which one is meant, the server decides.
    """
    if key in ("anyOf", "oneOf") and "anyOf" in schema:
        schema.setdefault("allOf", []).append({"anyOf": parts})
    elif key == "allOf" and key in schema:
        schema[key] += parts
    else:
        schema["anyOf" if key == "oneOf" else key] = parts


class MovedSchemas:
    """The table. Schemas that documents define beside their own go into it."""

    def __init__(self) -> None:
        self.schemas: dict[str, Schema] = {}
        self.known: dict[str, str] = {}
        """Names by the words of the definitions that they stand for."""
        self.notes: list[str] = []
        """Sentences on what could not be taken over."""
        self._last: _Document | None = None

    def take(self, schema: Any, where: str, *, document: Any = None) -> Schema:
        """Return a schema with its references moved.

        Args:
            schema: The schema.
            where: Name of the schema for notes.
            document: The document that its references begin at, if that is not the schema itself.
        """
        root = schema if document is None else document
        if self._last is None or self._last.root is not root:
            self._last = _Document(root, self)
        return self._last.take(schema, where)

    def checked(self, schema: Any, where: str) -> tuple[Schema, str]:
        """Take a schema. Return it with its fault or that of a definition that came with it; else empty."""
        before = len(self.schemas)
        found = self.take(schema, where)
        new = list(self.schemas.items())[before:] if len(self.schemas) > before else []
        return found, next(filter(None, (_fault(one, name) for name, one in [("", found), *new])), "")

    def note(self, sentence: str) -> None:
        """Add a sentence, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)


class _Document:
    """One document with schemas; references in it begin at its root."""

    def __init__(self, root: Any, table: MovedSchemas) -> None:
        self.root, self._table, self._where = root, table, ""
        self._names: dict[str, str] = {}
        """Names in the table by reference."""
        self._waiting: list[tuple[str, Any]] = []
        """Definitions that are in the table by name only. One after another, chains of them may be long."""
        self._words: dict[str, tuple[str, list[str]]] = {}

    def take(self, schema: Any, where: str) -> Schema:
        self._where = where
        found = self.moved(schema, 0)
        while self._waiting:
            name, target = self._waiting.pop()
            self._table.schemas[name] = self.moved(target, 0)
        return found

    def moved(self, schema: Any, depth: int) -> Schema:
        if schema is False:
            return {"not": {}}
        if not isinstance(schema, Mapping):
            return {}
        if depth > DEEPEST:
            self._table.note(f"{self._where}: schemas more than {DEEPEST} levels deep allow everything")
            return {}
        found: dict[str, Any] = {}
        for key, value in schema.items():
            if key == "$ref" and isinstance(value, str):
                found |= self._reference(value)
            elif key in SCHEMAS and isinstance(value, Mapping | bool):
                found[key] = value if isinstance(value, bool) else self.moved(value, depth + 1)
            elif key in LISTS and isinstance(value, list):
                add_parts(found, key, [self.moved(item, depth + 1) for item in value])
            elif key == "items" and isinstance(value, list):
                # Before 2020-12 this was the word for what `prefixItems` says.
                found["prefixItems"] = [self.moved(item, depth + 1) for item in value]
            elif key in TABLES and isinstance(value, Mapping):
                found[key] = {str(name): self.moved(item, depth + 1) for name, item in value.items()}
            elif key == "pattern" and not is_expression(value):
                self._table.note(
                    f"{self._where}: the pattern {value!r} is no regular expression here, so it is not checked"
                )
            elif key not in DROPPED:
                found[key] = value
        return of_2020(found, null=found.pop("nullable", None) is True)

    def _reference(self, reference: str) -> Schema:
        if reference in self._names:
            return {"$ref": PREFIX + self._names[reference]}
        target = self._at(reference)
        if target is None:
            self._table.note(f"{self._where}: {reference!r} is not in the document, so everything is allowed there")
            return {}
        # A definition that another document has in the same words has the same name.
        words = self._closure(reference)
        name = self._table.known.get(words)
        if name is None:
            stem = re.sub(r"[^\w.-]+", "_", unquote(reference.rpartition("/")[2]).strip("#") or self._where)
            name = self._table.known[words] = unique(stem, self._table.schemas)
            self._table.schemas[name] = {}
            self._waiting.append((name, target))
        self._names[reference] = name
        return {"$ref": PREFIX + name}

    def _closure(self, reference: str) -> str:
        """Return what a reference means, in words that do not depend on the rest of the document."""
        reached: set[str] = set()
        wanted = [reference]
        while wanted:
            name = wanted.pop()
            if name not in reached:
                reached.add(name)
                wanted += self._told(name)[1]
        words = [reference.rpartition("/")[2], *sorted(name + self._told(name)[0] for name in reached)]
        return hashlib.sha256("\n".join(words).encode(errors="replace")).hexdigest()

    def _told(self, reference: str) -> tuple[str, list[str]]:
        """Return the words of a definition, shortened, and the references in it."""
        if reference not in self._words:
            target = self._at(reference)
            words = json.dumps(target, sort_keys=True, default=str).encode()
            self._words[reference] = hashlib.sha256(words).hexdigest(), _references(target)
        return self._words[reference]

    def _at(self, reference: str) -> Any:
        """Return the part of the document that a reference names; None if there is no such part."""
        if not reference.startswith("#"):
            return None
        found = self.root
        for part in reference[1:].split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(found, Mapping) and key in found:
                found = found[key]
            elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            else:
                return None
        return None if reference != "#" and found is self.root else found


def _references(node: Any) -> list[str]:
    found: list[str] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            if isinstance(part.get("$ref"), str):
                found.append(part["$ref"])
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return found


def _fault(schema: Schema, name: str) -> str:
    import jsonschema_rs

    try:
        jsonschema_rs.meta.validate(dict(schema))
    except jsonschema_rs.ValidationError as error:
        place = ".".join(map(str, (*([name] if name else []), *error.instance_path))) or "the whole"
        return f"{place}: {' '.join(error.message.split())[:300]}"
    return ""


def is_expression(pattern: Any) -> bool:
    """True for an expression that Python can work with; those of JavaScript are a little different."""
    try:
        re.compile(pattern)
    except (re.error, TypeError, RecursionError, OverflowError):
        return False
    return True


def of_2020(schema: dict[str, Any], *, null: bool) -> dict[str, Any]:
    """A schema, changed, with words of older dialects replaced: limits as `true`; `null`: it accepts null, too."""
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(exclusive), bool) and schema.pop(exclusive) and bound in schema:
            schema[exclusive] = schema.pop(bound)
    kind = schema.get("type") if null else None
    if kind:
        kinds = [kind] if isinstance(kind, str) else list(kind)
        schema["type"] = kinds if "null" in kinds else [*kinds, "null"]
        if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
    elif null:
        parts = {key: schema.pop(key) for key in ("allOf", "anyOf", "enum", "not", "properties") if key in schema}
        schema |= {"anyOf": [parts, {"type": "null"}]} if parts else {}
    return schema
