"""Checks as data, code for the sandbox and what must come of it, and their workplace: sandboxes and a folder."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import secrets
import textwrap
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codenav.core.execution import MIB, Execution, Outcome, Resources, SandboxSpec
from codenav.core.protocols import CallHandler, Sandbox
from codenav.core.system.terminal_text import neutral

Open = Callable[..., Sandbox]
"""A function that starts a sandbox of the backend: takes its specification, and `calls` where calls are answered."""

OVERRUN = 1.0
"""Seconds that a step may take beyond its timeout, whatever runs inside (docs/concepts.md, "Sandbox")."""
SMALL = Resources(memory_bytes=256 * MIB, processes=64, work_bytes=64 * MIB, file_bytes=32 * MIB)
"""The limits of sandboxes under attack, which are reached fast, and harmless where they do not hold."""
TINY = dataclasses.replace(SMALL, memory_bytes=128 * MIB)
"""The limits where an attack fills the memory bit by bit."""
SPARE_PROCESSES = 16
"""Processes that a backend may allow beyond `Resources.processes`, for those of the sandbox itself."""
CLOSED = ("EACCES", "ENOENT", "EPERM", "ENOTDIR")
READ_ONLY = ("EROFS", "EACCES", "EPERM")


class Broken(Exception):
    """A sandbox did not do what was promised."""


class Late(Broken):
    """A sandbox did it too late: on a loaded machine that may be nobody's fault, so it is tried again."""


class Lab:
    """The sandboxes of one check, which are closed at its end, and its folder on the host."""

    def __init__(self, open_sandbox: Open, spec: SandboxSpec, folder: Path, changes: Mapping[str, Any]) -> None:
        self._open = open_sandbox
        self._spec = spec
        self._changes = dict(changes)
        self._opened: list[Sandbox] = []
        self._box: Sandbox | None = None
        self.folder = folder
        self.work = folder / "work"
        self.work.mkdir()
        self.secret = f"canary-{secrets.token_hex(12)}"
        """Text of the host's files that code inside must never see."""
        self.canary = folder / "canary.txt"
        self.canary.write_text(self.secret, encoding="utf-8")
        self.notices: list[str] = []
        self.calls: CallHandler | None = None
        """Answers the calls of sandboxes that are opened from now on."""

    @property
    def box(self) -> Sandbox:
        """The sandbox under check, opened when it is first asked for."""
        if self._box is None:
            self._box = self.open(**self._changes)
        return self._box

    def begin(self, **changes: Any) -> None:
        """Change the specification before the sandbox under check is opened, as only the check itself can."""
        self._changes |= changes

    @property
    def is_open(self) -> bool:
        """True if the sandbox was opened, and not closed by the check."""
        return self._box is not None and bool(self._opened)

    def open(self, **changes: Any) -> Sandbox:
        """Open one more sandbox."""
        spec = dataclasses.replace(self._spec, **{"resources": SMALL, **changes})
        opened = self._open(spec) if self.calls is None else self._open(spec, calls=self.calls)
        self._opened.append(opened)
        return opened

    def close(self) -> None:
        """Close all sandboxes."""
        for sandbox in self._opened:
            sandbox.close()
        self._opened.clear()

    @property
    def spec(self) -> SandboxSpec:
        """The specification with which the sandbox under check is started."""
        return dataclasses.replace(self._spec, **{"resources": SMALL, **self._changes})

    # Steps

    def run(self, code: str, *, timeout: float = 20.0, within: float | None = None) -> Execution:
        """Run a step, which must come back in time, with a known outcome, and nothing that a terminal acts on.

        `within` in seconds: the whole call, where that is less than `timeout` and the overrun.
        """
        box = self.box
        started = time.monotonic()
        done = box.run(textwrap.dedent(code), timeout=timeout)
        took, allowed = time.monotonic() - started, (timeout + OVERRUN if within is None else within) + slack()
        self.notices.append(done.notice)
        if done.outcome not in set(Outcome):
            raise Broken(f"an outcome of no known kind: {done.outcome!r}")
        if took > allowed:
            raise Late(f"a step came back after {took:.1f} s; {allowed:.1f} s were allowed")
        inert(done)
        return done

    def says(self, code: str, *, timeout: float = 20.0) -> str:
        """Run a step that must end well, and return what it prints."""
        return self.outcome(code, Outcome.OK, timeout=timeout).stdout.strip()

    def attempt(self, statement: str, *, setup: str = "import os", timeout: float = 20.0) -> str:
        """Run a statement; return `allowed`, or the name of the error number or exception that it raises."""
        code = [
            "import errno",
            setup,
            "try:",
            textwrap.indent(textwrap.dedent(statement).strip(), "    "),
            "    print('allowed')",
            "except OSError as error: print(errno.errorcode.get(error.errno, type(error).__name__))",
            "except Exception as error: print(type(error).__name__)",
        ]
        return self.says("\n".join(code), timeout=timeout).rpartition("\n")[2]

    def refused(self, statement: str, errors: Collection[str], *, setup: str = "import os") -> None:
        """Check that a statement raises one of these."""
        found = self.attempt(statement, setup=setup)
        if found not in errors:
            raise Broken(f"{' '.join(statement.split())}: {found}, wanted {' or '.join(errors)}")

    def outcome(self, code: str, *outcomes: Outcome, timeout: float = 20.0, within: float | None = None) -> Execution:
        """Run a step and check that it ends in one of these ways."""
        done = self.run(code, timeout=timeout, within=within)
        if done.outcome not in outcomes:
            raise Broken(f"{first_line(code)}: {ending(done)}, wanted {' or '.join(outcomes)}")
        return done

    # The host

    @contextlib.contextmanager
    def at_most(self, seconds: float, what: str) -> Any:
        """Check that the block does not take longer."""
        started = time.monotonic()
        yield
        took = time.monotonic() - started
        if took > seconds + slack():
            raise Late(f"{what} took {took:.1f} s; {seconds:g} s were allowed")

    def files(self) -> Sequence[str]:
        """The files in the host's work folder, as relative paths; links are not followed."""
        return sorted(
            os.path.relpath(os.path.join(folder, name), self.work)
            for folder, folders, names in os.walk(self.work)
            for name in (*names, *(one for one in folders if os.path.islink(os.path.join(folder, one))))
        )


