"""The HTTP request of an operation with its arguments: method, URL, headers and body, as OpenAPI writes them.

Nothing in an argument reaches another place of the request than its own: in URLs and cookies values are
percent-encoded, and what cannot be encoded (line ends in headers, `..` in a path) is refused.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import quote, quote_plus, unquote, urlsplit

from codenav.tools.model import Body, Operation, Parameter, Scheme

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
_RESERVED = ":/?@!$'()*,;="
"""Characters that `allowReserved` leaves as they are. `#`, `&`, `+`, `[` and `]` would end or split a value."""
_LITERAL = "/:@!$&'()*+,;=~%"
"""Characters of a path template that stay as they are."""
_TRIPLE = re.compile("%[0-9A-Fa-f]{2}")
_TEMPLATE = re.compile(r"\{([^{}]*)\}")
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f]")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_OF_THE_CONNECTION = frozenset(
    ("connection", "content-length", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade")
)
"""Headers that no argument sets: they say where the request goes, and where it ends."""
_DELIMITERS = {"spaceDelimited": "%20", "pipeDelimited": "%7C", "tabDelimited": "%09"}


class Unsendable(ValueError):
    """Arguments that make no request. The message is one sentence."""


class Request(NamedTuple):
    """An HTTP request. Header values hold characters up to U+00FF only, each of which is a byte."""

    method: str
    url: str
    headers: Sequence[tuple[str, str]] = ()
    body: bytes | None = None


class Credential(NamedTuple):
    """A scheme with its value: `user:password` for a basic one, the token for one of OAuth2."""

    scheme: Scheme
    value: str

    @property
    def key(self) -> str:
        """The value of a key as it is sent."""
        return self.scheme.prefix + self.value


Given = Sequence[tuple[Parameter, Any]]
"""Parameters with their arguments."""


def build(
    operation: Operation, arguments: Mapping[str, Any], server: str, credentials: Sequence[Credential] = ()
) -> Request:
    """Return the request of an operation with arguments by their names in Python.

    `server`: base URL, without which the operation's path is a whole URL. Files are
    `{"$file": {"name", "type", "data"}}` with base64.

    Raises:
        Unsendable: an argument cannot be written where it belongs.
    """
    try:
        return _built(operation, arguments, server, credentials)
    except UnicodeEncodeError:
        raise Unsendable("an argument is no text: it has half of a surrogate pair") from None


def _built(
    operation: Operation, arguments: Mapping[str, Any], server: str, credentials: Sequence[Credential]
) -> Request:
    given = [
        (parameter, arguments[parameter.name])
        for parameter in operation.parameters
        if arguments.get(parameter.name) is not None
        or (parameter.name in arguments and parameter.place in ("body", "content"))
    ]
    keys = {place: [one for one in credentials if one.scheme.type == "key" and one.scheme.place == place]
            for place in ("path", "query", "body")}  # fmt: skip
    url, query = _target(operation, given, server, keys["path"])
    for parameter, value in _at("query", given):
        query += _query(parameter, value)
    query += [f"{quote(key.scheme.wire, safe='')}={quote(key.key, safe='')}" for key in keys["query"]]
    headers = _headers(operation, given, credentials)
    content_type, body = _body(operation, given, keys["body"])
    if content_type:
        headers = [pair for pair in headers if pair[0].lower() != "content-type"]
        headers.append(("Content-Type", _header("Content-Type", content_type)))
    whole = f"{url}?{'&'.join(query)}" if query else url
    return Request(operation.method, whole, headers, body)


def _at(place: str, given: Given) -> Given:
    return [(parameter, value) for parameter, value in given if parameter.place == place]


# Values as text.


def _text(value: Any, schema: Mapping[str, Any] | None = None) -> str:
    """Return a value as text: JSON's words for bool and None, JSON for what is in no table of OpenAPI."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and (schema or {}).get("type") == "integer":
        return str(int(value))
    return _json(value)


def _json(value: Any, *, ascii_only: bool = False) -> str:
    return json.dumps(with_files(value, lambda file: file["data"]), ensure_ascii=ascii_only, separators=(",", ":"))


