"""The limits of an episode."""

from __future__ import annotations

from dataclasses import dataclass, fields

from codenav.core.errors import UsageError
from codenav.core.setting import DAY, setting
from codenav.core.system.stored import Stored


@dataclass(frozen=True)
class Limits(Stored):
    """The limits of an episode. Reaching one ends it with status `limit` and exit code 3, but for that on questions.

    Without limits of its own, a session takes the configured ones, else these. The steps are the default of the
    released CodeNav (codenav_run.py, --max_steps).

    Raises:
        UsageError: a limit is negative.
    """

    steps: int = setting(
        20, "Most actions of an episode; 0 is no limit.", key="max_steps", metavar="N", least=0, zero="no limit"
    )
    seconds: float = setting(
        600.0, "Most seconds of an episode, from the first prompt; 0 is no limit.",
        key="max_seconds", metavar="SECONDS", least=0, most=DAY, unit="seconds", zero="no limit",
    )  # fmt: skip
    tokens: int = setting(
        0, "Most tokens of an episode, of all model calls; 0 is no limit.",
        key="max_tokens", metavar="N", least=0, zero="no limit",
    )  # fmt: skip
    questions: int = setting(
        3, "Most questions that a person is asked in an episode, approvals not counted; 0 asks nothing.",
        key="max_questions", metavar="N", least=0,
    )  # fmt: skip
    invalid_actions: int = 5
    """Successive answers without a valid action, after which the episode has failed. 0 means no limit."""

    repeats: int = 4
    """Times of one and the same step with nothing new, after which the episode has failed; at most 3 in the small
    profile. 0 means no limit."""

    def __post_init__(self) -> None:
        for item in fields(self):
            if getattr(self, item.name) < 0:
                value = getattr(self, item.name)
                raise UsageError(f"the limit on {item.name} is negative: {value}", hint="0 means no limit")
