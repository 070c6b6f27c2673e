"""Arguments for example calls, taken from a specification's examples or made from its schemas."""

from __future__ import annotations

from typing import Any

from codenav.tools.model import Operation, Parameter, Schema
from codenav.tools.types import Schemas, is_binary, kinds_of, listed, merged

DEPTH = 6
ITEMS = 3
"""Items of a list that an example repeats at most, where a schema demands several."""

_FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "email": "ann@example.com",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "byte": "dGV4dA==",
}
"""Texts of the usual formats; those of names and addresses are set aside for examples (RFC 2606, 5737, 3849)."""


def example_arguments(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    """Arguments of an example call: one of the specification's own, else the required parameters with a value each."""
    names = {item.name for item in operation.parameters}
    required = [item for item in operation.parameters if item.required]
    for given in operation.examples:
        if isinstance(given, dict) and set(given) <= names and all(item.name in given for item in required):
            return dict(given)
    return {item.name: example_of(item, schemas) for item in required}


def example_of(parameter: Parameter, schemas: Schemas) -> Any:
    """A value for a parameter."""
    if parameter.example is not None:
        return parameter.example
    return value_of(parameter.schema, schemas)


def value_of(schema: Any, schemas: Schemas, *, depth: int = 0) -> Any:
    """A value that a schema allows, as far as its own words tell; a `pattern` is not followed."""
    schema = merged(schema, schemas)
    for key in ("example", "const", "default"):
        if schema.get(key) is not None:
            return schema[key]
    for key in ("examples", "enum"):
        if listed(schema, key):
            return listed(schema, key)[0]
    for key in ("anyOf", "oneOf"):
        parts = [part for part in listed(schema, key) if kinds_of(merged(part, schemas)) != ["null"]]
        if parts and depth < DEPTH:
            return value_of(parts[0], schemas, depth=depth + 1)
    kind = next((kind for kind in kinds_of(schema) if kind != "null"), "string")
    if kind == "object":
        return _object(schema, schemas, depth)
    if kind == "array":
        if depth >= DEPTH:
            return []
        least = schema.get("minItems")
        count = min(max(least, 1), ITEMS) if isinstance(least, int) else 1
        return [value_of(schema.get("items"), schemas, depth=depth + 1) for _ in range(count)]
    if kind in ("integer", "number"):
        return _number(schema, kind)
    return True if kind == "boolean" else _text(schema, schemas)


def _object(schema: Schema, schemas: Schemas, depth: int) -> dict[str, Any]:
    properties = schema.get("properties")
    if depth >= DEPTH or not isinstance(properties, dict):
        return {}
    return {
        str(name): value_of(properties[name], schemas, depth=depth + 1)
        for name in listed(schema, "required")
        if isinstance(name, str) and name in properties
    }


def _number(schema: Schema, kind: str) -> int | float:
    least, above, most = (schema.get(key) for key in ("minimum", "exclusiveMinimum", "maximum"))
    if isinstance(least, int | float) and not isinstance(least, bool):
        found: int | float = least
    elif isinstance(above, int | float) and not isinstance(above, bool):
        found = above + 1
    else:
        found = 1 if kind == "integer" else 1.5
    if isinstance(most, int | float) and not isinstance(most, bool) and found > most:
        found = most
    try:
        return int(found) if kind == "integer" else found
    except (ValueError, OverflowError):
        return 1


def _text(schema: Schema, schemas: Schemas) -> str:
    if is_binary(schema, schemas):
        return "file.bin"
    text = _FORMATS.get(str(schema.get("format")), "text")
    least, most = schema.get("minLength"), schema.get("maxLength")
    if isinstance(least, int) and len(text) < least <= 200:
        text = text.ljust(least, "x")
    return text[:most] if isinstance(most, int) and most >= 0 else text
