"""The limits of an episode."""

from __future__ import annotations

from dataclasses import dataclass, fields

from codenav.core.errors import UsageError
from codenav.core.system.stored import Stored


@dataclass(frozen=True)
class Limits(Stored):
    """The limits of an episode. Reaching one ends it with status `limit` and exit code 3.

    Without limits of its own, a session takes the configured ones (`config.toml`, CODENAV_LIMIT_STEPS, …), else these.

    Raises:
        UsageError: a limit is negative.
    """

    steps: int = 20
    """Actions of the agent. 0 means no limit. The default of the released CodeNav (codenav_run.py, --max_steps)."""
    seconds: float = 600.0
    """Wall clock from the first prompt. 0 means no limit."""
    tokens: int = 0
    """Input and output tokens of all model calls together. 0 means no limit."""
    invalid_actions: int = 5
    """Successive answers without a valid action, after which the episode has failed. 0 means no limit."""

    def __post_init__(self) -> None:
        for item in fields(self):
            if getattr(self, item.name) < 0:
                value = getattr(self, item.name)
                raise UsageError(f"the limit on {item.name} is negative: {value}", hint="0 means no limit")
