"""Base URLs of an API and of single operations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from codenav.core.errors import UsageError
from codenav.tools.addresses import bare, is_url, origin
from codenav.tools.openapi.context import Context, mapping_of
from codenav.tools.references import Place


def root_servers(context: Context) -> list[str]:
    """The base URLs of a document, best first; relative only where the document has no address."""
    root = context.library.root
    if context.old:
        return _old(context, root.value)
    if root.value.get("servers"):
        found = servers_at(context, root)
    else:
        # The specification: no servers mean the one of the document.
        found = [urljoin(context.library.address, "/").rstrip("/")] if context.library.address else []
    if not found:
        context.note("the document names no server: one has to be named with --server URL")
    return found


def servers_at(context: Context, place: Place) -> list[str]:
    """The base URLs in `servers` of a document, path item or operation."""
    items = place.at("servers")
    if items.value is not None and not isinstance(items.value, list):
        context.note(f"{items.pointer}: is no list: left out")
        return []
    found: dict[str, None] = {}
    for number in range(len(items.value or ())):
        item = items.at(number)
        server = mapping_of(item.value)
        if not isinstance(server.get("url"), str):
            context.note(f"{item.pointer}: is no server: left out")
            continue
        url = _filled(context, item, server)
        if url is None:
            continue
        # Servers of a document that was referred to are relative to it, too.
        base = bare(item.document) if is_url(item.document) else context.library.address
        if not re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://", url):
            url = urljoin(base, url) if base else url
        if _usable(url):
            found[url.rstrip("/") or "/"] = None
        else:
            context.note(f"{item.pointer}: {url!r} is no address of HTTP: left out")
    return list(found)


def _filled(context: Context, place: Place, server: Mapping[str, Any]) -> str | None:
    """The URL with its variables filled in; None, noted, if one has no value."""
    variables = mapping_of(server.get("variables"))
    missing: list[str] = []

    def value(match: re.Match[str]) -> str:
        variable = mapping_of(variables.get(match[1]))
        choices = variable.get("enum") if isinstance(variable.get("enum"), list) else []
        for text in (variable.get("default"), *(choices or ())):
            if isinstance(text, str | int | float) and not isinstance(text, bool):
                return str(text)
        missing.append(match[1])
        return ""

    url = re.sub(r"\{([^{}]+)\}", value, server["url"]).strip()
    if missing:
        context.note(f"{place.pointer}: the variable {missing[0]!r} has no value: left out; --server URL names one")
        return None
    return url


def _usable(url: str) -> bool:
    if not re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:", url):
        return not any(letter.isspace() for letter in url)
    try:
        origin(url)
    except UsageError:
        return False
    return True


def _old(context: Context, root: Mapping[str, Any]) -> list[str]:
    """The base URLs of Swagger 2.0: `schemes`, `host` and `basePath`."""
    address = context.library.address
    own = urlsplit(address) if address else None
    host = root.get("host")
    host = host.strip("/ ") if isinstance(host, str) else ""
    host = host or (own.netloc.rpartition("@")[2] if own else "")
    base = root.get("basePath")
    path = "/" + base.strip("/ ") if isinstance(base, str) and base.strip("/ ") else ""
    named = root.get("schemes")
    schemes = [scheme for scheme in ("https", "http") if isinstance(named, list) and scheme in named]
    schemes = schemes or ([own.scheme.lower()] if own and not root.get("host") else ["https"])
    if not host:
        context.note("the document names no host: one has to be named with --server URL")
        return [path] if path else []
    found = [f"{scheme}://{host}{path}" for scheme in schemes]
    return [url for url in found if _usable(url)]
