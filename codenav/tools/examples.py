"""Arguments for example calls, taken from a specification's examples or made from its schemas.

What is made passes the check of arguments: where no such value is found there is no example.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from codenav.tools.fitting import fits
from codenav.tools.model import Operation, Parameter, Schema
from codenav.tools.types import Schemas, is_binary, is_number, kinds_of, list_at, merged

DEPTH = 6
ITEMS = 20
"""Most items of a list in an example, where a schema demands that many."""
TRIES = 60
"""Values that are tried for one schema."""

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


class NoExample(Exception):
    """No value was found that a schema allows."""


def example_arguments(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    """Arguments of an example call: one of the specification's own, else the required parameters with a value each.

    Raises:
        NoExample: one has none.
    """
    known = {item.name: item for item in operation.parameters}
    required = [item for item in operation.parameters if item.required]
    for given in operation.examples:
        whole = isinstance(given, dict) and set(given) <= set(known) and all(item.name in given for item in required)
        if whole and all(_is_good(value, known[name].schema, schemas) for name, value in given.items()):
            return dict(given)
    return {item.name: example_of(item, schemas) for item in required}


def example_of(parameter: Parameter, schemas: Schemas) -> Any:
    """A value for a parameter: the specification's own, or one that is made.

    Raises:
        NoExample: none was found.
    """
    if parameter.example is not None and _is_good(parameter.example, parameter.schema, schemas):
        return parameter.example
    return value_of(parameter.schema, schemas)


def value_of(schema: Any, schemas: Schemas, *, depth: int = 0) -> Any:
    """A value that a schema allows.

    Raises:
        NoExample: none was found.
    """
    for value in islice(_values(merged(schema, schemas), schemas, depth), TRIES):
        if _is_good(value, schema, schemas):
            return value
    raise NoExample


def _is_good(value: Any, schema: Any, schemas: Schemas) -> bool:
    return fits(value, schema, schemas) if isinstance(schema, Mapping) else True


def _values(schema: Schema, schemas: Schemas, depth: int) -> Iterator[Any]:
    """Values that a schema may allow, the likeliest first."""
    if "const" in schema:
        yield schema["const"]
    yield from (schema[key] for key in ("example", "default") if schema.get(key) is not None)
    for key in ("examples", "enum"):
        yield from list_at(schema, key)
    if depth > DEPTH:
        return
    own = {key: value for key, value in schema.items() if key != "anyOf"}
    for part in list_at(schema, "anyOf"):
        if kinds_of(merged(part, schemas)) != ["null"]:
            yield from islice(_values(merged({"allOf": [own, part]}, schemas), schemas, depth + 1), TRIES // 4)
    for kind in kinds_of(schema) or ["string", "integer", "object"]:
        match kind:
            case "object":
                yield from _objects(schema, schemas, depth)
            case "array":
                yield from _lists(schema, schemas, depth)
            case "integer" | "number":
                yield from _numbers(schema)
            case "boolean":
                yield True
            case "string":
                yield from ["file.bin"] if is_binary(schema, schemas) else _texts(schema)
            case "null":
                yield None


def _objects(schema: Schema, schemas: Schemas, depth: int) -> Iterator[dict[str, Any]]:
    """The required properties, then those that can be made, too."""
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    more = schema.get("additionalProperties")
    required = [name for name in list_at(schema, "required") if isinstance(name, str)]
    found = {}
    for names in (required, [name for name in properties if name not in required]):
        for name in names:
            try:
                found[name] = value_of(properties.get(name, more), schemas, depth=depth + 1)
            except NoExample:
                if names is required:
                    return
        yield dict(found)


def _lists(schema: Schema, schemas: Schemas, depth: int) -> Iterator[list[Any]]:
    least = schema.get("minItems")
    count = min(max(least, 1), ITEMS) if isinstance(least, int) else 1
    with suppress(NoExample):
        yield [value_of(schema.get("items"), schemas, depth=depth + 1)] * count
    # Items that must differ.
    inner = merged(schema.get("items"), schemas)
    yield [value for value in islice(_values(inner, schemas, depth + 1), count) if _is_good(value, inner, schemas)]
    yield []


def _numbers(schema: Schema) -> Iterator[int | float]:
    """Small numbers, and those at the bounds."""
    yield from (1, 0, 0.5)
    step = schema["multipleOf"] if is_number(schema.get("multipleOf")) else 1
    for key, toward in (("minimum", 0), ("exclusiveMinimum", step), ("maximum", 0), ("exclusiveMaximum", -step)):
        if is_number(schema.get(key)):
            yield schema[key] + toward
            yield ((schema[key] + toward) // step + (toward >= 0)) * step
    yield from (step, 10, 100)


def _texts(schema: Schema) -> Iterator[str]:
    least, most = (schema.get(key) for key in ("minLength", "maxLength"))
    length = least if isinstance(least, int) and 0 < least <= 1000 else 0
    for text in filter(None, (_FORMATS.get(str(schema.get("format"))), "text", "a", "A", "1")):
        filled = text.ljust(length, text[-1])
        yield filled[:most] if isinstance(most, int) and most >= 0 else filled
