"""Calls drawn with schemathesis, as arguments of ours."""

from __future__ import annotations

import json
import sys
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from codenav.tools.broker.request import Credential
from codenav.tools.model import Operation, Parameter, ToolSpec


def arguments_of(operation: Operation, spec: ToolSpec, case: Any) -> tuple[dict[str, Any], list[Credential], bool]:
    """A drawn call as our arguments and credentials, and if it can be said in them at all."""
    places = {
        "path": dict(case.path_parameters or {}), "query": dict(case.query or {}),
        "header": {name.lower(): value for name, value in dict(case.headers or {}).items()},
        "cookie": dict(case.cookies or {}),
    }  # fmt: skip
    body = None if _without_body(case) else case.body
    rest = dict(body) if isinstance(body, dict) else None
    given: dict[str, Any] = {}
    form = operation.body is not None and "json" not in operation.body.content_type
    for item in operation.parameters:
        if item.place == "content":
            if body is not None:
                given[item.name], body, rest = _with_files(body), None, None
        elif item.place == "body":
            if rest is not None and item.wire in rest:
                value = _with_files(rest.pop(item.wire))
                given[item.name] = _meant(value, item) if form else value
        else:
            wire = item.wire.lower() if item.place == "header" else item.wire
            if wire in places[item.place]:
                given[item.name] = _meant(places[item.place].pop(wire), item)
    credentials = []
    needed = {name for names in operation.security for name in names}
    for scheme in spec.schemes:
        place = operation.key_places.get(scheme.name, scheme.place)
        where = rest if place == "body" else places.get(place)
        wire = scheme.wire.lower() if place == "header" else scheme.wire
        if scheme.name in needed and scheme.type == "key" and isinstance(where, dict) and wire in where:
            credentials.append(Credential(replace(scheme, place=place), where.pop(wire)))
    return given, credentials, not any(places.values()) and not rest


def _meant(value: Any, item: Parameter) -> Any:
    """The value of a parameter that schemathesis has written as text already, as the schema means it."""
    if item.place == "path" and isinstance(value, str):
        value = unquote(value)
    if not isinstance(value, str):
        return value
    if item.content_type.endswith("json"):
        return json.loads(value)
    kind = plain_type(item)
    if kind == "array":
        # The text is the same again whatever the items were, even if one of them holds the delimiter.
        pieces = value.split({"spaceDelimited": " ", "pipeDelimited": "|"}.get(item.style, ","))
        return [_plain(piece, (item.schema.get("items") or {}).get("type")) for piece in pieces]
    return _plain(value, kind)


def _plain(text: str, kind: Any) -> Any:
    """A text as a value of a type."""
    if kind == "boolean" and text in ("true", "false"):
        return text == "true"
    try:
        return {"integer": int, "number": float}[kind](text) if kind in ("integer", "number") else text
    except ValueError:
        return text


def _with_files(value: Any) -> Any:
    """A value with bytes as files."""
    # A class of schemathesis for content.
    value = value.data if type(value).__name__ == "Binary" else value
    if isinstance(value, bytes):
        return {"$file": {"name": "file", "type": "application/octet-stream", "data": b64encode(value).decode()}}
    if isinstance(value, dict):
        return {name: _with_files(item) for name, item in value.items()}
    return [_with_files(item) for item in value] if isinstance(value, list) else value


def _without_body(case: Any) -> bool:
    return type(case.body).__name__ == "NotSet"


def prepared(operation: Operation, case: Any) -> str:
    """Take out of a drawn call what says nothing about our requests; the reason if nothing is left to compare."""
    # Credentials are drawn as headers that follow no scheme's form.
    for name in [name for name in case.headers or {} if name.lower() == "authorization"]:
        del case.headers[name]
    if operation.body is None:
        return ""
    needed = any(item.required for item in operation.parameters if item.place in ("body", "content"))
    if _without_body(case):
        return "no body drawn, where our function asks for what a body needs" if needed else ""
    if operation.body.spread and isinstance(case.body, dict):
        known = {item.wire for item in operation.parameters if item.place == "body"}
        known |= set(operation.key_places) | {name for names in operation.security for name in names}
        for name in [name for name in case.body if name not in known]:
            # Our functions take the properties that a schema names.
            del case.body[name]
    return ""


def plain_type(item: Parameter) -> str:
    """The one type of a parameter; empty if it has several, or is a file."""
    kind = item.schema.get("type")
    binary = item.schema.get("format") == "binary"
    return kind if isinstance(kind, str) and not binary and not {"anyOf", "oneOf", "allOf"} & set(item.schema) else ""


def drawn(document: Any, calls: int) -> Iterator[tuple[str, Any]]:
    """Calls that schemathesis draws, by the id of their operation: the same number of each, at least one."""
    import schemathesis
    from hypothesis import HealthCheck, Phase, given, seed, settings
    from schemathesis import GenerationMode

    schema = schemathesis.openapi.from_dict(document)
    operations = [result.ok() for result in schema.get_all_operations() if type(result).__name__ == "Ok"]
    each = -(-calls // max(1, len(operations)))
    for operation in operations:
        found: list[Any] = []

        @seed(1)
        @settings(
            # The first draw is the smallest one, which is always the same: it is left out where there are others.
            max_examples=each + 1, database=None, deadline=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
        def collect(case: Any) -> None:
            found.append(case)  # noqa: B023 - called before the next turn

        try:
            collect()
        except Exception as error:
            print(f"  schemathesis cannot draw {operation.label}: {str(error).splitlines()[0][:100]}", file=sys.stderr)
        for case in found[1 : each + 1] or found[:1]:
            raw = operation.definition.raw
            yield str(raw.get("operationId") or f"{operation.method.upper()} {operation.path}"), case


def repaired(value: Any, key: str = "") -> Any:
    """A document whose numbers and truth values are none in quotes, at which schemathesis stops."""
    if isinstance(value, dict):
        return {name: repaired(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [repaired(item) for item in value]
    if isinstance(value, str) and key in ("required", "additionalProperties", "nullable", "explode", "deprecated"):
        return {"true": True, "false": False}.get(value, value)
    if isinstance(value, str) and key in ("maximum", "minimum") and value.lstrip("-").isdigit():
        return int(value)
    return value
