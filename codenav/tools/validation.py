"""Documents against the OpenAPI specification: each violation with its path, in one line."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from codenav.core.errors import UsageError
from codenav.tools.references import Library, Place, Unresolved

METHODS = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"})
VERSIONS = ("2.0", "3.0", "3.1", "3.2")
MOST = 1_000
"""Violations that are looked at."""
LONGEST = 200
"""Characters of a message."""


def version_of(root: Any, name: str) -> str:
    """`2.0`, `3.0`, `3.1` or `3.2`.

    Raises:
        UsageError: the document is of no version that can be read.
    """
    if not isinstance(root, Mapping):
        raise UsageError(f"{name} is a list, no OpenAPI document")
    if "swagger" in root or "openapi" in root:
        given = root.get("openapi", root.get("swagger"))
        for version in VERSIONS:
            if re.fullmatch(rf"{re.escape(version)}(\.\d+)?([-+].*)?", str(given)):
                return version
        raise UsageError(f"{name} is of OpenAPI {given}; versions 2.0, 3.0, 3.1 and 3.2 can be read")
    if "swaggerVersion" in root:
        raise UsageError(
            f"{name} is of Swagger {root['swaggerVersion']}; versions 2.0, 3.0, 3.1 and 3.2 can be read",
            hint="convert it with swagger-converter",
        )
    hint = "tools:FILE reads function lists" if "tools" in root or "functions" in root else None
    raise UsageError(f"{name} is no OpenAPI document: it has neither `openapi` nor `swagger`", hint=hint)


@cache
def _validator(version: str) -> Any:
    """The validator for the meta-schema of a version; that of 3.1 and 3.2 looks into schemas, too."""
    import jsonschema_rs

    # Only its files: to import the package takes over half a second.
    spec = importlib.util.find_spec("openapi_spec_validator")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'openapi_spec_validator'", name="openapi_spec_validator")
    folder = Path(spec.submodule_search_locations[0]) / "resources" / "schemas" / f"v{version}"
    meta = orjson.loads((folder / "schema.json").read_bytes())
    if version in ("3.1", "3.2"):
        # The specification's own way: what a schema is, is left open there for the dialect.
        dialect = {"$dynamicAnchor": "meta", "$ref": "https://json-schema.org/draft/2020-12/schema"}
        meta = {
            "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:codenav:document",
            "$ref": meta["$id"], "$defs": {"document": meta, "schema": dialect},
        }  # fmt: skip
    return jsonschema_rs.validator_for(meta)


def violations_of(library: Library) -> list[tuple[str, str]]:
    """The places where a document breaks the meta-schema of its version: JSON pointers, each with a sentence.

    The reader does not ask for them: it notes what it repairs or leaves out.
    """
    version = version_of(library.root.value, library.main)
    found: dict[tuple[str, str], None] = {}
    for error in _validator(version).iter_errors(_written_out(library)):
        found |= {(pointer(path), _short(message)): None for path, message in _meant(error)}
        if len(found) >= MOST:
            break
    return list(found)


def _written_out(library: Library) -> Any:
    """The document with the operations that stand in other files, as no meta-schema knows one that is a `$ref`."""
    root, paths = library.root.value, library.root.at("paths")
    with suppress(Unresolved):
        paths = library.resolve(paths)
    items = paths.value if isinstance(paths.value, Mapping) else {}
    found = {
        path: {**value, **{method: place.value for method, place in _operations(library, paths.at(path))}}
        for path, value in items.items()
        if isinstance(value, Mapping)
    }
    return {**root, "paths": {**root["paths"], **found}} if found and "$ref" not in root["paths"] else root


def _operations(library: Library, item: Place) -> Iterator[tuple[str, Place]]:
    """The operations of a path item, references followed as far as they lead somewhere."""
    for method, value in item.value.items():
        if method in METHODS and isinstance(value, Mapping):
            # The reader names one that leads nowhere.
            with suppress(Unresolved):
                yield method, library.resolve(item.at(method), beside=None)


Fault = tuple[list[str | int], str]
"""Path and message."""


def _meant(error: Any) -> list[Fault]:
    """The violations of the branch that is meant where none of several alternatives holds: that which came furthest."""
    path = list(error.instance_path)
    context = getattr(error.kind, "context", None)
    if not context:
        return [(path, error.message)]
    best: tuple[tuple[bool, int, int], list[Fault]] | None = None
    for branch in context:
        faults = [fault for inner in branch for fault in _meant(inner)]
        # A reference is asked for where the author wrote the thing itself.
        if not faults or any('"$ref" is a required property' in text for _, text in faults):
            continue
        # The kinds of parameters are such branches: one of another place is not meant.
        other = any(where[-1:] == ["in"] for where, _ in faults)
        rank = (not other, max(len(where) for where, _ in faults), -len(faults))
        if best is None or rank > best[0]:
            best = rank, faults
    if best is None:
        return [(path, error.message)]
    if not best[0][0]:
        value = error.instance.get("in") if isinstance(error.instance, dict) else None
        return [([*path, "in"], f"there are no parameters in {value!r}")]
    return best[1]


def pointer(path: Sequence[object]) -> str:
    """A JSON pointer of keys; `/` is the whole document."""
    return "".join(f"/{str(key).replace('~', '~0').replace('/', '~1')}" for key in path) or "/"


def _short(message: str) -> str:
    message = re.sub(r"\s+", " ", message).strip()
    if len(message) <= LONGEST:
        return message
    # The value that is wrong may be long; what is wrong about it stands behind it.
    return f"{message[: LONGEST - 81]}…{message[-80:]}"