def with_files(value: Any, change: Callable[[dict[str, Any]], Any]) -> Any:
    """Return JSON data with each file in it changed."""
    if is_file(value):
        return change(value["$file"])
    if isinstance(value, dict):
        return {name: with_files(item, change) for name, item in value.items()}
    return [with_files(item, change) for item in value] if isinstance(value, list) else value


def is_file(value: Any) -> bool:
    """True for a file among arguments: `{"$file": {"name", "type", "data"}}`."""
    file = value["$file"] if isinstance(value, dict) and set(value) == {"$file"} else None
    return isinstance(file, dict) and isinstance(file.get("data"), str)


def _encoder(parameter: Parameter) -> Callable[[str], str]:
    """Return the function that makes text safe inside a URL."""
    if not parameter.allow_reserved:
        return lambda text: quote(text, safe="")

    def kept(text: str) -> str:
        found, at = "", 0
        for match in _TRIPLE.finditer(text):
            found += quote(text[at : match.start()], safe=_RESERVED) + match.group()
            at = match.end()
        return found + quote(text[at:], safe=_RESERVED)

    return kept


def _parts(value: Any, schema: Mapping[str, Any] | None, joint: str, encode: Callable[[str], str]) -> list[str]:
    """Return the items of a list, or the pairs of an object, as texts; undefined ones are left out."""
    if isinstance(value, dict):
        return [f"{encode(str(name))}{joint}{encode(_text(item))}" for name, item in value.items() if item is not None]
    items = (schema or {}).get("items")
    return [encode(_text(item, items if isinstance(items, dict) else None)) for item in value if item is not None]


def _expanded(parameter: Parameter, value: Any, separator: str, joint: str) -> str:
    """Return a value as RFC 6570 writes it: items with a separator, names and values of an object with a joint."""
    encode = _encoder(parameter)
    if not isinstance(value, (list, dict)):
        return encode(_text(value, parameter.schema))
    return separator.join(_parts(value, parameter.schema, joint, encode))


# The URL.


def _target(operation: Operation, given: Given, server: str, keys: Sequence[Credential]) -> tuple[str, list[str]]:
    """Return the URL without its query, and the parts of a query that the template has."""
    template = operation.path.partition("#")[0]
    template, _, query = template.partition("?")
    values = {parameter.wire: _path(parameter, value) for parameter, value in _at("path", given)}
    values.update({key.scheme.wire: quote(key.key, safe="") for key in keys})
    base = server.partition("#")[0].partition("?")[0].rstrip("/")
    if "://" in template.partition("{")[0]:
        parts = urlsplit(template.partition("{")[0])
        # The host is written out: an argument never names it.
        if "{" in template and not parts.path:
            raise Unsendable("the host of this operation is not fixed")
        whole = f"{parts.scheme}://{parts.netloc}"
        base, template = base or whole, template[len(whole) :]
    filled, at = "", 0
    for match in _TEMPLATE.finditer(template):
        if match.group(1) not in values:
            raise Unsendable(f"{match.group(1)} is missing: it is part of the path")
        filled += quote(template[at : match.start()], safe=_LITERAL) + values[match.group(1)]
        at = match.end()
    filled += quote(template[at:], safe=_LITERAL)
    for segment in filled.split("/"):
        if any(part in (".", "..") for part in re.split(r"[/\\]", unquote(segment))):
            raise Unsendable(f"{unquote(segment)!r:.100} cannot be part of a path: it leads to another one")
    return base + (filled if filled.startswith("/") or not filled else f"/{filled}"), [query] if query else []


def _path(parameter: Parameter, value: Any) -> str:
    name, style, explode = parameter.wire, parameter.style or "simple", parameter.explode
    if parameter.content_type:
        return quote(_json(value), safe="")
    written = _expanded(parameter, value, ",", "=" if explode else ",")
    if style == "label":
        return "." + _expanded(parameter, value, "." if explode else ",", "=" if explode else ",")
    if style == "matrix":
        if not explode or not isinstance(value, (list, dict)):
            return f";{name}={written}" if written else f";{name}"
        if isinstance(value, dict):
            return "".join(f";{pair}" for pair in _expanded(parameter, value, "\n", "=").split("\n") if pair)
        return "".join(f";{name}={item}" for item in _expanded(parameter, value, "\n", "").split("\n"))
    if not written:
        # `DELETE /orders/` is another operation than `DELETE /orders/7`.
        raise Unsendable(f"{parameter.name} is empty: it is part of the path")
    return written


