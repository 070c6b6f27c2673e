"""Judgements of code: the reports of checkers on a step, and the verdict on a replayed summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from codenav.execution.results import Execution, Held
from codenav.system.stored import Makers, Stored, all_of


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


@dataclass(frozen=True)
class Verdict(Stored):
    """The verdict on a code summary: whether a replay in a fresh sandbox had the same result."""

    verified: bool
    """True if something was compared, all of it agrees, and nothing that counts is missing."""
    reason: str = ""
    """Why it is not verified. Empty if it is."""
    compared: tuple[str, ...] = ()
    """Names of what was compared and agrees: variables, files, `the last output`."""
    missing: tuple[str, ...] = ()
    """Names of what the session made and the replay did not."""
    replayed: Replayed | None = field(default=None, repr=False, compare=False)
    """The results of the replay if it came to its end. Not stored."""

    stored: ClassVar[Sequence[str]] = ("verified", "reason", "verdict", "compared", "missing")

    @property
    def verdict(self) -> str:
        """The verdict: `verified`, `partly` (what was compared agrees, but something is missing) or `not verified`."""
        return VERIFIED if self.verified else PARTLY if self.missing else NOT_VERIFIED
