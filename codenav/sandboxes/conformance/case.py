"""The form of a check as data: code for the sandbox, and what must come of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from codenav.core.execution import Execution, Outcome
from codenav.sandboxes.conformance.lab import Broken, Lab, expect, first_line

Check = Callable[[Lab], None]
"""A part of a check: a `Step`, `Refused`, or a function where the host takes part. It raises `Broken`."""


@dataclass(frozen=True)
class Case:
    """A probe, an item of the contract or an attack, and what must come of it."""

    id: str
    """`probe`, `contract`, or section and number of an attack: `F` file system, `N` network, `P` processes,
    `R` resources, `S` secrets. The tests add `C`, confusion of the protocol, and `T`, tools."""
    title: str
    parts: Sequence[Check]
    """What is done, in this order, in one sandbox."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Changes to the specification of that sandbox."""
    work: bool = False
    """True if it has a work folder of the host."""
    reads: bool = False
    """True if it leaves its sandbox as it was: such cases share one."""


class Step:
    """Code that runs as a step, and what must be true of its result.

    `ends` is an outcome or several. Of the rest only what is named is looked at: `prints` is the output without space
    around it, `notice` the beginnings that a notice may have, `error` a type, `line` a number and text, `traceback` its
    last line, `changed` names with their descriptions, `displays` media types with their bytes, and other names are
    attributes of the result.
    """

    def __init__(
        self,
        code: str,
        ends: Outcome | Collection[Outcome] = Outcome.OK,
        *,
        timeout: float = 20.0,
        within: float | None = None,
        **wanted: Any,
    ) -> None:
        self.code, self.timeout, self.within, self.wanted = code, timeout, within, wanted
        self.ends = (ends,) if isinstance(ends, Outcome) else tuple(ends)

    def __call__(self, lab: Lab) -> None:
        done = lab.outcome(self.code, *self.ends, timeout=self.timeout, within=self.within)
        what = first_line(self.code)
        for name, wanted in self.wanted.items():
            if name != "notice":
                expect(f"{name} of {what!r}", _SEEN[name](done) if name in _SEEN else getattr(done, name), wanted)
            elif not done.notice.startswith(wanted):
                raise Broken(f"the notice after {what!r}: {done.notice!r}")


_SEEN: Mapping[str, Callable[[Execution], object]] = {
    "prints": lambda done: done.stdout.strip(),
    "error": lambda done: done.error and done.error.type,
    "message": lambda done: done.error and done.error.message,
    "line": lambda done: done.error and (done.error.line_number, done.error.line),
    "traceback": lambda done: done.error and done.error.traceback.splitlines()[-1],
    "changed": lambda done: {one.name: one.repr for one in done.changed},
    "displays": lambda done: [(one.mime, one.data) for one in done.displays],
}


class Refused:
    """Statements that must raise: each one of these numbers of errors or exceptions, by name."""

    def __init__(self, errors: Collection[str], *statements: str, setup: str = "import os") -> None:
        self.errors, self.statements, self.setup = errors, statements, setup

    def __call__(self, lab: Lab) -> None:
        for statement in self.statements:
            lab.refused(statement, self.errors, setup=self.setup)