def _query(parameter: Parameter, value: Any) -> list[str]:
    """Return the `name=value` parts of a parameter of the query."""
    name, style = quote(parameter.wire, safe=""), parameter.style
    explode = parameter.explode if style else True
    encode = _encoder(parameter)
    if parameter.content_type:
        return [f"{name}={encode(_json(value))}"]
    if not isinstance(value, (list, dict)):
        return [f"{name}={encode(_text(value, parameter.schema))}"]
    if style == "deepObject":
        return [f"{quote(key, safe='')}={encode(text)}" for key, text in _deep(parameter.wire, value)]
    delimiter = _DELIMITERS.get(style, ",")
    texts = _parts(value, parameter.schema, "=" if explode else delimiter, encode)
    if explode:
        return texts if isinstance(value, dict) else [f"{name}={text}" for text in texts]
    return [f"{name}={delimiter.join(texts)}"] if texts else []


def _deep(name: str, value: Any) -> list[tuple[str, str]]:
    """Return the pairs of style `deepObject`: `name[key]`, and `name[key][0]` below it, which the tables leave open."""
    if isinstance(value, (list, dict)):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        return [pair for key, item in pairs if item is not None for pair in _deep(f"{name}[{key}]", item)]
    return [(name, _text(value))]


# Headers and cookies.


def _header(name: str, value: str) -> str:
    if _CONTROL.search(value) or value != value.strip():
        raise Unsendable(f"{name} is a header: line ends, control characters and white space around it cannot be sent")
    return value.encode("utf-8").decode("latin-1")


def _headers(operation: Operation, given: Given, credentials: Sequence[Credential]) -> list[tuple[str, str]]:
    first, *others = operation.result_types or ("*/*",)
    # Equal ones let the server choose: many then take XML, which stands first in their list.
    accepted = [first, *(one if ";" in one else f"{one};q=0.5" for one in others), "*/*;q=0.1"]
    found = {"accept": ("Accept", "*/*" if first == "*/*" else ", ".join(accepted))}
    for parameter, value in _at("header", given):
        name = parameter.wire
        if name.lower() in _OF_THE_CONNECTION or name.lower().startswith("proxy-") or not _TOKEN.fullmatch(name):
            raise Unsendable(f"{parameter.name} cannot be sent: {name!r:.60} is no header that an argument may set")
        if parameter.content_type:
            text = _json(value, ascii_only=True)
        elif isinstance(value, (list, dict)):
            joint = "=" if parameter.explode else ","
            text = ",".join(_parts(value, parameter.schema, joint, str))
        else:
            text = _text(value, parameter.schema)
        found[name.lower()] = (name, _header(parameter.name, text))
    cookies = [
        part
        for parameter, value in _at("cookie", given)
        for part in _query(replace(parameter, allow_reserved=False), value)
    ]
    for credential in credentials:
        scheme = credential.scheme
        if scheme.type == "key" and scheme.place == "header":
            found[scheme.wire.lower()] = (scheme.wire, _header(scheme.name, credential.key))
        elif scheme.type == "key" and scheme.place == "cookie":
            cookies.append(f"{scheme.wire}={quote(credential.key, safe='')}")
        elif scheme.type == "basic":
            encoded = base64.b64encode(credential.value.encode("utf-8")).decode("ascii")
            found["authorization"] = ("Authorization", f"Basic {encoded}")
        elif scheme.type in ("bearer", "oauth2"):
            found["authorization"] = ("Authorization", _header(scheme.name, f"Bearer {credential.value}"))
    if cookies:
        found["cookie"] = ("Cookie", "; ".join(cookies))
    return list(found.values())


# Bodies.


