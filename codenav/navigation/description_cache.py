"""Cached descriptions of code bases, made once for each state of an index; a run begins with one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Unpack

from codenav.core.config import home
from codenav.core.options import StoreKeywords, spelled
from codenav.core.system.atomic_files import write_whole
from codenav.indexers.build import Progress
from codenav.indexers.sources import Source
from codenav.navigation import description
from codenav.navigation.verbs import opened
from codenav.retrieval.source_index import Notice, On, SourceIndex

RULES = 3
"""Version of the rules in `navigation.description`; descriptions made by another version are made again."""


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
    """Describe the purpose, layout and entry points of code bases: made by rules, at most 2,000 characters for each.

    `run` gives this text to the model if there is no `description`. Keywords: as `codenav.index`.

    Raises:
        NotFound, UsageError, Unavailable, StorageFull: as `codenav.index`.
    """
    with opened(on, python, refresh, progress, notice, store) as indexes:
        return "\n\n".join(map(described, indexes))


def described(index: SourceIndex) -> str:
    """The description of an open index, from the cache as long as that index is unchanged."""
    state = [RULES, index.source.name, index.fingerprint(), *_states(index.source)]
    name = hashlib.blake2b(index.source.key.encode(), digest_size=12).hexdigest()
    cached = home("cache") / "descriptions" / f"{name}.json"
    with suppress(OSError, ValueError, TypeError, KeyError):
        kept = json.loads(cached.read_text(encoding="utf-8"))
        if kept["state"] == state:
            return str(kept["text"])
    text = description.describe(index, index.source)
    # Without a cache that can be written, the description is made each time.
    with suppress(OSError):
        cached.parent.mkdir(parents=True, exist_ok=True)
        write_whole(cached, json.dumps({"state": state, "text": text}))
    return text


def _states(source: Source) -> list[str]:
    """The states of tool sources: groups and texts are not in the index."""
    own = [source.tools.name] if source.tools else []
    return [*own, *(state for part in source.parts.values() for state in _states(part))]
