"""Security schemes, what operations need of them, and parameters that carry a token."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urljoin

from codenav.tools.model import Operation, Parameter, Scheme
from codenav.tools.openapi.context import Context, LeftOut, mapping_of, text_of
from codenav.tools.references import Place

PLAIN_TOKENS = frozenset({"access_token", "api_key", "api_token", "apikey", "auth_token", "authorization", "x_api_key"})
"""Names that mean a secret wherever they stand."""
TOKENS = PLAIN_TOKENS | {"token"}


Need = tuple[tuple[tuple[str, ...], ...], Mapping[str, Sequence[str]]]
"""The alternatives of an operation to be let in, and the scopes of OAuth2 by scheme."""


def scheme_of(context: Context, name: str, place: Place) -> Scheme | None:
    """The scheme at a place; None, noted, for a kind that cannot be used."""
    try:
        place = context.resolve(place)
    except LeftOut as error:
        context.note(f"{error}: that security scheme is left out")
        return None
    value = mapping_of(place.value)
    kind, text = str(value.get("type", "")).lower(), text_of(value.get("description"))
    if kind == "apikey":
        where, wire = value.get("in"), value.get("name")
        if where in ("header", "query", "cookie") and isinstance(wire, str) and wire:
            return Scheme(name, "key", place=str(where), wire=wire, text=text)
    elif kind == "basic" or (kind == "http" and str(value.get("scheme", "")).lower() == "basic"):
        return Scheme(name, "basic", text=text)
    elif kind == "http":
        scheme = str(value.get("scheme", ""))
        if scheme.lower() == "bearer":
            return Scheme(name, "bearer", text=text)
        if scheme.lower() not in ("", "digest", "dpop", "hoba", "mutual", "negotiate", "scram-sha-1", "scram-sha-256"):
            # A registered or made-up name: the value stands behind it, as with `bearer`.
            return Scheme(name, "key", place="header", wire="Authorization", prefix=f"{scheme} ", text=text)
    elif kind == "oauth2":
        flow = mapping_of(mapping_of(value.get("flows")).get("clientCredentials"))
        url = flow.get("tokenUrl") or (value.get("tokenUrl") if value.get("flow") == "application" else None)
        if isinstance(url, str) and url:
            return Scheme(name, "oauth2", token_url=urljoin(context.library.address, url), text=text)
        # The flows with a browser: who runs it gets a token there, and gives that.
        return Scheme(name, "bearer", text=text)
    elif kind == "openidconnect":
        return Scheme(name, "bearer", text=text)
    context.note(f"{place.pointer}: a security scheme of a kind that cannot be used: left out")
    return None


def read_schemes(context: Context) -> None:
    """Read the security schemes of the document into the context."""
    root = context.library.root
    holder = root.at("securityDefinitions") if context.old else root.at("components", "securitySchemes")
    for name in mapping_of(holder.value):
        scheme = scheme_of(context, name, holder.at(name))
        if scheme is not None:
            context.schemes[name] = scheme


def need_of(context: Context, operation: Place) -> Need:
    """The alternatives of an operation, or of the document where it says nothing."""
    place = operation.at("security")
    if place.value is None:
        place = context.library.root.at("security")
    if place.value is None:
        return (), {}
    if not isinstance(place.value, list):
        context.note(f"{place.pointer}: is no list: left out")
        return (), {}
    found: list[tuple[str, ...]] = []
    scopes: dict[str, Sequence[str]] = {}
    for number, item in enumerate(place.value):
        if not isinstance(item, Mapping):
            context.note(f"{place.pointer}/{number}: is no object: left out")
            continue
        missing = next((name for name in item if name not in context.schemes), None)
        if missing is not None:
            context.note(f"{place.pointer}/{number}: the security scheme {missing!r} cannot be used: left out")
            continue
        found.append(tuple(item))
        for name, needed in item.items():
            texts = [scope for scope in needed if isinstance(scope, str)] if isinstance(needed, list) else []
            if texts:
                scopes.setdefault(name, texts)
    return tuple(dict.fromkeys(found)), scopes


def is_token(parameter: Parameter, names: frozenset[str] = TOKENS) -> bool:
    """True for a parameter that carries a secret, by its name."""
    return (
        parameter.place in ("path", "query", "header", "body")
        and parameter.wire.lower().replace("-", "_") in names
        and parameter.schema.get("type", "string") in ("string", ["string", "null"])
    )


def take_tokens(context: Context, operations: Sequence[Operation]) -> list[Operation]:
    """The operations with tokens as schemes instead of parameters.

    A parameter is one if a declared key has its name and place, or if it is called so in at least half of the
    operations; a `token` in one operation alone may be anything.
    """
    keys = {(scheme.place, scheme.wire.lower()) for scheme in context.schemes.values() if scheme.type == "key"}
    counted: Counter[str] = Counter()
    for operation in operations:
        form = operation.body is not None and "json" not in operation.body.content_type
        counted.update({
            parameter.wire.lower()
            for parameter in operation.parameters
            if is_token(parameter) and (parameter.place != "body" or form)
        })  # fmt: skip
    most = {
        wire
        for wire, count in counted.items()
        if 2 * count >= len(operations) and (count > 1 or wire.replace("-", "_") in PLAIN_TOKENS)
    }
    return [_without(context, operation, keys, most) for operation in operations]


def _without(context: Context, operation: Operation, keys: set[tuple[str, str]], most: set[str]) -> Operation:
    kept: list[Parameter] = []
    places: dict[str, str] = {}
    needed = False
    for parameter in operation.parameters:
        wire = parameter.wire.lower()
        if (parameter.place, wire) in keys:
            continue
        if not is_token(parameter) or (wire not in most and (parameter.place, wire) != ("header", "authorization")):
            kept.append(parameter)
            continue
        name = _token_scheme(context, parameter)
        places.setdefault(name, parameter.place)
        needed = needed or parameter.required
    if len(kept) == len(operation.parameters):
        return operation
    security: Any = operation.security
    if places:
        # Beside the parameter, OAuth2 with a browser is the way to get that token, not another secret.
        others = [
            tuple(name for name in names if context.schemes[name].type != "bearer") for names in operation.security
        ]
        security = [(*names, *places) for names in others or [()]]
        if not needed and (not operation.security or () in operation.security):
            security.append(())
    own = {name: place for name, place in places.items() if context.schemes[name].place != place}
    body = operation.body
    if body is not None and body.spread and not any(parameter.place == "body" for parameter in kept):
        body = replace(body, required=False)
    return replace(
        operation, parameters=tuple(kept), body=body, key_places=own, security=tuple(dict.fromkeys(security))
    )


def _token_scheme(context: Context, parameter: Parameter) -> str:
    """The name of the scheme for a parameter: that of the parameter, whatever place it has elsewhere."""
    name = parameter.wire
    known = context.schemes.get(name)
    if known is not None and known.type == "key" and known.wire == parameter.wire:
        return name
    if known is not None:
        name = f"{name}_parameter"
    context.schemes.setdefault(
        name, Scheme(name, "key", place=parameter.place, wire=parameter.wire, text=parameter.text)
    )
    return name
