"""Parameters of path, query, header and cookie."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from codenav.tools.model import Parameter
from codenav.tools.naming import identifier, unique
from codenav.tools.openapi.context import Context, LeftOut, example_of, flag, mapping_of, text_of
from codenav.tools.references import Place
from codenav.tools.schemas import value_in
from codenav.tools.types import resolved

IGNORED_HEADERS = frozenset({"accept", "content-type"})
"""The specification: parameters with these names are ignored, because other parts of the document say them."""
STYLES = {"path": ("simple", "label", "matrix"), "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
          "header": ("simple",), "cookie": ("form", "cookie")}  # fmt: skip
COLLECTIONS = {
    "csv": ("", False), "ssv": ("spaceDelimited", False), "tsv": ("tabDelimited", False),
    "pipes": ("pipeDelimited", False), "multi": ("form", True),
}  # fmt: skip
"""2.0's `collectionFormat` as style and explode; an empty style is the usual one of the place."""
OLD_SCHEMA = frozenset({
    "default", "enum", "exclusiveMaximum", "exclusiveMinimum", "format", "items", "maxItems", "maxLength", "maximum",
    "minItems", "minLength", "minimum", "multipleOf", "pattern", "type", "uniqueItems", "x-nullable",
})  # fmt: skip


def parameters_at(context: Context, item: Place, operation: Place) -> dict[tuple[str, str], Place]:
    """The parameters of an operation by name and place: its own ones replace those of the path.

    Raises:
        LeftOut: a reference leads nowhere.
    """
    found: dict[tuple[str, str], Place] = {}
    for holder in (item, operation):
        seen = set()
        for place in context.each(holder, "parameters"):
            name, where = place.value.get("name"), place.value.get("in")
            if not isinstance(name, str) or not isinstance(where, str):
                raise LeftOut(f"{place.pointer}: a parameter without `name` or `in`")
            if (name, where) in seen:
                context.note(f"{holder.pointer}: the parameter {name!r} stands there twice: the last one counts")
            seen.add((name, where))
            found[name, where] = place
    return found


def parameter_of(context: Context, place: Place, where: str) -> Parameter:
    """The parameter at a place, its name in Python still the one of the request.

    Raises:
        LeftOut: it is of a kind that no request can carry.
    """
    value = place.value
    required = flag(value.get("required"))
    if isinstance(value.get("required"), str):
        context.note(f"{place.pointer}/required: the text {value['required']!r} was read as {str(required).lower()}")
    style, explode, content_type = "", False, ""
    media = mapping_of(value.get("content"))
    example = example_of(context, place)
    if context.old:
        schema = old_schema(context, place)
        style, explode = old_style(context, place, where)
        example = value.get("x-example", example)
    elif media and "schema" not in value:
        content_type = str(next(iter(media)))
        found = context.resolve(place.at("content", content_type))
        schema = context.schemas.convert(found.at("schema"))
        example = example if example is not None else example_of(context, found)
    elif "schema" not in value and "type" in value:
        context.note(f"{place.pointer}: has its type beside `name`, as in version 2.0: read as its schema")
        schema = old_schema(context, place)
    else:
        schema = context.schemas.convert(place.at("schema"))
    if where == "querystring":
        if content_type != "application/x-www-form-urlencoded":
            raise LeftOut(f"{place.pointer}: a query string of {content_type or 'no type'} cannot be sent")
        where, style, explode, content_type = "query", "form", True, ""
    elif not context.old and not content_type:
        style, explode = style_of(context, place, where)
    example = schema_example(context, schema) if example is None else as_example(context, schema, example)
    return Parameter(
        name=value["name"], wire=value["name"], place=where, schema=schema, required=required or where == "path",
        text=text_of(value.get("description")) or text_of(resolved(schema, context.schemas.found).get("description")),
        example=example, style=style, explode=explode, allow_reserved=flag(value.get("allowReserved")),
        content_type=content_type,
    )  # fmt: skip