def crowding() -> float:
    """The number of processes that want to run for each processor, in the last minute; at least 1."""
    return max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))


def slack() -> float:
    """The seconds that anything may come later than promised, for what else the machine is busy with."""
    return crowding() - 1.0


def expect(what: str, found: object, wanted: object) -> None:
    """Check that both are equal."""
    if found != wanted:
        raise Broken(f"{what}: expected {wanted!r}, got {str(found)[:300]!r}")


def ensure(holds: object, message: str) -> None:
    """Check that a condition holds."""
    if not holds:
        raise Broken(message)


def ending(done: Execution) -> str:
    """The end of a step, in a line."""
    why = f": {done.error.type}: {done.error.message[:200]}" if done.error else ""
    return f"{done.outcome.value}{why}{f' ({done.notice})' if done.notice else ''}"


def first_line(code: str) -> str:
    """The first line of a step, for a message."""
    return textwrap.dedent(code).strip().partition("\n")[0][:80]


def inert(done: Execution) -> None:
    """Check that every string of a result is harmless for a terminal and storable."""
    for text in _strings(done.to_dict()):
        if neutral(text) != text:
            raise Broken(f"a string of the result holds control characters: {text[:100]!r}")
    json.dumps(done.to_dict(), allow_nan=False).encode()


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for item in value.items() for part in item for text in _strings(part)]
    if isinstance(value, Sequence):
        return [text for item in value for text in _strings(item)]
    return []


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
    """Steps and other checks, done in this order in one sandbox."""
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
