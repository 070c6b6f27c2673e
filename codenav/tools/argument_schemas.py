"""Parameters and effects of operations whose arguments are one JSON Schema: MCP tools and functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from inspect import cleandoc
from typing import Any

from codenav.tools.model import Body, Effect, Parameter, Schema
from codenav.tools.naming import identifier, unique
from codenav.tools.schemas import OwnSchemas, fault_of
from codenav.tools.types import flat_object, list_at, resolved

WHOLE = "body"
"""Name of the parameter that is all arguments, where their schema is no object with known properties."""
TITLE_CHARACTERS = 120
_SENTENCE = re.compile(r".{10,}?[.!?](?=\s+[^\sa-z])")


def parameters_of(schema: Schema, schemas: Mapping[str, Schema]) -> tuple[tuple[Parameter, ...], Body]:
    """Make parameters, required ones first, and the body that they are properties of.

    Args:
        schema: Schema of the arguments, moved.
        schemas: The table that it refers to.
    """
    plain = resolved(schema, schemas)
    flat = flat_object(schema, schemas)
    if flat is None or (not flat[0] and plain.get("additionalProperties") not in (None, False)):
        whole = Parameter(
            name=WHOLE, wire=WHOLE, place="content", schema=schema, required=True, text=_text(plain),
            example=next(iter(list_at(plain, "examples")), None),
        )  # fmt: skip
        return (whole,), Body("application/json", required=True)
    properties, required = flat
    made: list[Parameter] = []
    taken: set[str] = set()
    for wire, part in properties.items():
        name = unique(identifier(wire), taken)
        taken.add(name)
        described = {**resolved(part, schemas), **part}
        made.append(
            Parameter(
                name=name,
                wire=wire,
                place="body",
                required=wire in required,
                text=_text(described),
                schema={key: value for key, value in part.items() if key not in ("description", "example", "examples")},
                example=next(iter(list_at(described, "examples")), None),
            )
        )
    made.sort(key=lambda parameter: not parameter.required)
    return tuple(made), Body("application/json", required=any(parameter.required for parameter in made), spread=True)


def effect_of(annotations: Mapping[str, Any]) -> Effect:
    """Return the effect that a tool declares. One that says nothing may destroy, as the protocol has it."""
    if annotations.get("readOnlyHint") is True:
        return Effect.READ
    return Effect.WRITE if annotations.get("destructiveHint") is False else Effect.DESTROY


def result_of(schema: Any, where: str, table: OwnSchemas, *, key: str | None = None) -> Schema | None:
    """Take over the schema of an answer, or of a key of it. One that is none is noted, and costs only itself."""
    if schema is None:
        return None
    fault = fault_of(schema)
    if fault:
        table.note(f"{where}: the schema of its answer is no JSON Schema: {fault}")
        return None
    return table.take(schema if key is None else schema["properties"][key], where, document=schema)


def title_and_text(title: str, text: str) -> tuple[str, str]:
    """Return a title and the text below it. Without a title, the first sentence of the text is it, if it is short."""
    text = cleandoc(text).strip()
    if title.strip() or not text:
        return title.strip(), text
    line, _, rest = text.partition("\n")
    sentence = _SENTENCE.match(line)
    first = sentence[0] if sentence else line
    if len(first) > TITLE_CHARACTERS:
        return "", text
    return first.strip().removesuffix("."), (line[len(first) :].strip() + "\n" + rest).strip()


def _text(schema: Schema) -> str:
    text = schema.get("description")
    return cleandoc(text).strip() if isinstance(text, str) else ""
