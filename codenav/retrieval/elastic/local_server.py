"""The note of the server that `codenav elasticsearch up` started: needs no Docker to be read."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from codenav.config import StoreOptions, home
from codenav.errors import Unavailable
from codenav.retrieval.generations import storing

USER = "elastic"
"""The built-in superuser; the only one whose password can be set before the first start."""


class LocalServer(NamedTuple):
    """A server on this machine. `url` is empty while it is down; the password is that of `USER`."""

    url: str
    password: str

    def options(self) -> StoreOptions:
        """The store on this server."""
        return StoreOptions(
            "elasticsearch",
            elasticsearch_url=self.url,
            elasticsearch_user=USER,
            elasticsearch_password=self.password,
        )


def note() -> Path:
    """The file, readable for its owner only; it need not exist."""
    return home("data") / "elasticsearch.json"


def remembered() -> LocalServer | None:
    """The content of the note; None where there is none, or nothing that can be used."""
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
    part = place.with_name(f".{place.name}.{os.getpid()}")
    with storing():
        place.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump(server._asdict(), file)
        part.replace(place)


def with_local_server(options: StoreOptions) -> StoreOptions:
    """The options, with the local server in them where it is wanted: Elasticsearch, and no URL named."""
    server = remembered()
    if options.store != "elasticsearch" or options.elasticsearch_url or server is None or not server.url:
        return options
    named = options.elasticsearch_user or options.elasticsearch_password or options.elasticsearch_api_key
    who: dict[str, Any] = {} if named else {"elasticsearch_user": USER, "elasticsearch_password": server.password}
    return dataclasses.replace(options, elasticsearch_url=server.url, **who)
