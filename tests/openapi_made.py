"""Small OpenAPI documents for tests, and ways to read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from codenav.tools.model import Operation, Parameter, ToolSpec
from codenav.tools.openapi import read_openapi


def document(paths: dict[str, Any], version: str = "3.1.0", **more: Any) -> dict[str, Any]:
    """A whole document of some paths; operations without responses get one."""
    for item in paths.values():
        for method, operation in item.items() if isinstance(item, dict) else ():
            if isinstance(operation, dict) and "$ref" not in operation and method != "additionalOperations":
                operation.setdefault("responses", {"200": {"description": "Fine."}})
    head = {"swagger": "2.0"} if version == "2.0" else {"openapi": version}
    servers = {"host": "shop.example"} if version == "2.0" else {"servers": [{"url": "https://shop.example"}]}
    return {**head, "info": {"title": "Shop", "version": "1"}, **servers, "paths": paths, **more}


def read(folder: Path, made: dict[str, Any] | str, name: str = "shop.json", **options: Any) -> ToolSpec:
    """The specification of a document that is written into a folder first."""
    path = folder / name
    path.write_text(made if isinstance(made, str) else json.dumps(made), encoding="utf-8")
    return read_openapi(str(path), **options)


def one(folder: Path, operation: dict[str, Any], version: str = "3.1.0", *, path: str = "/things",
        method: str = "get", **more: Any) -> Operation:  # fmt: skip
    """The only operation of a document."""
    spec = read(folder, document({path: {method: operation}}, version, **more))
    assert len(spec.operations) == 1, spec.notes
    return spec.operations[0]


def by_name(operation: Operation) -> dict[str, Parameter]:
    """The parameters of an operation by name."""
    return {parameter.name: parameter for parameter in operation.parameters}
