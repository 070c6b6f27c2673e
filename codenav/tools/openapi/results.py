"""Good answers of an operation: one schema, their media types, a text, and what they give to others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codenav.tools.model import Link, Schema
from codenav.tools.openapi.bodies import BINARY, is_xml, media_kind
from codenav.tools.openapi.context import Context, LeftOut, mapping_of, text_of
from codenav.tools.references import Place

XML: Schema = {"type": "string", "description": "The XML, as a text"}
_REFERENCE = re.compile(r".*#/paths/(?P<path>[^/]+)/(?P<method>[A-Za-z]+)")
_MOST_LINKS = 100
"""The most links of an operation that are kept."""


@dataclass(frozen=True, slots=True)
class Result:
    """The form of a good answer."""

    schema: Schema | None = None
    types: tuple[str, ...] = ()
    text: str = ""


def result_of(context: Context, operation: Place) -> Result:
    """The good answer that a document describes; a fault in it costs no operation."""
    found: list[Place] = []
    responses = answers_at(context, operation)
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
            return Result(made.schema, made.types, text)
    return Result(text=text)


def answers_at(context: Context, operation: Place) -> Place:
    """The table of the answers of an operation, by their statuses."""
    try:
        return context.resolve(operation.at("responses"))
    except LeftOut as error:
        context.note(f"{error}: the answers are left out")
        return Place({}, operation.document, operation.pointer)


def _good(responses: Mapping[str, Any]) -> list[str]:
    """The statuses of good answers, the likeliest first; `default` only where a document names no other."""
    exact = sorted(status for status in responses if re.fullmatch(r"2\d\d", status))
    ranges = [status for status in responses if status.upper() == "2XX"]
    return [*exact, *ranges] or [status for status in responses if status == "default"]


def _new(context: Context, place: Place) -> Result | None:
    """The answer at a place of version 3; None if it has no content."""
    names: Sequence[str] = ()
    try:
        contents = context.resolve(place.at("content"))
        names = _best_first([str(name) for name in mapping_of(contents.value)])
        if not names:
            return None
        media = context.resolve(contents.at(names[0]))
    except LeftOut as error:
        context.note(f"{error}: that answer is left out")
        return Result(types=tuple(names))
    value = mapping_of(media.value)
    schema: Schema | None = None
    if is_xml(names[0]):
        # It is given as its text, whatever its schema says of its parts.
        schema = XML
    elif "schema" in value:
        schema = context.schemas.convert(media.at("schema"))
    elif "itemSchema" in value:
        schema = {"type": "array", "items": context.schemas.convert(media.at("itemSchema"))}
    elif media_kind(names[0]) == "other":
        schema = BINARY
    return Result(schema, tuple(names))


def _old(context: Context, place: Place, operation: Place) -> Result | None:
    """The answer at a place of 2.0; None if it has no content."""
    types = operation.value.get("produces", context.library.root.value.get("produces"))
    names = _best_first([name for name in types if isinstance(name, str)] if isinstance(types, list) else [])
    if names and is_xml(names[0]):
        return Result(XML, names)
    if "schema" not in place.value:
        return Result(None, names) if place.value.get("examples") else None
    return Result(context.schemas.convert(place.at("schema")), names or ("application/json",))


def _best_first(names: Sequence[str]) -> tuple[str, ...]:
    """Media types with the one to ask for first: JSON if there is some."""
    return tuple(sorted(names, key=lambda name: media_kind(name) != "json"))


def links_of(context: Context, operation: Place) -> tuple[Link, ...]:
    """The links of the good answers of an operation; a fault in one costs no operation."""
    return tuple(_links(context, operation))[:_MOST_LINKS]


def _links(context: Context, operation: Place) -> Iterator[Link]:
    responses = answers_at(context, operation)
    for status in mapping_of(responses.value):
        if not re.fullmatch(r"2\d\d|2XX|default", str(status)):
            continue
        try:
            response = context.resolve(responses.at(status))
            for name in mapping_of(mapping_of(response.value).get("links")):
                found = _link(mapping_of(context.resolve(response.at("links", name)).value))
                if found is not None:
                    yield found
        except LeftOut as error:
            context.note(f"{error}: its links are left out")


def _link(value: Mapping[str, Any]) -> Link | None:
    """A link that hands on a part of the answer; None for one that hands on nothing of it."""
    given = {
        # A place may stand before the name: `path.id`.
        re.sub(r"^(?:path|query|header|cookie)\.", "", str(name)): expression
        for name, expression in mapping_of(value.get("parameters")).items()
    }
    if isinstance(value.get("requestBody"), str):
        given[""] = value["requestBody"]
    parameters = tuple(name for name, one in given.items() if isinstance(one, str) and "$response." in one)
    if not parameters:
        return None
    if isinstance(value.get("operationId"), str):
        return Link(value["operationId"], parameters)
    match = _REFERENCE.fullmatch(str(value.get("operationRef") or ""))
    if match is None:
        return None
    path = match["path"].replace("~1", "/").replace("~0", "~")
    return Link(f"{match['method'].upper()} {path}", parameters)
