"""Schemas of OpenAPI's versions, of MCP and of functions as JSON Schema 2020-12, in one table per specification.

A reference in the result leads to `#/schemas/NAME`, into that table.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from codenav.tools.model import Schema
from codenav.tools.naming import unique
from codenav.tools.references import Documents, Place, Unresolved

PREFIX = "#/schemas/"
SCHEMAS = {
    "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
    "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
}  # fmt: skip
LISTS = {"allOf", "anyOf", "oneOf", "prefixItems"}
TABLES = {"dependentSchemas", "patternProperties", "properties"}
TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
KINDS = TYPES | {"file"}
NUMBERS = ("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf")
COUNTS = (
    "maxContains", "maxItems", "maxLength", "maxProperties", "minContains", "minItems", "minLength", "minProperties",
)  # fmt: skip
FLAGS = ("deprecated", "readOnly", "uniqueItems", "writeOnly")
TEXTS = ("contentEncoding", "contentMediaType", "description", "format", "title")
LEFT_OUT = {
    "$anchor", "$comment", "$defs", "$dynamicAnchor", "$id", "$recursiveAnchor", "$schema", "collectionFormat",
    "definitions", "externalDocs", "id", "nullable", "xml",
}  # fmt: skip
"""Definitions are found by the references to them."""
_DIALECTS = ("https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#",
             "http://json-schema.org/draft-04/schema#")  # fmt: skip
_MAY_BE: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(NUMBERS, lambda item: isinstance(item, int | float) and not isinstance(item, bool)),
    **dict.fromkeys(COUNTS, lambda item: isinstance(item, int) and not isinstance(item, bool) and item >= 0),
    **dict.fromkeys(TEXTS, lambda item: isinstance(item, str)),
    "const": lambda item: True,
    "default": lambda item: True,
    "dependentRequired": lambda item: isinstance(item, Mapping),
    "enum": lambda item: isinstance(item, list) and bool(item),
    "examples": lambda item: isinstance(item, list),
    "pattern": lambda item: isinstance(item, str) and _is_expression(item),
}
"""Keywords that are taken over as they are, each with what its value may be."""


class Schemas:
    """The schemas of a specification, converted when they are referred to."""

    def __init__(self, library: Documents, version: str, note: Callable[[str], None]) -> None:
        """`version`: of OpenAPI; empty for plain JSON Schema of any age."""
        self.library = library
        self.plain = not version
        self.dialect = version not in ("2.0", "3.0")
        """True for plain schemas, and those of 3.1 and later, which are of 2020-12."""
        self.note = note
        self.found: dict[str, Schema] = {}
        """The converted schemas by name."""
        self.names: dict[tuple[str, str], str] = {}
        self.flags: set[str] = set()
        """Those of `FLAGS` that are true in any schema."""
        self.waiting: list[tuple[str, Place]] = []

    def convert(self, place: Place) -> dict[str, Any]:
        """The schema at a place; all that it refers to is in `found` afterwards."""
        made = self._convert(place)
        while self.waiting:
            name, target = self.waiting.pop()
            self.found[name] = self._convert(target)
        return made

    def _convert(self, place: Place) -> dict[str, Any]:
        value = place.value
        if value is True or value is None:
            return {}
        if value is False:
            return {"not": {}}
        if not isinstance(value, Mapping):
            self.note(f"{place.pointer}: is no schema: anything is accepted there")
            return {}
        if isinstance(value.get("$ref"), str):
            return self._reference(place)
        made: dict[str, Any] = {}
        for key, item in value.items():
            self._keyword(place, made, key, item)
        if not self.dialect or self.plain:
            _of_2020(made, null=value.get("nullable") in (True, "true") or value.get("x-nullable") is True)
        if made.get("type") == "file":
            made["type"], made["format"] = "string", "binary"
        if not self.plain and "contentMediaType" in made and "contentEncoding" not in made and "format" not in made:
            kind = made["contentMediaType"]
            if made.get("type", "string") == "string" and not re.match(r"text/|application/(\S*\+)?(json|xml)", kind):
                made["type"], made["format"] = "string", "binary"
        return made

    def _keyword(self, place: Place, made: dict[str, Any], key: str, item: Any) -> None:
        """Convert one keyword; one of the wrong type is left out and noted."""
        fine = True
        if key in SCHEMAS:
            if key == "items" and isinstance(item, list) and self.plain:
                # Before 2020-12 this was the word for what `prefixItems` says.
                made["prefixItems"] = [self._convert(place.at(key, number)) for number in range(len(item))]
            elif isinstance(item, bool):
                made[key] = item
            elif fine := isinstance(item, Mapping):
                made[key] = self._convert(place.at(key))
        elif key in LISTS:
            if (fine := isinstance(item, list)) and item:
                _add_parts(made, key, [self._convert(place.at(key, number)) for number in range(len(item))])
        elif key in TABLES:
            table = self._table(place.at(key))
            if fine := isinstance(table.value, Mapping):
                made[key] = {name: self._convert(table.at(name)) for name in table.value}
        elif key == "type":
            kinds = [item] if isinstance(item, str) else item if isinstance(item, list) else []
            known = list(dict.fromkeys(kind for kind in kinds if isinstance(kind, str) and kind in KINDS))
            fine = bool(known) and len(known) == len(kinds)
            if known:
                made[key] = known[0] if isinstance(item, str) or len(known) == 1 else known
        elif key in ("exclusiveMaximum", "exclusiveMinimum") and isinstance(item, bool):
            made.update({key: item} if self.plain or not self.dialect else {})
        elif key in _MAY_BE:
            if fine := _MAY_BE[key](item):
                made[key] = item
        elif key in FLAGS:
            fine = isinstance(item, bool) or item in ("true", "false")
            made[key] = item is True or item == "true"
            if made[key]:
                self.flags.add(key)
        elif key == "required":
            # A boolean is the property's own flag of JSON Schema 3: the owner of the property reads it.
            if isinstance(item, list):
                names = list(dict.fromkeys(name for name in item if isinstance(name, str)))
                fine = len(names) == len(item)
                if names:
                    made[key] = names
            else:
                fine = False
        elif key == "example":
            made.setdefault("examples", [item])
        elif key == "discriminator":
            made[key] = self._discriminator(place.at(key))
        elif key not in LEFT_OUT and not key.startswith("x-") and not self.plain:
            self.note(f"{place.pointer}: a schema has no key {key!r}: left out")
        if not fine:
            self.note(f"{place.pointer}/{key}: is not what a schema may have there: left out")

    def _table(self, place: Place) -> Place:
        """A table of schemas; it may be one of another file."""
        try:
            return self.library.resolve(place, beside=None)
        except Unresolved as error:
            self.note(f"{place.pointer}: {error}: left out")
            return Place({}, place.document, place.pointer)

    def _discriminator(self, place: Place) -> Any:
        """The discriminator as an annotation, its targets under their names here."""
        value = place.value
        if isinstance(value, str):
            return {"propertyName": value}
        if not isinstance(value, Mapping):
            return {}
        made = {"propertyName": value.get("propertyName", "")}
        mapping = value.get("mapping")
        if isinstance(mapping, Mapping):
            made["mapping"] = found = {}
            for key, target in mapping.items():
                if not isinstance(target, str):
                    continue
                if re.fullmatch(r"[\w.-]+", target) and not target.endswith((".json", ".yaml", ".yml")):
                    target = f"#/components/schemas/{target}"
                try:
                    found[key] = f"{PREFIX}{self.name(self.library.target(target, place.document))}"
                except Unresolved as error:
                    self.note(f"{place.pointer}/mapping/{key}: {error}: left out")
        return made

    def _reference(self, place: Place) -> dict[str, Any]:
        value = place.value
        try:
            target = self.library.target(value["$ref"], place.document)
        except Unresolved as error:
            self.note(f"{place.pointer}: {error}: anything is accepted there")
            return {key: value[key] for key in ("title", "description") if isinstance(value.get(key), str)}
        made: dict[str, Any] = {"$ref": PREFIX + self.name(target)}
        if self.dialect:
            for key, item in value.items():
                if key != "$ref":
                    self._keyword(place, made, key, item)
            return made
        # By the letter nothing counts beside a reference in 2.0 and 3.0; that texts and `nullable` do is what everybody
        # who writes them there means.
        for key in ("description", "title", "readOnly", "writeOnly", "deprecated", "default"):
            if key in value:
                self._keyword(place, made, key, value[key])
        if value.get("nullable") is True:
            made["anyOf"] = [{"$ref": made.pop("$ref")}, {"type": "null"}]
        return made

    def name(self, target: Place) -> str:
        """The name of a referred-to schema, which is converted later."""
        key = self._key(target)
        if key not in self.names:
            parts = [part for part in target.pointer.split("/") if part]
            # Of `#/paths/…/schema/properties/size` the last word that is no keyword; of a whole file, its stem.
            words = [part for part in parts if not part.isdecimal() and part not in ("schema", "items", "properties")]
            text = words[-1] if words else re.split(r"[/\\]", target.document)[-1].partition(".")[0]
            text = re.sub(r"[^\w.-]+", "_", text.replace("~1", "_").replace("~0", "_"), flags=re.ASCII).strip("_")
            self.names[key] = name = unique(text or "Schema", self.found)
            self.found[name] = {}
            self.waiting.append((name, target))
        return self.names[key]

    def _key(self, target: Place) -> tuple[str, str]:
        """The key of a referred-to schema in `names`."""
        return target.document, target.pointer


class OwnSchemas(Schemas):
    """The schemas of tools that bring documents of their own; equal definitions of several have one name."""

    def __init__(self) -> None:
        self.notes: dict[str, None] = {}
        """Sentences on what could not be taken over."""
        self._documents: dict[int, str] = {}
        self._words: dict[tuple[str, str], tuple[str, list[Place]]] = {}
        super().__init__(Documents(), "", self._note)

    def take(self, schema: Any, where: str, *, document: Any = None) -> Schema:
        """A schema with its references moved.

        Args:
            schema: The schema.
            where: Name of the schema for notes.
            document: The document that its references begin at, if that is not the schema itself.
        """
        root = schema if document is None else document
        if id(root) not in self._documents:
            self._documents[id(root)] = name = unique(where, self.library.documents)
            self.library.documents[name] = root
        return self.convert(Place(schema, self._documents[id(root)], where))

    def _note(self, sentence: str) -> None:
        self.notes[sentence] = None

    def _key(self, target: Place) -> tuple[str, str]:
        """The words of a definition and of all that it refers to, which do not depend on the rest of its document."""
        reached: dict[str, str] = {}
        waiting = [target]
        while waiting:
            place = waiting.pop()
            if place.pointer not in reached:
                words, below = self._read(place)
                reached[place.pointer] = words
                waiting += below
        return target.pointer, hashlib.sha256(json.dumps(sorted(reached.items())).encode()).hexdigest()

    def _read(self, place: Place) -> tuple[str, list[Place]]:
        """A hash of the words of a definition, and the definitions that it refers to."""
        key = place.document, place.pointer
        if key not in self._words:
            text = json.dumps(place.value, sort_keys=True, default=str).encode(errors="replace")
            below = []
            for reference in _references(place.value):
                with suppress(Unresolved):
                    below.append(self.library.target(reference, place.document))
            self._words[key] = hashlib.sha256(text).hexdigest(), below
        return self._words[key]


def value_in(text: str, kind: str) -> Any:
    """The value of a JSON type that a text writes; None if it writes none."""
    if kind == "boolean":
        return {"true": True, "false": False}.get(text.lower())
    if kind == "integer":
        return int(text) if re.fullmatch(r"-?\d{1,18}", text) else None
    if kind == "number":
        return float(text) if re.fullmatch(r"-?\d{1,18}(\.\d+)?", text) else None
    return text if kind == "string" else None


def fault_of(schema: Any) -> str:
    """The first place where something is no JSON Schema of any common dialect; empty if it is one."""
    import jsonschema_rs

    if not isinstance(schema, dict):
        return "" if isinstance(schema, bool) else "it is no object"
    found = ""
    for dialect in _DIALECTS:
        try:
            jsonschema_rs.meta.validate({**schema, "$schema": dialect})
            return ""
        except jsonschema_rs.ValidationError as error:
            place = ".".join(map(str, error.instance_path)) or "the whole"
            found = found or f"{place}: {' '.join(error.message.split())[:300]}"
    return found


def _add_parts(schema: dict[str, Any], key: str, parts: list[Any]) -> None:
    """Add `allOf`, `anyOf`, `oneOf` or `prefixItems` to a schema. One of several (`oneOf`) is any of them.

    Real documents have branches that a right value fits together; which one is meant, the server decides.
    """
    if key in ("anyOf", "oneOf") and "anyOf" in schema:
        schema.setdefault("allOf", []).append({"anyOf": parts})
    elif key == "allOf" and key in schema:
        schema[key] += parts
    else:
        schema["anyOf" if key == "oneOf" else key] = parts


def _references(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            if isinstance(part.get("$ref"), str):
                yield part["$ref"]
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


def _is_expression(pattern: Any) -> bool:
    """True for an expression that Python can work with; those of JavaScript are a little different."""
    try:
        re.compile(pattern)
    except (re.error, TypeError, RecursionError, OverflowError):
        return False
    return True


def _of_2020(schema: dict[str, Any], *, null: bool) -> dict[str, Any]:
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
