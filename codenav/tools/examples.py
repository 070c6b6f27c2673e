"""Arguments for example calls, taken from a specification's examples or made from its schemas.

What is made passes the check of arguments: where no such value is found there is no example.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from codenav.tools.drawn_texts import texts_of
from codenav.tools.fitting import fits
from codenav.tools.model import Operation, Parameter, Schema
from codenav.tools.types import Schemas, is_binary, kinds_of, listed, merged

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
        yield from listed(schema, key)
    if depth > DEPTH:
        return
    own = {key: value for key, value in schema.items() if key != "anyOf"}
    for part in listed(schema, "anyOf"):
        if kinds_of(merged(part, schemas)) != ["null"]:
            yield from islice(_values(merged({"allOf": [own, part]}, schemas), schemas, depth + 1), TRIES // 4)
    for kind in kinds_of(schema) or ["string", "integer", "object"]:
        if kind == "object":
            yield from _objects(schema, schemas, depth)
        elif kind == "array":
            yield from _lists(schema, schemas, depth)
        elif kind in ("integer", "number"):
            yield from _numbers(schema, kind)
        elif kind == "boolean":
            yield from (True, False)
        elif kind == "string":
            yield from ["file.bin"] if is_binary(schema, schemas) else _texts(schema)
    if "null" in kinds_of(schema) or (schema.get("enum") and None in schema["enum"]):
        yield None


def _objects(schema: Schema, schemas: Schemas, depth: int) -> Iterator[dict[str, Any]]:
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    more = schema.get("additionalProperties")
    required = dict.fromkeys(name for name in listed(schema, "required") if isinstance(name, str))
    try:
        found = {name: value_of(properties.get(name, more), schemas, depth=depth + 1) for name in required}
    except NoExample:
        return
    yield dict(found)
    # Those that are not required come one after the other: a least number, or keys that go together, may ask for them.
    for name in [*properties, "key", "key_2"]:
        if name not in found:
            try:
                found[name] = value_of(properties.get(name, more), schemas, depth=depth + 1)
            except NoExample:
                continue
            yield dict(found)


def _lists(schema: Schema, schemas: Schemas, depth: int) -> Iterator[list[Any]]:
    least = schema.get("minItems")
    count = min(max(least, 1), ITEMS) if isinstance(least, int) else 1
    heads = listed(schema, "prefixItems")
    try:
        found = [value_of(head, schemas, depth=depth + 1) for head in heads]
        if len(found) < count:
            item = value_of(schema.get("items"), schemas, depth=depth + 1)
            yield found + [item] * (count - len(found))
        # Items that must differ, or one of them of a kind.
        inner = merged(schema.get("contains") or schema.get("items"), schemas)
        found += _different(inner, schemas, depth, max(count - len(found), 0))
        yield found
    except NoExample:
        pass
    yield []


def _different(schema: Schema, schemas: Schemas, depth: int, count: int) -> list[Any]:
    found: list[Any] = []
    for value in islice(_values(schema, schemas, depth + 1), TRIES):
        if len(found) == count:
            break
        if value not in found and fits(value, schema, schemas):
            found.append(value)
    return found


def _numbers(schema: Schema, kind: str) -> Iterator[int | float]:
    """Numbers at the bounds and near them, and small ones."""
    given = {key: schema[key] for key in _BOUNDS if _is_number(schema.get(key))}
    step = given.get("multipleOf", 0)
    ends = [given[key] for key in _BOUNDS if key in given and key != "multipleOf"]
    near = [*ends, sum(ends) / 2] if len(ends) == 2 else ends
    for start in [*near, 1] if "minimum" in given or "exclusiveMinimum" in given else [*near[:1], 1, *near[1:]]:
        first = start // step * step if step else start
        for value in (first, first + (step or 1), first - (step or 1)):
            whole = isinstance(value, int) or (kind == "integer" and abs(value) < 1e15)
            yield int(value) if whole else float(f"{value:.12g}")
    yield from ([1.5] if kind == "number" else [])
    yield from (0, 2, 3, 10, 100, -1)


_BOUNDS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _texts(schema: Schema) -> Iterator[str]:
    least, most, pattern = (schema.get(key) for key in ("minLength", "maxLength", "pattern"))
    length = least if isinstance(least, int) and 0 < least <= 1000 else 0
    usual = _FORMATS.get(str(schema.get("format")))
    for text in filter(None, (usual, "text")):
        filled = text if len(text) >= length else text.ljust(length, "x")
        yield filled[:most] if isinstance(most, int) and most >= 0 else filled
    if isinstance(pattern, str):
        yield from texts_of(pattern, length)
    yield from (text.ljust(length, text[-1]) for text in ("example", "a", "A", "1", "Passw0rd!", "a-1"))
