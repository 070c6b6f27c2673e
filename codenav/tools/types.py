"""Types in Python for JSON Schemas, and short renderings of what a schema allows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from codenav.core.system.terminal_text import shortened
from codenav.tools.model import Schema

DEPTH = 4
"""Levels of a schema that a type shows; below them everything is `Any`."""
LITERALS = 12
"""Values of an enumeration that a type names; a longer one is shown as the type of its values."""
LITERAL_CHARACTERS = 240
SHAPE_DEPTH = 4
SHAPE_PROPERTIES = 24
"""Properties of an object that a shape names; the others are counted."""
SHAPE_BRANCHES = 6
SHAPE_CHARACTERS = 900

_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_JSON_TYPE = {str: "str", bool: "bool", int: "int", float: "float", type(None): "None"}
_SAYS_MORE = frozenset({"const", "enum", "anyOf", "allOf"})
_KEYWORDS = {
    "object": ("properties", "additionalProperties", "patternProperties", "required"),
    "array": ("items", "prefixItems", "minItems", "maxItems"),
    "string": ("pattern", "minLength", "maxLength"),
    "number": ("minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"),
}
"""Keywords by the type that a schema without `type` has with them."""

Schemas = Mapping[str, Schema]


def resolved(schema: Any, schemas: Schemas) -> Schema:
    """The schema that a chain of `$ref` leads to; the keys beside a `$ref` win. `{}` where it leads nowhere."""
    found = schema if isinstance(schema, dict) else {}
    for _ in range(20):
        reference = found.get("$ref")
        if not isinstance(reference, str):
            return found
        target = schemas.get(reference.removeprefix("#/schemas/"))
        beside = {key: value for key, value in found.items() if key != "$ref"}
        found = target if isinstance(target, dict) else {}
        found = {**found, **beside} if beside else found
    return {}


def kinds_of(schema: Schema) -> list[str]:
    """The JSON types that a schema without `$ref` allows; empty if it says nothing about them."""
    named = schema.get("type")
    if isinstance(named, str):
        return [named]
    if isinstance(named, list | tuple):
        return [kind for kind in named if isinstance(kind, str)]
    return next(([kind] for kind, keys in _KEYWORDS.items() if any(key in schema for key in keys)), [])


def allows_null(schema: Any, schemas: Schemas, *, depth: int = 0) -> bool:
    """True if null is said to be a value."""
    schema = resolved(schema, schemas)
    values = schema.get("enum")
    if isinstance(values, list | tuple):
        return None in values
    if ("const" in schema and schema["const"] is None) or "null" in kinds_of(schema):
        return True
    return depth < DEPTH and any(allows_null(part, schemas, depth=depth + 1) for part in list_at(schema, "anyOf"))


def is_binary(schema: Any, schemas: Schemas) -> bool:
    """True for the content of a file."""
    schema = resolved(schema, schemas)
    return schema.get("format") == "binary" and kinds_of(schema) in ([], ["string"])


def is_number(value: object) -> bool:
    """True for a number of JSON, which a truth value of Python is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def list_at(schema: Schema, key: str) -> list[Any]:
    """The list under a key; empty if there is none."""
    found = schema.get(key)
    return list(found) if isinstance(found, list | tuple) else []


