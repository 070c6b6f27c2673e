"""Security schemes, what operations need, and tokens that a document hides in parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from openapi_made import document, read

from codenav.tools.model import Scheme, ToolSpec

KEY = {"type": "apiKey", "in": "header", "name": "X-Key"}
TEXT = {"type": "string"}


def of_schemes(folder: Path, schemes: dict[str, Any], version: str = "3.1.0", **more: Any) -> ToolSpec:
    named = {"securityDefinitions": schemes} if version == "2.0" else {"components": {"securitySchemes": schemes}}
    operations = more.pop("operations", {"get": {}})
    return read(folder, document({"/a": operations}, version, **named, **more))


FLOW = {"tokenUrl": "https://id.example/token", "scopes": {"read": "Read."}}
BROWSER = {"authorizationUrl": "https://id.example/auth", "tokenUrl": "https://id.example/token", "scopes": {}}


@pytest.mark.parametrize(
    ("version", "given", "made"),
    [
        ("3.1.0", {**KEY, "description": "From us."}, Scheme("s", "key", "header", "X-Key", text="From us.")),
        ("3.0.3", {"type": "apiKey", "in": "cookie", "name": "sid"}, Scheme("s", "key", "cookie", "sid")),
        ("2.0", {"type": "apiKey", "in": "query", "name": "key"}, Scheme("s", "key", "query", "key")),
        ("3.1.0", {"type": "http", "scheme": "Basic"}, Scheme("s", "basic")),
        ("2.0", {"type": "basic"}, Scheme("s", "basic")),
        ("3.1.0", {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}, Scheme("s", "bearer")),
        ("3.1.0", {"type": "http", "scheme": "Bot"}, Scheme("s", "key", "header", "Authorization", "Bot ")),
        ("3.1.0", {"type": "oauth2", "flows": {"clientCredentials": FLOW, "authorizationCode": BROWSER}},
         Scheme("s", "oauth2", token_url="https://id.example/token")),
        ("2.0", {"type": "oauth2", "flow": "application", **FLOW},
         Scheme("s", "oauth2", token_url="https://id.example/token")),
        ("3.1.0", {"type": "oauth2", "flows": {"authorizationCode": BROWSER}}, Scheme("s", "bearer")),
        ("2.0", {"type": "oauth2", "flow": "accessCode", **BROWSER}, Scheme("s", "bearer")),
        ("3.1.0", {"type": "openIdConnect", "openIdConnectUrl": "https://id.example/"}, Scheme("s", "bearer")),
    ],
)  # fmt: skip
def test_schemes(tmp_path: Path, version: str, given: dict[str, Any], made: Scheme) -> None:
    spec = of_schemes(tmp_path, {"s": given}, version, security=[{"s": ["read"] if made.type == "oauth2" else []}])
    assert list(spec.schemes) == [made]
    (operation,) = spec.operations
    assert [list(names) for names in operation.security] == [["s"]]
    assert {name: list(scopes) for name, scopes in operation.scopes.items()} == (
        {"s": ["read"]} if made.type == "oauth2" else {}
    )


@pytest.mark.parametrize("given", [{"type": "mutualTLS"}, {"type": "http", "scheme": "digest"}, {"type": "apiKey"},
                                   {"$ref": "#/nowhere"}, 3])  # fmt: skip
def test_schemes_that_cannot_be_used(tmp_path: Path, given: Any) -> None:
    spec = of_schemes(tmp_path, {"s": given, "k": KEY}, security=[{"s": []}, {"k": []}])
    assert [scheme.name for scheme in spec.schemes] == ["k"]
    assert [list(names) for names in spec.operations[0].security] == [["k"]]
    assert any("/components/securitySchemes/s" in note for note in spec.notes)


def test_a_scheme_by_reference(tmp_path: Path) -> None:
    spec = of_schemes(tmp_path, {"s": {"$ref": "#/components/securitySchemes/k"}, "k": KEY}, security=[{"s": []}])
    assert spec.schemes[0] == Scheme("s", "key", "header", "X-Key")


@pytest.mark.parametrize(
    ("given", "needed"),
    [
        (None, [["a"]]),
        ([], []),
        ([{}], [[]]),
        ([{"b": []}, {"a": [], "b": []}], [["b"], ["a", "b"]]),
        ([{"a": []}, {}], [["a"], []]),
        ([{"unknown": []}, {"b": []}], [["b"]]),
    ],
)
def test_any_of_all_of_none(tmp_path: Path, given: Any, needed: list[list[str]]) -> None:
    schemes = {"a": KEY, "b": {"type": "http", "scheme": "basic"}}
    operation = {} if given is None else {"security": given}
    spec = of_schemes(tmp_path, schemes, operations={"get": operation}, security=[{"a": []}])
    assert [list(names) for names in spec.operations[0].security] == needed


def test_a_token_in_parameters_as_in_slack(tmp_path: Path) -> None:
    def token(where: str, required: bool = True) -> dict[str, Any]:
        return {"name": "token", "in": where, "type": "string", "required": required}

    oauth = [{"slack": ["chat:write"]}]
    paths = {
        "/a": {"post": {"parameters": [token("header")], "security": oauth}},
        "/b": {"get": {"parameters": [token("query"), {**token("query"), "name": "q"}], "security": oauth}},
        "/c": {"post": {"parameters": [token("formData"), {"name": "f", "in": "formData", "type": "string"}]}},
        "/d": {"get": {"parameters": [token("query", required=False)]}},
        "/e": {"get": {"security": oauth}},
    }  # fmt: skip
    schemes = {"slack": {"type": "oauth2", "flow": "accessCode", **BROWSER}}
    spec = read(tmp_path, document(paths, "2.0", securityDefinitions=schemes))
    assert list(spec.schemes) == [Scheme("slack", "bearer"), Scheme("token", "key", "header", "token")]
    found = [
        ([item.name for item in made.parameters], [list(names) for names in made.security], dict(made.key_places))
        for made in spec.operations
    ]
    assert found == [
        ([], [["token"]], {}), (["q"], [["token"]], {"token": "query"}), (["f"], [["token"]], {"token": "body"}),
        ([], [["token"], []], {"token": "query"}), ([], [["slack"]], {}),
    ]  # fmt: skip
    del paths["/e"]
    spec = read(tmp_path, document(paths, "2.0", securityDefinitions=schemes))
    assert [scheme.name for scheme in spec.schemes] == ["token"]


@pytest.mark.parametrize("name", ["api_key", "apikey", "X-API-Key", "access_token", "api-key"])
@pytest.mark.parametrize("where", ["query", "header"])
def test_keys_by_name(tmp_path: Path, name: str, where: str) -> None:
    parameter = {"name": name, "in": where, "schema": TEXT}
    spec = read(tmp_path, document({"/a": {"get": {"parameters": [parameter]}}, "/b": {"get": {}}}))
    assert list(spec.schemes) == [Scheme(name, "key", where, name)]
    assert [list(operation.parameters) for operation in spec.operations] == [[], []]
    assert [list(names) for names in spec.operations[0].security] == [[name], []]


def test_a_header_with_credentials(tmp_path: Path) -> None:
    parameter = {"name": "Authorization", "in": "header", "required": True, "schema": TEXT}
    paths = {f"/{number}": {"get": {}} for number in range(5)}
    spec = read(tmp_path, document({"/a": {"get": {"parameters": [parameter]}}, **paths}))
    assert list(spec.schemes) == [Scheme("Authorization", "key", "header", "Authorization")]
    assert [list(names) for names in spec.operations[0].security] == [["Authorization"]]


def test_a_token_in_few_operations_is_an_argument(tmp_path: Path) -> None:
    parameter = {"name": "token", "in": "query", "schema": TEXT}
    body = {"requestBody": {"content": {"application/json": {"schema": {"properties": {"token": TEXT}}}}}}
    paths = {"/reset": {"get": {"parameters": [parameter]}, "post": body}, "/a": {"get": {}}, "/b": {"get": {}},
             "/c": {"get": {}}}  # fmt: skip
    spec = read(tmp_path, document(paths))
    assert list(spec.schemes) == []
    assert [[item.name for item in operation.parameters] for operation in spec.operations[:2]] == [["token"], ["token"]]
    number = {"name": "token", "in": "query", "schema": {"type": "integer"}}
    spec = read(tmp_path, document({f"/{at}": {"get": {"parameters": [number]}} for at in range(3)}))
    assert list(spec.schemes) == []


def test_the_parameter_of_a_declared_key_is_no_argument(tmp_path: Path) -> None:
    parameter = {"name": "x-key", "in": "header", "schema": TEXT, "required": True}
    spec = of_schemes(tmp_path, {"s": KEY}, security=[{"s": []}], operations={"get": {"parameters": [parameter]}})
    assert list(spec.operations[0].parameters) == []
    assert [list(names) for names in spec.operations[0].security] == [["s"]]
