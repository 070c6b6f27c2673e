"""Removal of what dead owners have left: temporary folders with their control groups, containers.

Nothing that belongs to a living owner is touched, nor to one that this machine cannot see.
"""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from codenav.core.errors import Unavailable
from codenav.core.system import docker_engine
from codenav.core.system.process_identity import Owner
from codenav.sandboxes.owned_resources import KIND_LABEL, OWNER_LABEL, OwnedFolder, owned_folders

_UNMARKED_SECONDS = 3600.0
"""Age after which a mark without an owner counts as abandoned. A newer one may still be being written."""


@dataclass(frozen=True)
class Leftover:
    """A resource whose owner has ended."""

    kind: str
    """`container`, `control group`, `file` or `folder`. Other modules add their own kinds."""
    name: str
    owner: Owner | None
    """The owner, or None if it died before it was recorded."""
    remove: Callable[[], bool] = field(repr=False, compare=False)
    """A function that removes it, and returns True if it is gone."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON types. `pid` is the owner's."""
        return {"kind": self.kind, "name": self.name, "pid": self.owner.pid if self.owner else None}


def local_leftovers() -> list[Leftover]:
    """Return the folders and control groups of this user on this machine whose owner has ended."""
    found = []
    for folder in owned_folders():
        owner = folder.owner
        if owner.ended() if owner else _forgotten(folder):
            groups = [group for group in folder.groups if group.exists()]
            part = next(folder.parts(), None)
            kind, name = ("control group", groups[0]) if groups else ("folder", folder.path)
            kind, name = ("file", part) if part else (kind, name)
            found.append(Leftover(kind, str(name), owner, functools.partial(_remove_folder, folder)))
    return found


def engine_leftovers(client: Any) -> list[Leftover]:
    """Return the containers on an engine whose owner has ended. `client` is `docker_engine.connect().api`.

    Raises:
        Unavailable: the engine refuses, or went away.
    """
    local = urlsplit(docker_engine.host()).scheme == "unix"
    with docker_engine.engine_says():
        listed = client.containers(all=True, filters={"label": [OWNER_LABEL, f"{KIND_LABEL}=sandbox"]})
    found = []
    for item in listed:
        owner = Owner.from_text((item.get("Labels") or {}).get(OWNER_LABEL, ""))
        if owner is not None and owner.ended(local=local):
            name = next(iter(item.get("Names") or ()), item["Id"][:12]).lstrip("/")
            found.append(Leftover("container", name, owner, functools.partial(_remove, client, item["Id"])))
    return found


def sweep() -> None:
    """Remove the leftovers on this machine. Takes less than a millisecond if there are none."""
    with contextlib.suppress(OSError):
        for leftover in local_leftovers():
            leftover.remove()


def sweep_engine(client: Any) -> None:
    """Remove the leftovers on an engine. Refusals are left to the next request. Looking takes 2 ms."""
    with contextlib.suppress(Unavailable):
        for leftover in engine_leftovers(client):
            leftover.remove()


def _remove_folder(folder: OwnedFolder) -> bool:
    for part in folder.parts():
        with contextlib.suppress(OSError):
            part.unlink()
    return folder.remove()


def _remove(client: Any, id: str) -> bool:
    from docker.errors import APIError

    with docker_engine.engine_says():
        try:
            client.remove_container(id, force=True, v=True)
        except APIError as error:
            # It is gone already or about to go: containers of sandboxes remove themselves.
            if error.response.status_code not in (404, 409):
                raise
    return True


def _forgotten(folder: OwnedFolder) -> bool:
    with contextlib.suppress(OSError):
        return time.time() - os.stat(f"{folder.path}.owner").st_mtime > _UNMARKED_SECONDS
    return False