class Types:
    """Annotations for the schemas of one specification."""

    def __init__(self, schemas: Schemas, *, answers: bool = False) -> None:
        """`answers`: types of results, `dict` and `list`, where arguments may be any mapping and sequence."""
        self._schemas = schemas
        self._mapping, self._sequence = ("dict", "list") if answers else ("Mapping", "Sequence")
        self._answers = answers

    def of(self, schema: Any, *, depth: int = 0) -> str:
        """The annotation for values of a schema: `int`, `Literal["a", "b"] | None`, `Sequence[str]`, …"""
        return _union(self._parts(schema, depth))

    def _parts(self, schema: Any, depth: int) -> list[str]:
        """The types that a value may have, not united yet."""
        if depth > DEPTH:
            return ["Any"]
        schema = resolved(schema, self._schemas)
        if _SAYS_MORE.isdisjoint(schema):
            # Most schemas are these: a thousand operations have tens of thousands.
            plain = _PLAIN.get(schema["type"]) if isinstance(schema.get("type"), str) else None
            if plain and schema.get("format") != "binary":
                return [plain]
        if "const" in schema:
            return _literal([schema["const"]])
        if list_at(schema, "enum"):
            return _literal(list_at(schema, "enum"))
        parts = [part for part in list_at(schema, "anyOf") if isinstance(part, dict)]
        if parts:
            own = {name: schema[name] for name in ("type", "properties", "items") if name in schema}
            each = (part if "$ref" in part else {**own, **part} for part in parts)
            return [found for part in each for found in self._parts(part, depth + 1)]
        parts = list_at(schema, "allOf")
        if parts and not kinds_of(schema):
            return next((found for part in parts if (found := self._parts(part, depth + 1)) != ["Any"]), ["Any"])
        return [found for kind in kinds_of(schema) for found in self._kind(kind, schema, depth)] or ["Any"]

    def _kind(self, kind: str, schema: Schema, depth: int) -> list[str]:
        if kind == "array":
            return [f"{self._sequence}[{self.of(schema.get('items'), depth=depth + 1)}]"]
        if kind == "object":
            more = schema.get("additionalProperties")
            plain = isinstance(more, dict) and more and not schema.get("properties")
            return [f"{self._mapping}[str, {self.of(more, depth=depth + 1) if plain else 'Any'}]"]
        if kind == "string" and is_binary(schema, self._schemas):
            # An answer that is a file is written into the current folder; its path is the value.
            return ["str"] if self._answers else ["str", "bytes"]
        return [_PLAIN.get(kind, "Any")]


def _union(parts: Iterable[str]) -> str:
    """Several types as one, each once and `None` last."""
    found = dict.fromkeys(parts)
    if not found or "Any" in found:
        return "Any"
    if "float" in found:
        found.pop("int", None)
    for name, first in (("str", "\"'"), ("bool", "TF"), ("int", "-0123456789")):
        if name in found:
            # A literal is one of its type.
            found = {part: None for part in found if part.removeprefix("Literal[")[0] not in first}
    return " | ".join(sorted(found, key=lambda part: part == "None"))


def _literal(values: list[Any]) -> list[str]:
    """`Literal[…]` for values, or their types where they are many, long or no literals of Python."""
    none = ["None"] if any(value is None for value in values) else []
    kept = [value for value in values if value is not None]
    by_type: dict[type, list[Any]] = {}
    for value in kept:
        by_type.setdefault(type(value), []).append(value)
    shown = [f"Literal[{', '.join(dict.fromkeys(map(quoted, some)))}]" for some in by_type.values()]
    plain = all(kind in (str, bool, int) for kind in by_type) and len(kept) <= LITERALS
    if not plain or sum(map(len, shown)) > LITERAL_CHARACTERS:
        shown = [_JSON_TYPE.get(kind, "Any") for kind in by_type]
    return [*shown, *none]


