"""The description of a code base that a run begins with, made once for each state of its index."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Unpack

from codenav.config import home
from codenav.indexers.build import Progress
from codenav.indexing import Notice, On, SourceIndex
from codenav.navigation import description
from codenav.navigation.verbs import opened
from codenav.options import StoreKeywords, spelled

RULES = 1
"""Of `navigation.description`; what was made by other rules is made anew."""


@spelled(StoreKeywords)
def describe(
    on: On | Sequence[On],
    *,
    python: str | Path | None = None,
    refresh: bool = True,
    progress: Callable[[Progress], None] | None = None,
    notice: Notice | None = None,
    **store: Unpack[StoreKeywords],
) -> str:
    """What code bases are for, how they are laid out and where to begin: by rule, at most 2,000 characters for each.

    It is what `run` tells a model that got no `description`. Keywords: as `codenav.index`.

    Raises:
        NotFound, UsageError, Unavailable, StorageFull: as `codenav.index`.
    """
    with opened(on, python, refresh, progress, notice, store) as indexes:
        return "\n\n".join(map(described, indexes))


def described(index: SourceIndex) -> str:
    """The description of an open index, from the cache while that index is the same."""
    state = [RULES, index.source.name, index.fingerprint()]
    name = hashlib.blake2b(index.source.key.encode(), digest_size=12).hexdigest()
    cached = home("cache") / "descriptions" / f"{name}.json"
    with suppress(OSError, ValueError, TypeError, KeyError):
        kept = json.loads(cached.read_text(encoding="utf-8"))
        if kept["state"] == state:
            return str(kept["text"])
    text = description.describe(index, index.source)
    # A cache that cannot be written is none.
    with suppress(OSError):
        _write(cached, json.dumps({"state": state, "text": text}))
    return text


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, fresh = tempfile.mkstemp(dir=path.parent)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(fresh, path)
    except BaseException:
        os.unlink(fresh)
        raise
