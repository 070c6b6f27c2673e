"""The messages between a checker's process and the host: one JSON object per line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

from codenav.core.system.stored import Makers, Stored


class Trust(StrEnum):
    """The extent to which a tool may read a step that ran."""

    WHOLE = "whole"
    NAMES = "names"
    """The tool once failed on the step: its names are used, and its types are unknown."""
    NOTHING = "nothing"
    """The step is not even parsed: from then on any name may exist."""


@dataclass(frozen=True)
class Past(Stored):
    """A step that ran, completely or until line `failed_at` (1-based) raised."""

    code: str
    failed_at: int | None = None
    trust: Trust = Trust.WHOLE

    made: ClassVar[Makers] = {"trust": Trust}


class Remark(NamedTuple):
    """A remark of a tool: its code, its message, the line in the step (1-based)."""

    code: str
    message: str
    line: int


@dataclass(frozen=True)
class Answer:
    """The answer of a tool about a step; with `failure` the step was not checked."""

    remarks: Sequence[Remark] = ()
    formatted: str | None = None
    failure: str = ""
    at: float = 0.0
    """The time at which the host had it, by `time.monotonic`; 0 within the tool's process."""

    def to_dict(self) -> dict[str, Any]:
        """The stored form without `at`: JSON types only."""
        return {"remarks": [list(r) for r in self.remarks], "formatted": self.formatted, "failure": self.failure}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, at: float) -> Answer:
        """The inverse of `to_dict`."""
        return cls([Remark(*item) for item in data["remarks"]], data["formatted"], data["failure"], at)


@dataclass(frozen=True)
class Loading:
    """A reply in place of an answer: start the tool again with these modules preloaded, then repeat the request."""

    modules: Sequence[str]

    def to_dict(self) -> dict[str, Any]:
        """The stored form: JSON types only."""
        return {"load": list(self.modules)}
