"""Good answers of an operation: one schema, their media types, a text and an example."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from codenav.tools.model import Schema
from codenav.tools.openapi.bodies import BINARY, media_kind
from codenav.tools.openapi.context import Context, LeftOut, example_of, mapping_of, text_of
from codenav.tools.references import Place


@dataclass(frozen=True, slots=True)
class Result:
    """What a good answer looks like."""

    schema: Schema | None = None
    types: tuple[str, ...] = ()
    text: str = ""
    example: Any = None


def result_of(context: Context, operation: Place) -> Result:
    """The good answer that a document describes; a fault in it costs no operation."""
    responses = operation.at("responses")
    found: list[Place] = []
    for status in _good(mapping_of(responses.value)):
        try:
            place = context.resolve(responses.at(status))
        except LeftOut as error:
            context.note(f"{error}: that answer is left out")
            continue
        if isinstance(place.value, Mapping):
            found.append(place)
    if not found:
        return Result()
    text = next((text for place in found if (text := text_of(place.value.get("description")))), "")
    for place in found:
        made = _old(context, place, operation) if context.old else _new(context, place)
        if made is not None:
            return Result(made.schema, made.types, text, made.example)
    return Result(text=text)


def _good(responses: Mapping[str, Any]) -> list[str]:
    """The statuses of good answers, the likeliest first; `default` only where a document names no other."""
    exact = sorted(status for status in responses if re.fullmatch(r"2\d\d", status))
    ranges = [status for status in responses if status.upper() == "2XX"]
    return [*exact, *ranges] or [status for status in responses if status == "default"]


def _new(context: Context, place: Place) -> Result | None:
    """The answer at a place of version 3; None if it has no content."""
    content = mapping_of(place.value.get("content"))
    if not content:
        return None
    names = [str(name) for name in content]
    best = next((name for name in names if media_kind(name) == "json"), names[0])
    try:
        media = context.resolve(place.at("content", best))
    except LeftOut as error:
        context.note(f"{error}: that answer is left out")
        return Result(types=tuple(names))
    value = mapping_of(media.value)
    schema: Schema | None = None
    if "schema" in value:
        schema = context.schemas.convert(media.at("schema"))
    elif "itemSchema" in value:
        schema = {"type": "array", "items": context.schemas.convert(media.at("itemSchema"))}
    elif media_kind(best) == "other" and not best.startswith("application/xml"):
        schema = BINARY
    return Result(schema, tuple(names), example=example_of(context, media))


def _old(context: Context, place: Place, operation: Place) -> Result | None:
    """The answer at a place of 2.0; None if it has no content."""
    types = operation.value.get("produces", context.library.root.value.get("produces"))
    names = tuple(name for name in types if isinstance(name, str)) if isinstance(types, list) else ()
    examples = mapping_of(place.value.get("examples"))
    best = next((name for name in examples if media_kind(name) == "json"), next(iter(examples), ""))
    if "schema" not in place.value:
        return Result(None, names, example=examples[best]) if best else None
    schema = context.schemas.convert(place.at("schema"))
    return Result(schema, names or ("application/json",), example=examples.get(best))
