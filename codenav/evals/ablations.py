"""The ablations of `codenav eval run --ablation NAME`: settings that belong together, each a row of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from codenav.core.errors import UsageError
from codenav.core.options import near_one


@dataclass(frozen=True)
class Ablation:
    """The settings of a row."""

    about: str
    """One line."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the benchmark."""
    keywords: Mapping[str, Any] = field(default_factory=dict)
    """Of the run."""


def _full(about: str, *, keywords: Mapping[str, Any] | None = None, **options: Any) -> Ablation:
    """A row of the paper's: only the prompts of the full profile have a library description, and source in searches."""
    return Ablation(about, options, {"profile": "full", **(keywords or {})})


ABLATIONS: Mapping[str, Ablation] = {
    "profile-full": _full("full profile: library description, searches of 3 blocks and 10 signatures"),
    "profile-small": Ablation("small profile, whatever the model", keywords={"profile": "small"}),
    "description-none": _full("no library description", description="none"),
    "description-names": _full("short: the names of all tools", description="names"),
    "description-lines": _full("names, and upstream's lines on each", description="descriptions"),
    "description-prototypes": _full("long: prototypes, and upstream's lines on each", description="prototypes"),
    "description-paths": _full("file paths alone (m3tooleval)", paths_only=True),
    "shows-prototypes": _full("searches show signatures alone", keywords={"shows": "prototypes"}),
    "shows-docstrings": _full("searches show docstrings in place of source", keywords={"shows": "docstrings"}),
    "shows-code": _full("searches show source alone", keywords={"shows": "code"}),
    "no-search": _full("the whole code base in the prompt, and no search", keywords={"mode": "no-search"}),
    "graph": Ablation("earlier samples of the run teach the tool graph", keywords={"rerank": True}),
    "no-graph": Ablation("no tool graph, which is the default", keywords={"rerank": False}),
    "tries-1": Ablation("one script for each step, which is the default", keywords={"tries": 1}),
    "tries-3": Ablation("three scripts for each step of a small model", keywords={"tries": 3}),
}
"""The CodeNav paper's (tables 2 to 4), then ours."""

VARIED = {
    "ablation", "mode", "description_characters",
    *(name for one in ABLATIONS.values() for name in (*one.options, *one.keywords)),
}  # fmt: skip
"""Settings and facts in which the rows of a table may differ: that is what its rows are."""


def ablation(name: str) -> Ablation:
    """Return an ablation; that of the name "" changes nothing.

    Raises:
        UsageError: there is none of that name.
    """
    if name and name not in ABLATIONS:
        raise UsageError(f"no ablation {name!r}", hint=near_one(name, list(ABLATIONS)))
    return ABLATIONS[name] if name else Ablation("")