def quoted(value: Any) -> str:
    """A value as Python writes it, texts in double quotes where that needs no escape."""
    if isinstance(value, str):
        written = repr(value)
        if written[0] == "'" and '"' not in written:
            inner = written[1:-1]
            return f'"{inner}"'
        return written
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(key)}: {quoted(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(quoted, value)) + "]"
    return repr(value)


def shape(schema: Any, schemas: Schemas) -> str:
    """A short rendering of the values of a schema: `{"id": int, "items": [{"sku": str}], "note"?: str}`.

    A `?` marks what may be missing. It is bounded in depth, properties and characters; empty if nothing is known.
    """
    text = _shape(schema, schemas, 0, ())
    if text == "Any":
        return ""
    return shortened(text, SHAPE_CHARACTERS)


def _shape(schema: Any, schemas: Schemas, depth: int, above: tuple[str, ...]) -> str:
    reference = schema.get("$ref") if isinstance(schema, dict) else None
    if isinstance(reference, str):
        if reference in above:
            return "…"
        above = (*above, reference)
    schema = merged(schema, schemas)
    parts = list_at(schema, "anyOf")
    if parts:
        if depth >= SHAPE_DEPTH:
            return "…"
        own = {key: schema[key] for key in ("type", "properties", "required", "items") if key in schema}
        each = ({"allOf": [own, part]} if own else part for part in parts[:SHAPE_BRANCHES])
        more = [f"… {len(parts) - SHAPE_BRANCHES} more"] if len(parts) > SHAPE_BRANCHES else []
        return " | ".join([*dict.fromkeys(_shape(part, schemas, depth + 1, above) for part in each), *more])
    if "const" in schema or list_at(schema, "enum"):
        values = [schema["const"]] if "const" in schema else list_at(schema, "enum")
        more = [f"… {len(values) - LITERALS} more"] if len(values) > LITERALS else []
        return " | ".join([*map(quoted, values[:LITERALS]), *more])
    texts = []
    for kind in kinds_of(schema):
        if kind == "array":
            inner = "…" if depth >= SHAPE_DEPTH else _shape(schema.get("items"), schemas, depth + 1, above)
            texts.append(f"[{inner}]")
        elif kind == "object":
            texts.append(_object(schema, schemas, depth, above))
        else:
            texts.append(_PLAIN.get(kind, "Any"))
    return " | ".join(dict.fromkeys(texts)) or "Any"


def _object(schema: Schema, schemas: Schemas, depth: int, above: tuple[str, ...]) -> str:
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        more = schema.get("additionalProperties")
        if isinstance(more, dict) and more and depth < SHAPE_DEPTH:
            return f"{{str: {_shape(more, schemas, depth + 1, above)}}}"
        return "{…}"
    if depth >= SHAPE_DEPTH:
        return "{…}"
    required = list_at(schema, "required")
    # Required ones first: the cut takes what may be missing anyway.
    names = sorted(properties, key=lambda name: name not in required)
    rows: list[str] = []
    length = 0
    for name in names[:SHAPE_PROPERTIES]:
        text = _shape(properties[name], schemas, depth + 1, above)
        rows.append(f"{quoted(str(name))}{'' if name in required else '?'}: {text}")
        length += len(rows[-1])
        if length > SHAPE_CHARACTERS:
            break
    left = len(names) - len(rows)
    return "{" + ", ".join([*rows, *([f"… {left} more"] if left > 0 else [])]) + "}"


def merged(schema: Any, schemas: Schemas, *, depth: int = 0) -> Schema:
    """A schema with the parts of its `allOf` in one."""
    whole = resolved(schema, schemas)
    parts = list_at(whole, "allOf")
    if not parts or depth > DEPTH:
        return whole
    found: dict[str, Any] = {}
    inner = [merged(part, schemas, depth=depth + 1) for part in parts]
    for part in (*inner, {key: value for key, value in whole.items() if key != "allOf"}):
        for key, value in part.items():
            if key == "properties" and isinstance(value, dict) and isinstance(found.get(key), dict):
                found[key] = {**found[key], **value}
            elif key == "required" and isinstance(value, list | tuple) and isinstance(found.get(key), list | tuple):
                found[key] = [*found[key], *value]
            else:
                found[key] = value
    return found


def flat_object(schema: Schema, schemas: Schemas) -> tuple[dict[str, Schema], set[str]] | None:
    """The properties of an object and the required ones; None if the schema says more than properties."""
    properties: dict[str, Schema] = {}
    required: set[str] = set()
    waiting: list[Schema] = [schema]
    seen: set[int] = set()
    while waiting:
        found = resolved(waiting.pop(0), schemas)
        if id(found) in seen:
            continue
        seen.add(id(found))
        kind = found.get("type", "object")
        if kind != "object" and not (isinstance(kind, list) and set(kind) <= {"object", "null"}):
            return None
        if any(key in found for key in ("$ref", "anyOf", "const", "enum", "if", "not", "patternProperties")):
            return None
        if isinstance(found.get("additionalProperties"), Mapping) and found["additionalProperties"]:
            return None
        for name, item in found.get("properties", {}).items():
            # The same property in two parts: both hold.
            properties[name] = {"allOf": [properties[name], item]} if name in properties else item
        required |= set(found.get("required", ()))
        waiting += found.get("allOf", ())
    return properties, required & set(properties)
