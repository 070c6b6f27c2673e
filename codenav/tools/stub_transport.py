"""The transport of stubs outside of codenav: calls go from this process to the service, with urllib.

A copy lies in each package that `codenav tools stubs` writes: Python 3.8 or newer, standard library only. Settings are
variables of the environment, read at each call:

    TOOLS_SPEC_SERVER   URL in place of the servers of the specification
    TOOLS_SPEC_SCHEME   the secret of a security scheme; `user:password` for basic, `id:secret` for OAuth2
    TOOLS_SECONDS       time limit of a call, 30 by default

Nothing is tried again, and redirects to another host are not followed.
"""

from __future__ import annotations

import base64
import json
import os
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

MOST_ANSWER_BYTES = 64 << 20
_TEXT = re.compile(r"text/|application/(?:.*\+)?(?:xml|yaml|x-yaml|javascript|x-www-form-urlencoded)$")
_specs: dict[str, Any] = {}
_tokens: dict[Any, Any] = {}
"""Tokens of OAuth2 with the time when they end, by token URL, client and scopes."""


def _requests() -> Any:
    """The copy of `codenav.tools.broker.request` beside this file."""
    return import_module("tools._request")


class _Unsent(Exception):
    """A call that was not sent; the message is one sentence."""


class _SameOrigin(urllib.request.HTTPRedirectHandler):
    """Redirects within one server are followed; others are answers."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if _requests().origin(req.full_url) != _requests().origin(newurl):
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def send(tool: str, arguments: dict[str, Any]) -> Any:
    """Make a call and return the answer as the host of codenav would give it."""
    package, _, name = tool.partition("/")
    requests = _requests()
    try:
        spec = _spec(package)
        operation = spec["operations"][name]
        if not operation["method"]:
            raise _Unsent(package + "." + name + " has no address: only codenav can call it")
        credentials = _credentials(package, spec, operation)
        request = requests.build(operation, arguments, _server(package, spec, operation), credentials)
        return _sent(request)
    except (_Unsent, requests.Unsendable) as error:
        return {"refused": str(error)}


def _spec(package: str) -> Any:
    if package not in _specs:
        for folder in import_module("tools").__path__:
            path = os.path.join(folder, package, "_spec.json")
            if os.path.isfile(path):
                with open(path, encoding="utf-8") as file:
                    _specs[package] = json.load(file)
                break
        else:
            raise _Unsent(package + " has no _spec.json: write the package again with codenav tools stubs")
    return _specs[package]


def _variable(package: str, name: str) -> str:
    return "TOOLS_" + re.sub(r"\W", "_", package + "_" + name).upper()


def _server(package: str, spec: Any, operation: Any) -> str:
    variable = _variable(package, "server")
    if os.environ.get(variable):
        return os.environ[variable]
    servers = [*operation["servers"], *spec["servers"]]
    for server in servers:
        if re.match(r"https?://", server):
            return str(server)
    if re.match(r"https?://", operation["path"]):
        return ""
    raise _Unsent("the specification names no server; set " + variable + " to its URL")


def _credentials(package: str, spec: Any, operation: Any) -> Sequence[Mapping[str, Any]]:
    """The first alternative whose secrets are all set; none if the operation needs none."""
    schemes = {scheme["name"]: scheme for scheme in spec["schemes"]}
    alternatives = operation["security"]
    for alternative in alternatives:
        found = []
        for name in alternative:
            value = os.environ.get(_variable(package, name))
            scheme = schemes.get(name)
            if value and scheme:
                found.append(
                    {
                        **scheme,
                        "value": _token(scheme, value, operation, _server(package, spec, operation))
                        if scheme["type"] == "oauth2"
                        else value,
                    }
                )
        if alternative and len(found) == len(alternative):
            return found
    if alternatives and [] not in [list(one) for one in alternatives]:
        variables = " and ".join(_variable(package, name) for name in alternatives[0])
        raise _Unsent("this operation needs a secret; set " + variables)
    return ()


def _token(scheme: Any, value: str, operation: Any, server: str) -> str:
    """A token for client credentials (RFC 6749, 4.4), kept until shortly before it ends."""
    scopes = " ".join(operation["scopes"].get(scheme["name"]) or ())
    url = urllib.parse.urljoin(server.rstrip("/") + "/", scheme["token_url"])
    key = (url, value, scopes)
    if key in _tokens and _tokens[key][1] > time.time():
        return str(_tokens[key][0])
    user, _, password = value.partition(":")
    basic = base64.b64encode((urllib.parse.quote(user) + ":" + urllib.parse.quote(password)).encode()).decode()
    form = {"grant_type": "client_credentials", **({"scope": scopes} if scopes else {})}
    headers = [("Authorization", "Basic " + basic), ("Content-Type", "application/x-www-form-urlencoded")]
    answer = _sent(_requests().Request("POST", url, headers, urllib.parse.urlencode(form).encode()))
    token = answer.get("value", {}).get("access_token") if isinstance(answer.get("value"), dict) else None
    if not token:
        raise _Unsent("the server of tokens gave none: " + str(answer.get("error", {}).get("message") or answer)[:200])
    lasts = answer["value"].get("expires_in")
    _tokens[key] = (token, time.time() + (lasts if isinstance(lasts, (int, float)) else 60) - 30)
    return str(token)


def _sent(request: Any) -> dict[str, Any]:
    try:
        seconds = float(os.environ.get("TOOLS_SECONDS") or 30)
        outgoing = urllib.request.Request(request.url, request.body, dict(request.headers), method=request.method)
    except ValueError as error:
        raise _Unsent("no request can be made: " + str(error)) from None
    host = urllib.parse.urlsplit(request.url).netloc.rpartition("@")[2]
    try:
        with urllib.request.build_opener(_SameOrigin).open(outgoing, timeout=seconds) as answer:
            return _read(answer, answer.status)
    except urllib.error.HTTPError as error:
        with error:
            read = _read(error, error.code)
        body = read.get("value")
        said = json.dumps(body, ensure_ascii=False) if isinstance(body, (dict, list)) else str(body or "")
        message = " ".join((str(error.code) + " " + str(error.reason)).split()) + (": " + said[:300] if said else "")
        return {"error": {"status": error.code, "message": message, "body": body}}
    except OSError as error:
        reason = getattr(error, "reason", None) or error
        raise _Unsent(host + " does not answer: " + str(reason)) from None


def _read(answer: Any, status: int) -> dict[str, Any]:
    content = answer.read(MOST_ANSWER_BYTES + 1)
    if len(content) > MOST_ANSWER_BYTES:
        raise _Unsent("the answer is larger than " + str(MOST_ANSWER_BYTES >> 20) + " MiB")
    kind = answer.headers.get_content_type()
    if not content:
        return {"value": None}
    charset = answer.headers.get_content_charset() or "utf-8"
    if kind.endswith(("/json", "+json")):
        try:
            return {"value": json.loads(content)}
        except ValueError:
            if status < 400:
                raise _Unsent("the answer says that it is JSON, and is none") from None
    if kind.endswith("json") or status >= 400 or _TEXT.match(kind):
        try:
            return {"value": content.decode(charset, "replace")}
        except LookupError:
            return {"value": content.decode("utf-8", "replace")}
    name = answer.headers.get_filename() or "answer" + {"application/pdf": ".pdf"}.get(
        kind, "." + kind.rpartition("/")[2]
    )
    return {"file": {"name": name, "type": kind, "data": base64.b64encode(content).decode("ascii")}}
