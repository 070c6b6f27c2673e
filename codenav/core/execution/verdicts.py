"""Judgements of code: the reports of checkers on a step, and the verdict on a replayed summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from codenav.core.execution.results import Execution, Held
from codenav.core.system.stored import Makers, Stored, all_of


@dataclass(frozen=True, slots=True)
class Finding(Stored):
    """A remark of a checker about the code of a step."""

    code: str
    """The tool's own code, such as `F821` or `name-defined`."""
    message: str
    line_number: int


@dataclass(frozen=True)
class CheckReport(Stored):
    """The report of one checker on one step. With `failure` set the step was not checked, which is not clean."""

    tool: str
    """`black`, `flake8` or `mypy`."""
    findings: Sequence[Finding] = ()
    failure: str = ""
    """Why the tool gave no verdict. Empty if it did."""
    formatted: str | None = None
    """The code as a formatter would write it. None if nothing would change."""
    seconds: float = 0.0

    made: ClassVar[Makers] = {"findings": all_of(Finding)}
    digits: ClassVar[Mapping[str, int]] = {"seconds": 4}

    @property
    def clean(self) -> bool:
        """True if the tool ran and found nothing."""
        return not self.failure and not self.findings and self.formatted is None


@dataclass(frozen=True)
class Ran:
    """A step of code that ran in a sandbox, and its result."""

    code: str
    execution: Execution


@dataclass(frozen=True)
class Replayed:
    """The results of a replay, which an answer is checked against."""

    output: str = ""
    held: Held = Held()
    files: tuple[str, ...] = ()
    """Names of the files that the replay wrote or found."""


VERIFIED, PARTLY, NOT_VERIFIED = "verified", "partly", "not verified"
REPRODUCED, IN_PART, DIFFERS, NOT_COMPARED, NOT_RUN = (
    "reproduced", "reproduced in part", "differs", "not compared", "not run",
)  # fmt: skip
"""What a replay came to, in words for a person."""
_UNKNOWN = "not reproduced"
"""What it came to in older records, which do not say more."""


@dataclass(frozen=True)
class Judged(Stored):
    """The outcome of a replay in a fresh sandbox: the keys that verdicts and stored summaries share."""

    verified: bool = False
    """True if something was compared, all of it agrees, and nothing that counts is missing."""
    reason: str = ""
    """Why it is not verified, or why something was not compared. Usually empty if it is."""
    compared: tuple[str, ...] = ()
    """Names of what was compared and agrees: variables, files, `the last output`."""
    missing: tuple[str, ...] = ()
    """Names of what the session made and the replay did not; not empty if the verdict is `partly`."""
    incidental: tuple[str, ...] = ()
    """Names of what differs each time the same code runs, and was therefore compared without those parts."""
    outcome: str = NOT_RUN
    """What the replay came to, in words for a person: `reproduced` (verified), `reproduced in part` (partly),
    `differs`, `not compared` or `not run`."""

    answer_supported: bool | None = None
    """True if the replay holds the numbers and names of the answer; None: no answer, or nothing was verified."""

    made: ClassVar[Makers] = dict.fromkeys(("compared", "missing", "incidental", "unsupported"), tuple)

    def __post_init__(self) -> None:
        if self.verdict != NOT_VERIFIED:
            object.__setattr__(self, "outcome", REPRODUCED if self.verified else IN_PART)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Restore from JSON types, also from those of older records."""
        return super().from_dict({"outcome": _UNKNOWN, **data})

    @property
    def verdict(self) -> str:
        """The verdict: `verified`, `partly` (what was compared agrees, but something is missing) or `not verified`."""
        return VERIFIED if self.verified else PARTLY if self.missing else NOT_VERIFIED

    @property
    def evidence(self) -> str:
        """The things that were compared, and those that vary, in a few words; may be empty."""
        told = [f"compared: {_few(self.compared)}"] if self.compared else []
        return "; ".join(told + ([f"varies: {_few(self.incidental)}"] if self.incidental else []))

    @property
    def told(self) -> str:
        """The verdict in one line, with the evidence and the reason: the only way in which a verdict is shown."""
        evidence = f" ({self.evidence})" if self.evidence else ""
        lacking = ", but the answer is not in its output" if self.answer_supported is False else ""
        return self.outcome + evidence + lacking + (f": {self.reason}" if self.reason else "")


def _few(names: Sequence[str]) -> str:
    return ", ".join([*names[:6], *([f"{len(names) - 6} more"] if len(names) > 6 else [])])


@dataclass(frozen=True)
class Verdict(Judged):
    """The verdict on a code summary: whether a replay in a fresh sandbox had the same result."""

    replayed: Replayed | None = field(default=None, repr=False, compare=False)
    """The results of the replay if it came to its end. Not stored."""

    stored: ClassVar[Sequence[str]] = (
        "verified", "reason", "verdict", "outcome", "compared", "missing", "incidental",
    )  # fmt: skip