def _body(operation: Operation, given: Given, keys: Sequence[Credential]) -> tuple[str, bytes | None]:
    """Return content type and body; "" and None if the request has none."""
    body = operation.body or (Body(FORM, spread=True) if keys else None)
    if body is None:
        return "", None
    whole = _at("content", given)
    if whole:
        value: Any = whole[0][1]
    else:
        properties = {parameter.wire: value for parameter, value in _at("body", given)}
        if not properties and not keys and not body.required:
            return "", None
        value = properties
    if keys:
        if not isinstance(value, dict):
            raise Unsendable("the key of this operation belongs into a body that is an object")
        value = {**value, **{key.scheme.wire: key.key for key in keys}}
    return _written(body.content_type, value, body.encoding)


def _written(content_type: str, value: Any, encoding: Mapping[str, Any]) -> tuple[str, bytes]:
    kind = content_type.partition(";")[0].strip().lower()
    if kind == FORM and isinstance(value, dict):
        return content_type, _form(value, encoding).encode("ascii")
    if kind.startswith("multipart/") and isinstance(value, dict):
        boundary = os.urandom(16).hex()
        return f"{kind}; boundary={boundary}", _multipart(value, encoding, boundary)
    if is_file(value) and not _is_json(kind):
        own = value["$file"].get("type") or "application/octet-stream"
        return own if "*" in kind else content_type, base64.b64decode(value["$file"]["data"])
    if _is_json(kind) or kind == "*/*":
        return "application/json" if "*" in kind else content_type, _json(value).encode("utf-8")
    if isinstance(value, str):
        kept = content_type if "*" not in kind else "text/plain"
        if kind.startswith("text/") and "charset" not in content_type.lower():
            kept += "; charset=utf-8"
        return kept, value.encode("utf-8")
    if kind.startswith("text/"):
        return content_type, _json(value).encode("utf-8")
    raise Unsendable(f"a body of the type {content_type} is a text or a file")


def _is_json(kind: str) -> bool:
    return kind.endswith(("/json", "+json")) or kind in ("application/jsonlines", "application/x-ndjson")


def _form(value: Mapping[str, Any], encoding: Mapping[str, Any]) -> str:
    parts = []
    for wire, item in value.items():
        how = encoding.get(wire) or {}
        if item is None:
            continue
        if isinstance(item, (list, dict)) and ("style" in how or "explode" in how):
            style = how.get("style") or "form"
            parameter = Parameter(
                wire, wire, "query", style=style, explode=how.get("explode", style in ("form", "deepObject")),
                allow_reserved=how.get("allowReserved", False),
            )  # fmt: skip
            parts += _query(parameter, item)
        else:
            items = item if isinstance(item, list) and not _is_json(how.get("contentType", "")) else [item]
            parts += [f"{quote_plus(wire)}={quote_plus(_text(one))}" for one in items if one is not None]
    return "&".join(parts)


def _multipart(value: Mapping[str, Any], encoding: Mapping[str, Any], boundary: str) -> bytes:
    found = b""
    for wire, item in value.items():
        own = str((encoding.get(wire) or {}).get("contentType", "")).partition(",")[0].strip()
        together = isinstance(item, list) and _is_json(own)
        for one in item if isinstance(item, list) and not together else [item]:
            head = f'form-data; name="{_quoted(wire)}"'
            kind = own
            if is_file(one):
                file = one["$file"]
                head += f'; filename="{_quoted(str(file.get("name") or wire))}"'
                kind = own if own and "*" not in own else str(file.get("type") or "application/octet-stream")
                content = base64.b64decode(file["data"])
            elif isinstance(one, (dict, list)):
                kind, content = own or "application/json", _json(one).encode("utf-8")
            elif one is None:
                continue
            else:
                content = _text(one).encode("utf-8")
            lines = [f"--{boundary}", f"Content-Disposition: {head}"]
            lines += [f"Content-Type: {_header(wire, kind)}"] if kind and "*" not in kind else []
            found += "\r\n".join([*lines, "", ""]).encode("utf-8") + content + b"\r\n"
    return found + f"--{boundary}--\r\n".encode("ascii")


def _quoted(name: str) -> str:
    """Return a name inside quotes of a Content-Disposition, as HTML writes it."""
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
