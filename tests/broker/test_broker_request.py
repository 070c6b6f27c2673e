"""Requests of operations: the tables of RFC 6570 and OpenAPI, bodies, credentials, and what must not get through."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from codenav.tools.addresses import origin
from codenav.tools.broker.request import FORM, Credential, Unsendable, build
from codenav.tools.model import Body, Operation, Parameter, Scheme

SERVER = "https://api.example.com/v1/"
COLORS, POINT = ["blue", "black", "brown"], {"R": 100, "G": 200}


def operation(*parameters: Parameter, path: str = "/x", method: str = "GET", **more: Any) -> Operation:
    return Operation("do", "do", method=method, path=path, parameters=parameters, **more)


def url_of(parameter: Parameter, value: Any, path: str = "/x") -> str:
    built = build(operation(parameter, path=path), {parameter.name: value}, SERVER)
    assert built.url.startswith("https://api.example.com/v1")
    return built.url[len("https://api.example.com/v1") :]


@pytest.mark.parametrize(
    ("style", "explode", "value", "path"),
    [
        ("simple", False, "blue", "/blue"),
        ("simple", False, COLORS, "/blue,black,brown"),
        ("simple", True, COLORS, "/blue,black,brown"),
        ("simple", False, POINT, "/R,100,G,200"),
        ("simple", True, POINT, "/R=100,G=200"),
        ("label", False, "blue", "/.blue"),
        ("label", False, COLORS, "/.blue,black,brown"),
        ("label", True, COLORS, "/.blue.black.brown"),
        ("label", False, POINT, "/.R,100,G,200"),
        ("label", True, POINT, "/.R=100.G=200"),
        ("matrix", False, "blue", "/;color=blue"),
        ("matrix", False, "", "/;color"),
        ("matrix", False, COLORS, "/;color=blue,black,brown"),
        ("matrix", True, COLORS, "/;color=blue;color=black;color=brown"),
        ("matrix", False, POINT, "/;color=R,100,G,200"),
        ("matrix", True, POINT, "/;R=100;G=200"),
        ("", False, True, "/true"),
        ("", False, 3.5, "/3.5"),
        ("", False, "a b/c?d#e%é", "/a%20b%2Fc%3Fd%23e%25%C3%A9"),
    ],
)
def test_path_styles(style: str, explode: bool, value: Any, path: str) -> None:
    parameter = Parameter("color", "color", "path", required=True, style=style, explode=explode)
    assert url_of(parameter, value, "/{color}") == path


@pytest.mark.parametrize(
    ("style", "explode", "value", "query"),
    [
        ("form", False, "blue", "color=blue"),
        ("form", True, COLORS, "color=blue&color=black&color=brown"),
        ("form", False, COLORS, "color=blue,black,brown"),
        ("form", False, POINT, "color=R,100,G,200"),
        ("form", True, POINT, "R=100&G=200"),
        ("spaceDelimited", False, COLORS, "color=blue%20black%20brown"),
        ("spaceDelimited", False, POINT, "color=R%20100%20G%20200"),
        ("pipeDelimited", False, COLORS, "color=blue%7Cblack%7Cbrown"),
        ("pipeDelimited", True, COLORS, "color=blue&color=black&color=brown"),
        ("tabDelimited", False, COLORS, "color=blue%09black%09brown"),
        ("deepObject", True, POINT, "color%5BR%5D=100&color%5BG%5D=200"),
        ("deepObject", True, {"a": {"b": [1, 2]}}, "color%5Ba%5D%5Bb%5D%5B0%5D=1&color%5Ba%5D%5Bb%5D%5B1%5D=2"),
        ("", False, COLORS, "color=blue&color=black&color=brown"),
        ("form", True, "", "color="),
        ("form", True, False, "color=false"),
        ("form", True, "a&b=c#d", "color=a%26b%3Dc%23d"),
        ("form", False, ["a,b", "c"], "color=a%2Cb,c"),
    ],
)
def test_query_styles(style: str, explode: bool, value: Any, query: str) -> None:
    assert url_of(Parameter("color", "color", "query", style=style, explode=explode), value) == f"/x?{query}"


def test_empty_lists_and_none_are_left_out() -> None:
    for style in ("form", "spaceDelimited"):
        for explode in (False, True):
            assert url_of(Parameter("color", "color", "query", style=style, explode=explode), []) == "/x"
    assert url_of(Parameter("color", "color", "query"), None) == "/x"
    assert url_of(Parameter("color", "color", "query", explode=True, style="form"), [None, "a"]) == "/x?color=a"


def test_reserved_characters_stay_where_the_spec_allows_them_and_never_end_the_value() -> None:
    parameter = Parameter("next", "next", "query", style="form", allow_reserved=True)
    assert url_of(parameter, "/a:b?c=d%20e&f#g") == "/x?next=/a:b?c=d%20e%26f%23g"


def test_a_whole_number_written_as_a_float_is_sent_as_an_integer() -> None:
    assert url_of(Parameter("n", "n", "query", {"type": "integer"}), 3.0) == "/x?n=3"
    assert url_of(Parameter("n", "n", "query", {"type": "array", "items": {"type": "integer"}}), [3.0]) == "/x?n=3"
    assert url_of(Parameter("n", "n", "query", {"type": "number"}), 3.0) == "/x?n=3.0"


def test_a_parameter_with_a_media_type_is_json() -> None:
    parameter = Parameter("filter", "filter", "query", content_type="application/json")
    assert url_of(parameter, {"a": [1, "é"]}) == "/x?filter=%7B%22a%22%3A%5B1%2C%22%C3%A9%22%5D%7D"


def test_headers_and_cookies() -> None:
    built = build(
        operation(
            Parameter("trace", "X-Trace", "header"),
            Parameter("ids", "X-Ids", "header"),
            Parameter("point", "X-Point", "header", explode=True),
            Parameter("session", "session", "cookie"),
            Parameter("more", "more", "cookie"),
            result_types=("application/json",),
        ),
        {"trace": "é t", "ids": [1, 2], "point": POINT, "session": "a;b=c\r\n", "more": "d"},
        SERVER,
    )
    headers = dict(built.headers)
    assert headers["X-Trace"].encode("latin-1").decode() == "é t"
    assert headers["X-Ids"] == "1,2"
    assert headers["X-Point"] == "R=100,G=200"
    assert headers["Cookie"] == "session=a%3Bb%3Dc%0D%0A; more=d"
    assert headers["Accept"] == "application/json, */*;q=0.1"
    assert built.body is None


JSON_BODY = Body("application/json", required=True, spread=True)


def test_a_spread_json_body_has_the_names_of_the_wire() -> None:
    made = operation(
        Parameter("from_", "from", "body"), Parameter("id_body", "id", "body"), Parameter("none", "none", "body"),
        method="POST", body=JSON_BODY,
    )  # fmt: skip
    built = build(made, {"from_": "é", "id_body": {"a": 1}, "none": None}, SERVER)
    assert json.loads(built.body or b"") == {"from": "é", "id": {"a": 1}, "none": None}
    assert dict(built.headers)["Content-Type"] == "application/json"


def test_a_body_that_is_not_required_and_not_given_is_not_sent() -> None:
    made = operation(Parameter("a", "a", "body"), method="POST", body=Body("application/json", spread=True))
    assert build(made, {}, SERVER).body is None
    required = operation(Parameter("a", "a", "body"), method="POST", body=JSON_BODY)
    assert build(required, {}, SERVER).body == b"{}"


def file(name: str = "a.png", content: bytes = b"\x00\r\n--x", kind: str = "image/png") -> dict[str, Any]:
    return {"$file": {"name": name, "type": kind, "data": base64.b64encode(content).decode()}}


@pytest.mark.parametrize(
    ("content_type", "value", "sent_type", "body"),
    [
        ("application/json", [1, None], "application/json", b"[1,null]"),
        ("application/vnd.api+json", "a", "application/vnd.api+json", b'"a"'),
        ("text/plain", "é", "text/plain; charset=utf-8", "é".encode()),
        ("text/plain", 3, "text/plain", b"3"),
        ("application/xml", "<a/>", "application/xml", b"<a/>"),
        ("application/octet-stream", file(), "application/octet-stream", b"\x00\r\n--x"),
        ("image/*", file(), "image/png", b"\x00\r\n--x"),
        ("*/*", {"a": 1}, "application/json", b'{"a":1}'),
        ("application/x-www-form-urlencoded", {"a": "b c&d", "e": [1, 2], "f": {"g": 1}, "h": None},
         "application/x-www-form-urlencoded", b"a=b+c%26d&e=1&e=2&f=%7B%22g%22%3A1%7D"),
    ],
)  # fmt: skip
def test_whole_bodies(content_type: str, value: Any, sent_type: str, body: bytes) -> None:
    made = operation(Parameter("body", "body", "content"), method="POST", body=Body(content_type))
    built = build(made, {"body": value}, SERVER)
    assert (dict(built.headers)["Content-Type"], built.body) == (sent_type, body)


def test_a_form_follows_its_encoding_objects() -> None:
    encoding = {"expand": {"style": "deepObject", "explode": True}, "ids": {"style": "form", "explode": False}}
    body = Body("application/x-www-form-urlencoded", spread=True, encoding=encoding)
    made = operation(Parameter("expand", "expand", "body"), Parameter("ids", "ids", "body"), method="POST", body=body)
    assert build(made, {"expand": ["a"], "ids": [1, 2]}, SERVER).body == b"expand%5B0%5D=a&ids=1,2"


def test_multipart_with_files_lists_and_objects() -> None:
    from tool_service import Seen

    names = ("image", "caption", "tags", "meta")
    body = Body("multipart/form-data", spread=True, encoding={"meta": {"contentType": "application/vnd.x+json"}})
    made = operation(*(Parameter(name, name, "body") for name in names), method="POST", body=body)
    given = {"image": file('a"\r\nX: y.png'), "caption": "é", "tags": ["a", "b"], "meta": {"k": 1}}
    built = build(made, given, SERVER)
    seen = Seen("POST", "/x", "", {"content-type": dict(built.headers)["Content-Type"]}, built.body or b"")
    parts = seen.parts()
    assert parts["image"] == ("a%22%0D%0AX: y.png", "image/png", b"\x00\r\n--x")
    assert parts["caption"][2].decode() == "é"
    assert parts["meta"][1:] == ("application/vnd.x+json", b'{"k":1}')
    assert (built.body or b"").count(b'name="tags"') == 2


CREDENTIALS = {
    "header": Credential(Scheme("k", "key", "header", "X-Key", "Bot "), "s e"),
    "query": Credential(Scheme("k", "key", "query", "api_key"), "s&e"),
    "cookie": Credential(Scheme("k", "key", "cookie", "sid"), "s;e"),
    "path": Credential(Scheme("k", "key", "path", "token"), "s/e"),
    "body": Credential(Scheme("k", "key", "body", "token"), "s"),
    "basic": Credential(Scheme("k", "basic"), "ada:pass"),
    "bearer": Credential(Scheme("k", "bearer"), "tok"),
    "oauth2": Credential(Scheme("k", "oauth2"), "tok2"),
}


def test_credentials_go_where_their_scheme_says() -> None:
    made = operation(Parameter("q", "q", "query"), path="/x")
    sent = {way: build(made, {"q": 1}, SERVER, [scheme]) for way, scheme in CREDENTIALS.items() if way != "path"}
    assert dict(sent["header"].headers)["X-Key"] == "Bot s e"
    assert sent["query"].url.endswith("/x?q=1&api_key=s%26e")
    assert dict(sent["cookie"].headers)["Cookie"] == "sid=s%3Be"
    assert (dict(sent["body"].headers)["Content-Type"], sent["body"].body) == (FORM, b"token=s")
    assert dict(sent["basic"].headers)["Authorization"] == "Basic " + base64.b64encode(b"ada:pass").decode()
    assert dict(sent["bearer"].headers)["Authorization"] == "Bearer tok"
    assert dict(sent["oauth2"].headers)["Authorization"] == "Bearer tok2"
    assert build(operation(path="/bot{token}/me"), {}, SERVER, [CREDENTIALS["path"]]).url.endswith("/v1/bots%2Fe/me")
    into_json = build(operation(Parameter("a", "a", "body"), body=JSON_BODY), {"a": 1}, SERVER, [CREDENTIALS["body"]])
    assert json.loads(into_json.body or b"") == {"a": 1, "token": "s"}


def test_an_argument_does_not_replace_a_credential() -> None:
    made = operation(Parameter("auth", "Authorization", "header"))
    headers = build(made, {"auth": "mine"}, SERVER, [CREDENTIALS["bearer"]]).headers
    assert [value for name, value in headers if name.lower() == "authorization"] == ["Bearer tok"]


@pytest.mark.parametrize(
    ("parameter", "value", "path"),
    [
        (Parameter("id", "id", "path"), "..", "/{id}"),
        (Parameter("id", "id", "path"), ".", "/{id}/x"),
        (Parameter("id", "id", "path"), "../admin", "/{id}"),
        (Parameter("id", "id", "path"), "a\\..\\b", "/{id}"),
        (Parameter("id", "id", "path"), ".", "/.{id}/x"),
        (Parameter("id", "id", "path", style="label"), ".", "/{id}"),
        (Parameter("id", "id", "path", allow_reserved=True), "a/%2e%2e/b", "/{id}"),
        (Parameter("id", "id", "path"), "", "/{id}"),
        (Parameter("id", "id", "path"), None, "/{id}"),
        (Parameter("id", "id", "path"), "\ud800", "/{id}"),
        (Parameter("h", "X-H", "header"), "a\r\nX-Key: b", "/x"),
        (Parameter("h", "X-H", "header"), "a\nb", "/x"),
        (Parameter("h", "X-H", "header"), "a\0b", "/x"),
        (Parameter("h", "Host", "header"), "elsewhere.example", "/x"),
        (Parameter("h", "transfer-encoding", "header"), "chunked", "/x"),
        (Parameter("h", "Content-Length", "header"), "0", "/x"),
        (Parameter("h", "Proxy-Authorization", "header"), "x", "/x"),
        (Parameter("h", "X\r\nY", "header"), "x", "/x"),
    ],
)
def test_what_leads_elsewhere_is_refused(parameter: Parameter, value: Any, path: str) -> None:
    with pytest.raises(Unsendable) as refused:
        build(operation(parameter, path=path), {parameter.name: value}, SERVER)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "value", ["//evil.example/x", "@evil.example", "https://evil.example", "\\\\evil", "?a#b", ":9"]
)
def test_no_argument_names_another_host(value: str) -> None:
    parameter = Parameter("id", "id", "path", allow_reserved=True)
    for path in ("/{id}", "{id}", "https://api.example.com/{id}"):
        built = build(operation(parameter, path=path), {"id": value}, "https://api.example.com")
        assert origin(built.url) == ("https", "api.example.com", 443)
    with pytest.raises(Unsendable):
        build(operation(parameter, path="https://{id}.example.com/"), {"id": value}, "")


def test_a_whole_url_and_a_server_in_its_place() -> None:
    made = operation(Parameter("city", "city", "path"), path="https://weather.example.com/now/{city}?units=c")
    assert build(made, {"city": "Ulm"}, "").url == "https://weather.example.com/now/Ulm?units=c"
    assert build(made, {"city": "Ulm"}, "http://localhost:1").url == "http://localhost:1/now/Ulm?units=c"
