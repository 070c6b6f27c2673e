"""The grids of the CodeNav paper's tables 2 to 5 (arXiv 2406.12276, section 5.3): one run for each row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from codenav.core.errors import UsageError


@dataclass(frozen=True)
class Row:
    """One row of a table: what differs from the other rows."""

    name: str
    """Folder of its run."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of `codenav eval run`: `description`, `shows`, `paths_only`, `model`."""


@dataclass(frozen=True)
class Grid:
    """A table: its benchmark, the option that its rows vary, and the rows."""

    benchmark: str
    about: str
    varies: Sequence[str]
    rows: Sequence[Row] = ()
    """Empty for the table of models: its rows are the models that are named."""


LEVELS = ("none", "names", "descriptions", "prototypes", "library")
GRIDS = {
    "2": Grid(
        "mnms",
        "the description of the library, from none to prototypes",
        ("description",),
        [Row(level, {"description": level}) for level in LEVELS],
    ),
    "3": Grid(
        "mnms",
        "the content of search results",
        ("shows",),
        [Row(shows, {"shows": shows}) for shows in ("prototypes", "code", "shorter")],
    ),
    "4": Grid(
        "m3tooleval",
        "file paths alone, and with a line on each file",
        ("paths_only",),
        [Row("paths", {"paths_only": True}), Row("library", {})],
    ),
    "5": Grid("mnms", "several models, each named with --model", ("model",)),
}


def grid(table: str, models: Sequence[str]) -> tuple[Grid, list[Row]]:
    """Return a table's grid and its rows.

    Raises:
        UsageError: there is no such table, or the models do not fit it.
    """
    if table not in GRIDS:
        raise UsageError(f"no table {table!r}", hint=f"one of {', '.join(GRIDS)}")
    found = GRIDS[table]
    if found.rows:
        if len(models) > 1:
            raise UsageError(f"table {table} is of one model", hint="several --model go with table 5")
        return found, list(found.rows)
    if not models:
        raise UsageError(f"table {table} compares models", hint="name each with --model")
    return found, [Row(folder_of(model), {"model": model}) for model in dict.fromkeys(models)]


def folder_of(model: str) -> str:
    """Return a name of a folder for a model: `Qwen/Qwen3-0.6B` is `Qwen-Qwen3-0.6B`."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip(".-") or "model"
