"""Bodies of requests: one content type is chosen, and the properties of an object become parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from codenav.tools.model import Body, Parameter, Schema
from codenav.tools.openapi.context import Context, LeftOut, example_of, flag, mapping_of, text_of
from codenav.tools.openapi.directions import Directions
from codenav.tools.openapi.parameters import as_example, old_schema, old_style, schema_example
from codenav.tools.references import Place
from codenav.tools.types import flat_object, resolved

JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
BINARY: Schema = {"type": "string", "format": "binary"}


def media_kind(content_type: str) -> str:
    """`json`, `form`, `multipart`, `text`, `any` or `other`."""
    name = content_type.partition(";")[0].strip().lower()
    if name == JSON or name.endswith("+json") or name == "text/json":
        return "json"
    if name == FORM:
        return "form"
    if name == MULTIPART:
        return "multipart"
    if name == "*/*":
        return "any"
    return "text" if name.startswith("text/") else "other"


def is_xml(content_type: str) -> bool:
    """True for XML of any kind."""
    return content_type.partition(";")[0].strip().lower().endswith(("/xml", "+xml"))


PREFERRED = (JSON, "application/merge-patch+json", "application/strategic-merge-patch+json")
"""Of several JSON types the first of these. A merge patch is the changed part of the thing itself (RFC 7396), where
`application/json-patch+json` takes a list of steps."""


def preferred_type(types: Sequence[str]) -> str:
    """The content type to send, out of several: JSON, a form, multipart, text, else the first."""
    by_kind: dict[str, str] = {}
    for name in sorted(types, key=_rank):
        by_kind.setdefault(media_kind(name), name)
    for kind in ("json", "form", "multipart", "any", "text"):
        if kind in by_kind:
            return by_kind[kind]
    return types[0]


def _rank(content_type: str) -> int:
    name = content_type.partition(";")[0].strip().lower()
    if name in PREFERRED:
        return PREFERRED.index(name)
    return len(PREFERRED) + (name == "application/json-patch+json")


def body_of(context: Context, operation: Place) -> tuple[Body | None, list[Parameter]]:
    """The body of an operation of version 3, and its parameter.

    The schemas are not of requests yet: `readOnly` properties are still in them.

    Raises:
        LeftOut: it has no content, or a reference leads nowhere.
    """
    if not isinstance(operation.value.get("requestBody"), Mapping):
        return None, []
    place = context.resolve(operation.at("requestBody"))
    value = mapping_of(place.value)
    contents = context.resolve(place.at("content"))
    content = mapping_of(contents.value)
    if not content:
        raise LeftOut(f"{operation.pointer}/requestBody: a body without content")
    content_type = preferred_type([str(name) for name in content])
    media = context.resolve(contents.at(content_type))
    # Those who forget `required` mean it where the body has required properties; who writes false means that.
    said = value.get("required")
    schema = context.schemas.convert(media.at("schema"))
    encoding = {
        name: {key: item for key, item in mapping_of(found).items() if key in KEPT_ENCODING}
        for name, found in mapping_of(mapping_of(media.value).get("encoding")).items()
    }
    body = Body(content_type=_sent(content_type, schema), required=flag(said), encoding=encoding)
    example = example_of(context, media)
    found = Parameter(
        name="body", wire="body", place="content", schema=schema,
        required=flag(said), text=text_of(value.get("description")), example=example, explode=said is None,
    )  # fmt: skip
    return body, [found]


KEPT_ENCODING = ("allowReserved", "contentType", "explode", "headers", "style")


def _sent(content_type: str, schema: Schema) -> str:
    if media_kind(content_type) != "any":
        return content_type
    return "application/octet-stream" if schema.get("format") == "binary" else JSON


def spread(context: Context, directions: Directions, body: Body, whole: Parameter) -> tuple[Body, list[Parameter]]:
    """The body with its properties as parameters, if it is an object that is made of nothing else."""
    kind = media_kind(body.content_type)
    schema = directions.of_request(whole.schema)
    flat = flat_object(schema, context.schemas.found) if kind in ("json", "form", "multipart") else None
    # `explode` of the whole says that the document did not say whether the body is required.
    forgotten = whole.explode
    if flat is None or not flat[0]:
        if kind == "other" and resolved(schema, context.schemas.found).get("type") not in ("string", None):
            # XML and the like: the text is written by who calls.
            schema = {"type": "string", "description": f"{body.content_type} as text"}
        elif kind == "other" and not schema:
            schema = BINARY
        elif kind == "text" and not schema:
            schema = {"type": "string"}
        return body, [replace(whole, schema=schema, explode=False)]
    properties, required = flat
    needed = body.required or (forgotten and bool(required))
    example = mapping_of(whole.example) or mapping_of(schema_example(context, schema))
    found = [
        Parameter(
            name=name, wire=name, place="body", schema=item, required=needed and name in required,
            text=text_of(resolved(item, context.schemas.found).get("description")),
            example=as_example(context, item, example[name]) if name in example else schema_example(context, item),
        )
        for name, item in properties.items()
    ]  # fmt: skip
    return replace(body, spread=True, required=needed), found


def old_body(
    context: Context, parameters: Mapping[tuple[str, str], Place], operation: Place
) -> tuple[Body | None, list[Parameter]]:
    """The body of an operation of 2.0, and its parameters."""
    types = operation.value.get("consumes", context.library.root.value.get("consumes"))
    types = [name for name in types if isinstance(name, str)] if isinstance(types, list) else []
    bodies = [place for (_, where), place in parameters.items() if where == "body"]
    forms = [place for (_, where), place in parameters.items() if where == "formData"]
    if bodies:
        place = bodies[0]
        schema = context.schemas.convert(place.at("schema"))
        required = flag(place.value.get("required"))
        content_type = preferred_type(
            [name for name in types if media_kind(name) not in ("form", "multipart")] or [JSON]
        )
        found = Parameter(
            name=place.value["name"], wire=place.value["name"], place="content", schema=schema, required=required,
            text=text_of(place.value.get("description")), explode="required" not in place.value,
        )  # fmt: skip
        return Body(content_type=_sent(content_type, schema), required=required), [found]
    if not forms:
        return None, []
    files = any(place.value.get("type") == "file" for place in forms)
    encoding: dict[str, dict[str, Any]] = {}
    found_all = []
    for place in forms:
        name = place.value["name"]
        schema = old_schema(context, place)
        if schema.get("type") == "array":
            style, explode = old_style(context, place, "formData")
            encoding[name] = {"style": style, "explode": explode}
        found_all.append(
            Parameter(
                name=name, wire=name, place="body", schema=schema, required=flag(place.value.get("required")),
                text=text_of(place.value.get("description")), example=place.value.get("x-example"),
            )
        )  # fmt: skip
    kinds = [media_kind(name) for name in types]
    content_type = MULTIPART if files or ("multipart" in kinds and "form" not in kinds) else FORM
    required = any(parameter.required for parameter in found_all)
    return Body(content_type=content_type, required=required, spread=True, encoding=encoding), found_all
