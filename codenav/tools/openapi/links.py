"""Links of OpenAPI: what an answer gives to the parameters of another operation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from codenav.tools.model import Link
from codenav.tools.openapi.context import Context, LeftOut, mapping_of
from codenav.tools.openapi.results import answers_at
from codenav.tools.references import Place

_REFERENCE = re.compile(r".*#/paths/(?P<path>[^/]+)/(?P<method>[A-Za-z]+)")
_MOST = 100
"""The most links of an operation that are kept."""


def links_of(context: Context, operation: Place) -> tuple[Link, ...]:
    """The links of the good answers of an operation; a fault in one costs no operation."""
    return tuple(_links(context, operation))[:_MOST]


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
