"""JSON Schemas (2020-12) of the documents that `--json` prints, of records, and of tool set files.

In the files an object with a fixed set of keys is written as its `$keys`, which are all required but those that
`$optional` names.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any

from codenav.core.errors import NotFound

_SUFFIX = ".schema.json"
_URN = "urn:codenav:schema:"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


@cache
def names() -> tuple[str, ...]:
    """The names that `load` accepts, sorted."""
    files = (entry.name for entry in resources.files("codenav.core.schemas").iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX)))


def load(name: str) -> dict[str, Any]:
    """The schema of that name, with the schemas that it refers to under `$defs`.

    Raises:
        NotFound: there is no schema of that name.
    """
    if name not in names():
        near = difflib.get_close_matches(name, names(), n=1)
        raise NotFound(
            f"no schema {name!r}", hint=f"did you mean {near[0]}?" if near else f"schemas: {', '.join(names())}"
        )
    schema = _read(name)
    wanted, held = set(_references(schema)) - {name}, {}
    while wanted:
        other = wanted.pop()
        held[other] = _read(other)
        wanted |= set(_references(held[other])) - {name, *held}
    if held:
        schema["$defs"] = {**schema.get("$defs", {}), **{key: held[key] for key in sorted(held)}}
    return schema


def _read(name: str) -> dict[str, Any]:
    text = resources.files("codenav.core.schemas").joinpath(name + _SUFFIX).read_text(encoding="utf-8")
    return {"$schema": _DIALECT, "$id": f"{_URN}{name}", **_expanded(json.loads(text))}


def _expanded(node: Any) -> Any:
    """A schema in which objects with `$keys` are spelt out."""
    if isinstance(node, list):
        return [_expanded(value) for value in node]
    if not isinstance(node, dict):
        return node
    found = {key: _expanded(value) for key, value in node.items()}
    keys, optional = found.pop("$keys", None), found.pop("$optional", ())
    if keys is None:
        return found
    required = [key for key in keys if key not in optional]
    return {**found, "type": "object", "properties": keys, "required": required, "additionalProperties": False}


def _references(node: Any) -> Iterator[str]:
    """The names of the schemas that a schema refers to."""
    if isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str) and reference.startswith(_URN):
            yield reference.removeprefix(_URN).partition("#")[0]
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)
