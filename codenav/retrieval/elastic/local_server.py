"""The note on the server that `codenav elasticsearch up` started; reading it needs no Docker."""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from pathlib import Path
from typing import NamedTuple

from codenav.core.config import StoreOptions, home
from codenav.core.errors import Unavailable
from codenav.retrieval.embedded.generations import storing

USER = "elastic"
"""The built-in superuser; the only one whose password can be set before the first start."""


class LocalServer(NamedTuple):
    """A server on this machine. `url` is empty while it is down; the password is that of `USER`."""

    url: str
    password: str


def note() -> Path:
    """The file of the note, readable by its owner only; it need not exist."""
    return home("data") / "elasticsearch.json"


def remembered() -> LocalServer | None:
    """The server of the note; None where there is no note, or nothing that can be used."""
    try:
        held = json.loads(note().read_text(encoding="utf-8"))
        return LocalServer(str(held["url"]), str(held["password"]))
    except (OSError, ValueError, KeyError, TypeError, Unavailable):
        return None


def remember(server: LocalServer) -> None:
    """Write the note, at once or not at all.

    Raises:
        StorageFull: it cannot be written.
    """
    place = note()
    with storing():
        place.parent.mkdir(parents=True, exist_ok=True)
        # For its owner only, as `mkstemp` makes it.
        descriptor, fresh = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump(server._asdict(), file)
        os.replace(fresh, place)


def with_local_server(options: StoreOptions) -> StoreOptions:
    """The options with the local server in them where it is wanted: for Elasticsearch without a URL."""
    server = remembered()
    wanted = options.store == "elasticsearch" and not options.elasticsearch_url
    return with_server(options, server) if wanted and server and server.url else options


def with_server(options: StoreOptions, server: LocalServer) -> StoreOptions:
    """The options with that server in them, and its user where they name none."""
    if options.elasticsearch_user or options.elasticsearch_password or options.elasticsearch_api_key:
        return dataclasses.replace(options, elasticsearch_url=server.url)
    url, password = server
    return dataclasses.replace(options, elasticsearch_url=url, elasticsearch_user=USER, elasticsearch_password=password)
