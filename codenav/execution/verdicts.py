"""Judgements of code: the reports of checkers on a step, and the verdict on a replayed summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from codenav.execution.results import Execution, Held


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark of a checker about the code of a step."""

    code: str
    """The tool's own code: `F821`, `name-defined`."""
    message: str
    line_number: int

    def to_dict(self) -> dict[str, Any]:
        """The stored form."""
        return {"code": self.code, "message": self.message, "line_number": self.line_number}


@dataclass(frozen=True)
class CheckReport:
    """What one checker says of one step. `failure` set means: not checked, which is not clean."""

    tool: str
    """`black`, `flake8` or `mypy`."""
    findings: Sequence[Finding] = ()
    failure: str = ""
    """Why the tool itself gave no verdict; empty when it did."""
    formatted: str | None = None
    """The code as a formatter would write it; None where it would change nothing."""
    seconds: float = 0.0

    @property
    def clean(self) -> bool:
        """The tool ran and had nothing to say."""
        return not self.failure and not self.findings and self.formatted is None

    def to_dict(self) -> dict[str, Any]:
        """The stored form."""
        return {
            "tool": self.tool,
            "findings": [finding.to_dict() for finding in self.findings],
            "failure": self.failure,
            "formatted": self.formatted,
            "seconds": round(self.seconds, 4),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CheckReport:
        """The inverse of `to_dict`."""
        return cls(**{**data, "findings": tuple(Finding(**item) for item in data["findings"])})


@dataclass(frozen=True)
class Ran:
    """A step of code that ran in a sandbox."""

    code: str
    execution: Execution


@dataclass(frozen=True)
class Replayed:
    """What a replay left to hold an answer against."""

    output: str = ""
    held: Held = Held()
    files: tuple[str, ...] = ()
    """Names of the files that it wrote or found."""


VERIFIED, PARTLY, NOT_VERIFIED = "verified", "partly", "not verified"


@dataclass(frozen=True)
class Verdict:
    """Whether a code summary replayed in a fresh sandbox with the same result."""

    verified: bool
    """Something was compared, all of it agrees, and nothing that counts is missing."""
    reason: str = ""
    """Why not; empty when verified."""
    compared: tuple[str, ...] = ()
    """What was compared and agrees: names of variables and files, `the last output`."""
    missing: tuple[str, ...] = ()
    """What the session made and the replay did not."""
    replayed: Replayed | None = field(default=None, repr=False, compare=False)
    """What the replay left, where it came to its end; not stored."""

    @property
    def verdict(self) -> str:
        """`verified`, `partly` (what was compared agrees, but something is missing) or `not verified`."""
        return VERIFIED if self.verified else PARTLY if self.missing else NOT_VERIFIED

    def to_dict(self) -> dict[str, Any]:
        """The stored form."""
        return {
            "verified": self.verified,
            "reason": self.reason,
            "verdict": self.verdict,
            "compared": list(self.compared),
            "missing": list(self.missing),
        }
