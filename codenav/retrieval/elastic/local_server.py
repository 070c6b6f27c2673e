"""What is remembered of the server that `codenav elasticsearch up` started: needs no Docker to be read."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import NamedTuple

from codenav.config import StoreOptions, home
from codenav.errors import Unavailable
from codenav.retrieval.generations import storing

USER = "elastic"
"""The built-in superuser; the only one whose password can be set before the first start."""


class LocalServer(NamedTuple):
    """How a server on this machine is reached. `url` is empty while it is down."""

    url: str
    user: str
    password: str


def remembered_at() -> Path:
    """The file, readable for its owner only; it need not exist."""
    return home("data") / "elasticsearch.json"


def local_server() -> LocalServer | None:
    """The server that `codenav elasticsearch up` started, unless `down` has ended it. Asks no engine and no server."""
    server = remembered()
    return server if server and server.url else None


def with_local_server(options: StoreOptions) -> StoreOptions:
    """The options, with the local server in them where it is wanted: Elasticsearch, and no URL named."""
    server = local_server()
    if options.store != "elasticsearch" or options.elasticsearch_url or server is None:
        return options
    if options.elasticsearch_user or options.elasticsearch_password or options.elasticsearch_api_key:
        return dataclasses.replace(options, elasticsearch_url=server.url)
    return dataclasses.replace(
        options,
        elasticsearch_url=server.url,
        elasticsearch_user=server.user,
        elasticsearch_password=server.password,
    )


def remembered() -> LocalServer | None:
    """What the file says; None where there is none, or nothing that can be used."""
    try:
        held = json.loads(remembered_at().read_text(encoding="utf-8"))
        return LocalServer(str(held["url"]), str(held["user"]), str(held["password"]))
    except (OSError, ValueError, KeyError, TypeError, Unavailable):
        return None


def remember(server: LocalServer) -> None:
    """Write the file, at once or not at all.

    Raises:
        StorageFull: it cannot be written.
    """
    place = remembered_at()
    part = place.with_name(f".{place.name}.{os.getpid()}")
    with storing():
        place.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump(server._asdict(), file)
        part.replace(place)


def forget() -> None:
    """Remove the file, with the password."""
    remembered_at().unlink(missing_ok=True)
