"""The weights of the tools of a state: what checks found lowers them, and search results show and heed them.

checks.json beside spec.json: {"SPEC/GROUP/NAME.tool": {"rating": {…}, "server": "…", "trial": "…"}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from codenav.core.system.atomic_files import write_whole
from codenav.core.system.stored import Makers, Stored
from codenav.tools.model import ToolSpec
from codenav.tools.ratings import Rating, rated

FILE = "checks.json"
FAILED = 0.5
"""Factor on the weight of a tool for each of: its server did not answer, its trial did not do as the schema says."""


@dataclass(frozen=True, slots=True)
class Checked(Stored):
    """What checks found about a tool."""

    rating: Rating = field(default_factory=Rating)
    server: str = ""
    """The reason why its server did not answer; empty if it did, or was not asked."""
    trial: str = ""
    """The reason why a trial of it failed; empty if it went well, or was not made."""

    made: ClassVar[Makers] = {"rating": Rating.from_dict}

    @property
    def weight(self) -> float:
        """Between 0 and 1; 1 if nothing was found."""
        return round(self.rating.weight * FAILED ** (bool(self.server) + bool(self.trial)), 2)

    @property
    def reasons(self) -> tuple[str, ...]:
        """What lowers the weight, the worst first."""
        return tuple(filter(None, (self.trial, self.server, *self.rating.findings)))


def by_rules(spec: ToolSpec, paths: Mapping[str, str]) -> dict[str, Checked]:
    """The checks that need nobody, by the path of an operation's block; tools without findings are left out."""
    found = {paths[operation.name]: Checked(rated(operation, spec.schemas)) for operation in spec.operations}
    return {path: checked for path, checked in found.items() if checked.weight < 1 or checked.reasons}


def save(folder: Path, checks: Mapping[str, Checked]) -> None:
    """Write the checks of a state.

    Raises:
        OSError: no room, or no permission.
    """
    text = json.dumps({path: checked.to_dict() for path, checked in sorted(checks.items())}, indent=1)
    write_whole(folder / FILE, text + "\n")


def read(folder: Path) -> dict[str, Checked]:
    """The checks of a state; empty if there are none that can be read."""
    try:
        data: dict[str, dict[str, Any]] = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return {path: Checked.from_dict(item) for path, item in data.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}