def style_of(context: Context, place: Place, where: str) -> tuple[str, bool]:
    """Style and explode of version 3, defaults filled in."""
    style = place.value.get("style")
    known = STYLES[where]
    if style not in known:
        if style is not None:
            context.note(f"{place.pointer}/style: {style!r} is none of a {where} parameter: read as {known[0]}")
        style = known[0]
    style = "form" if style == "cookie" else style
    explode = place.value.get("explode")
    return style, style == "form" if explode is None else flag(explode)


def old_style(context: Context, place: Place, where: str) -> tuple[str, bool]:
    """Style and explode for a `collectionFormat`."""
    usual = "form" if where in ("query", "formData") else "simple"
    collection = place.value.get("collectionFormat", "csv")
    if collection not in COLLECTIONS or (collection == "multi" and usual == "simple"):
        context.note(f"{place.pointer}/collectionFormat: {collection!r} is none of a {where} parameter: read as csv")
        collection = "csv"
    style, explode = COLLECTIONS[collection]
    return style or usual, explode


def old_schema(context: Context, place: Place) -> dict[str, Any]:
    """The schema that the keys of a parameter of 2.0 make up."""
    value = {key: item for key, item in place.value.items() if key in OLD_SCHEMA}
    if isinstance(place.value.get("schema"), Mapping) and "type" not in value:
        # Of version 3, but common in documents that were converted by hand.
        return context.schemas.convert(place.at("schema"))
    return context.schemas.convert(Place(value, place.document, place.pointer))


def schema_example(context: Context, schema: Mapping[str, Any]) -> Any:
    """The first example of a schema, else None."""
    found = resolved(schema, context.schemas.found).get("examples")
    return as_example(context, schema, found[0]) if isinstance(found, list) and found else None


def as_example(context: Context, schema: Mapping[str, Any], example: Any) -> Any:
    """An example as a value of its schema: documents often have numbers and lists as text; None if it is not one."""
    kind = resolved(schema, context.schemas.found).get("type")
    if isinstance(example, str) and kind == "array":
        items = resolved(schema, context.schemas.found).get("items", {})
        return [as_example(context, items, item.strip()) for item in example.split(",")]
    if isinstance(example, str) and isinstance(kind, str):
        return value_in(example, kind)
    if kind == "string" and isinstance(example, int | float) and not isinstance(example, bool):
        return str(example)
    return example


def complete_path(context: Context, path: str, place: Place, found: list[Parameter]) -> list[Parameter]:
    """The parameters with those of the path template: undeclared ones added, ones that it does not have left out."""
    names = list(dict.fromkeys(re.findall(r"\{([^{}]+)\}", path)))
    kept = []
    for parameter in found:
        if parameter.place == "path" and parameter.wire not in names:
            context.note(f"{place.pointer}: the path has no {{{parameter.wire}}}: that parameter is left out")
        else:
            kept.append(parameter)
    for name in names:
        if not any(parameter.place == "path" and parameter.wire == name for parameter in kept):
            context.note(f"{place.pointer}: {{{name}}} of the path is not declared: read as a text")
            kept.append(
                Parameter(name=name, wire=name, place="path", schema={"type": "string"}, required=True, style="simple")
            )
    return kept


def name_all(parameters: list[Parameter]) -> list[Parameter]:
    """The parameters with names in Python, required ones first.

    Names go to path, query, header, cookie and body in the order of the document; of two that would be the same the
    later one gets its place as a suffix, then a number.
    """
    taken: set[str] = set()
    named = []
    for parameter in sorted(parameters, key=lambda parameter: parameter.place in ("body", "content")):
        name = identifier(parameter.wire, otherwise=parameter.place)
        if name in taken:
            suffix = "body" if parameter.place == "content" else parameter.place
            name = f"{name.rstrip('_')}_{suffix}"
        name = unique(name, taken)
        taken.add(name)
        named.append(replace(parameter, name=name))
    return sorted(named, key=lambda parameter: not parameter.required)
