"""Labels of codenav's images, and the search for the image that was built for given sources."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from codenav.core.errors import SandboxUnavailable
from codenav.core.system import docker_engine
from codenav.sandboxes.owned_resources import KIND_LABEL
from codenav.sandboxes.places import within

SOURCES_LABEL = "codenav.sources"
"""Label of an image: the sources importable in it as sorted lines: paths, `pkg:NAME==VERSION`, `git:URL@COMMIT`."""
IMPORTS_LABEL = "codenav.imports"
"""Label of an image: JSON of the host's import paths that it holds, each with a `record` of `images/code.py`."""


def imports_of(text: str) -> Mapping[str, Mapping[str, Any]]:
    """Parse the label of import paths. Empty if it was not written by codenav."""
    with contextlib.suppress(ValueError, AttributeError):
        return {str(path): said for path, said in json.loads(text).items() if {"folder", "root", "stamp"} <= set(said)}
    return {}


def holds(path: Path, inside: Mapping[str, Mapping[str, Any]], sources: Sequence[str]) -> bool:
    """True if an image has the current code of an import path. Otherwise the live files are bound."""
    from codenav.sandboxes.images.code import unchanged

    said = inside.get(str(path))
    if said is not None:
        return unchanged(said)
    return any(within(str(path), source) for source in sources if source)


def inspected(client: Any, name: str) -> Mapping[str, Any]:
    """Return the engine's description of an image.

    Raises:
        SandboxUnavailable: there is no image of that name.
        docker.errors.APIError: the engine refuses.
    """
    from docker.errors import ImageNotFound

    if not name:
        raise SandboxUnavailable(
            "no image is named, and none was built for these sources", hint="codenav sandbox build --on SOURCE"
        )
    try:
        found: Mapping[str, Any] = client.inspect_image(name)
    except ImageNotFound:
        raise SandboxUnavailable(
            f"the engine has no image {name}", hint=f"docker pull {name}, or codenav sandbox build --on SOURCE"
        ) from None
    return found


def built_image(client: Any, sources: Sequence[str]) -> str | None:
    """Return the newest image whose label names exactly these sources, or None."""
    wanted = "\n".join(sorted(sources))
    with docker_engine.engine_says():
        listed = client.images(filters={"label": [f"{KIND_LABEL}=image"]})
    fitting = [item for item in listed if (item.get("Labels") or {}).get(SOURCES_LABEL) == wanted]
    if not fitting:
        return None
    newest = max(fitting, key=lambda item: int(item.get("Created", 0)))
    named = [name for name in newest.get("RepoTags") or () if name != "<none>:<none>"]
    return str(named[0] if named else newest["Id"])
