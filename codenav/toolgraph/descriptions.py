"""The descriptions of a tool graph's callables, from the index of its source."""

from __future__ import annotations

from pathlib import Path

from codenav.core.traces import callable_name
from codenav.navigation.verbs import opened
from codenav.retrieval.source_index import On


def described(on: On, *, python: str | Path | None = None) -> dict[str, str]:
    """The signature and the docstring of each callable of a source, by its name in the graph.

    Raises:
        NotFound, Unavailable: as `codenav.index`.
    """
    found: dict[str, str] = {}
    with opened(on, python, True, None, None, {}) as indexes:
        for index in indexes:
            for block in index.whole.blocks():
                if name := callable_name(block):
                    # The first of several: the others are overloads and copies for other platforms.
                    found.setdefault(name, f"{block.signature}\n{block.docstring}".strip())
    return found
