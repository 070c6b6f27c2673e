"""Violations of the OpenAPI specification, each with its path, in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from openapi_made import document

from codenav.core.errors import UsageError
from codenav.tools.references import Library
from codenav.tools.validation import violations_of

TEXT = {"type": "string"}
VERSIONS = ("2.0", "3.0.3", "3.1.0", "3.2.0")


def found(folder: Path, made: dict[str, Any]) -> list[tuple[str, str]]:
    path = folder / "shop.json"
    path.write_text(json.dumps(made))
    return violations_of(Library(str(path)))


def parameter(version: str, **more: Any) -> dict[str, Any]:
    kind: dict[str, Any] = TEXT if version == "2.0" else {"schema": TEXT}
    return {"name": "q", "in": "query", **kind, **more}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_valid_document(tmp_path: Path, version: str) -> None:
    operation = {"parameters": [parameter(version), parameter(version, name="id", required=True, **{"in": "path"})]}
    assert found(tmp_path, document({"/a/{id}": {"get": operation}}, version)) == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        ({"cache": "no"}, "/paths/~1a/get", "'cache' was unexpected"),
        ({"parameters": {}}, "/paths/~1a/get/parameters", "is not of type"),
        ({"parameters": [{"in": "query", "schema": {}}]}, "/paths/~1a/get/parameters/0", '"name" is a required'),
        ({"responses": 3}, "/paths/~1a/get/responses", "is not of type"),
        ({"deprecated": "no"}, "/paths/~1a/get/deprecated", '"no" is not of type "boolean"'),
    ],
)
def test_each_with_its_path(tmp_path: Path, version: str, change: dict[str, Any], path: str, message: str) -> None:
    if version == "2.0" and change.get("parameters") == [{"in": "query", "schema": {}}]:
        change = {"parameters": [{"in": "query", "type": "string"}]}
    made = document({"/a": {"get": change}, "/b": {"get": {"operationId": "other"}}}, version)
    listed = found(tmp_path, made)
    assert any(where == path and message in text for where, text in listed), listed
    assert all("\n" not in where + text and len(text) <= 200 for where, text in listed)


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_schemas_are_looked_into(tmp_path: Path, version: str) -> None:
    made = document(
        {"/a": {"get": {}}}, version, components={"schemas": {"A": {"properties": {"b": {"type": "text"}}}}}
    )
    listed = dict(found(tmp_path, made))
    assert '"text" is not one of' in listed["/components/schemas/A/properties/b/type"]


def test_all_violations_of_what_is_meant(tmp_path: Path) -> None:
    wrong = {"name": "q", "in": "query", "required": "true", "schema": {"type": "string", "maxLength": "9"}}
    listed = dict(found(tmp_path, document({"/a": {"get": {"parameters": [wrong]}}}, "3.0.3")))
    assert listed == {
        "/paths/~1a/get/parameters/0/required": '"true" is not of type "boolean"',
        "/paths/~1a/get/parameters/0/schema/maxLength": '"9" is not of type "integer"',
    }
    wrong = {"name": "q", "in": "body", "schema": TEXT}
    listed = dict(found(tmp_path, document({"/a": {"get": {"parameters": [wrong]}}}, "3.0.3")))
    assert listed == {"/paths/~1a/get/parameters/0/in": "there are no parameters in 'body'"}


def test_no_document(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a list, no OpenAPI document"):
        found(tmp_path, [])  # type: ignore[arg-type]
    assert found(tmp_path, {"openapi": "3.1.0", "info": {"title": "a", "version": "1"}}) == [
        ("/", '"paths" is a required property')
    ]
