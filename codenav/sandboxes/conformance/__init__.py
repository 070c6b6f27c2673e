"""Checks that a sandbox backend keeps its promises here: probes, the contract, and the containment corpus."""

from __future__ import annotations

import contextlib
import dataclasses
import traceback
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from codenav.core.errors import CodeNavError
from codenav.core.execution import SandboxSpec
from codenav.core.protocols import CallHandler, Sandbox
from codenav.sandboxes.conformance.case_files import CASES as FILES
from codenav.sandboxes.conformance.case_files import HOST_NAME, HOST_VALUE
from codenav.sandboxes.conformance.case_network import CASES as NETWORK
from codenav.sandboxes.conformance.case_processes import CASES as PROCESSES
from codenav.sandboxes.conformance.case_resources import CASES as RESOURCES
from codenav.sandboxes.conformance.contract import CONTRACT
from codenav.sandboxes.conformance.lab import Broken, Case, Lab, Late, Open
from codenav.sandboxes.conformance.probes import PROBES
from codenav.sandboxes.conformance.witness import Canaries, Remains, namespace_of, planted
from codenav.sandboxes.owned_resources import OwnedFolder

__all__ = ["CASES", "CONTRACT", "PROBES", "CheckRow", "run_checks", "run_contract", "run_corpus", "run_probes"]

CASES = {each.id: each for each in (*FILES, *NETWORK, *PROCESSES, *RESOURCES)}
"""The attacks whose outcome depends on the machine, by their ids. The tests of codenav run more of them."""
ATTEMPTS = 3
"""Attempts at a check that came too late: on a loaded machine that is no fault of the sandbox, unless it recurs."""


@dataclass(frozen=True)
class CheckRow:
    """The outcome of one probe, contract item or case."""

    name: str
    ok: bool
    detail: str
    """The expected and the actual result; empty where it passed."""
    hint: str = ""


def run_checks(backend: str, spec: SandboxSpec, *, only: Collection[str] = ()) -> Iterator[CheckRow]:
    """Run probes, contract and cases, each in sandboxes of its own; a failed probe is in the last row but one.

    On `process` only the contract runs: the rest would hit the host. `only` names cases by their ids and leaves the
    contract out.

    Raises:
        SandboxUnavailable, UsageError: the backend does not start at all.
    """
    from codenav.sandboxes import start

    def open_sandbox(wanted: SandboxSpec, calls: CallHandler | None = None) -> Sandbox:
        return start(backend, wanted, calls=calls)

    open_sandbox(spec).close()
    if backend == "process":
        yield from run_contract(open_sandbox, spec)
        return
    failed = False
    for row in run_probes(open_sandbox, spec):
        failed = failed or not row.ok
        yield row
    if failed:
        yield CheckRow("containment", False, "a probe failed", "nothing was attacked: it could have hit the host")
        return
    if not only:
        yield from run_contract(open_sandbox, spec)
    yield from run_corpus(open_sandbox, spec, [CASES[id] for id in only or CASES])


def run_probes(open_sandbox: Open, spec: SandboxSpec) -> Iterator[CheckRow]:
    """Run the harmless questions; sandboxes are started without a network, as for the corpus."""
    with _runner(open_sandbox, dataclasses.replace(spec, network="none")) as runner:
        yield from map(runner.check, PROBES)


def run_contract(open_sandbox: Open, spec: SandboxSpec) -> Iterator[CheckRow]:
    """Check what every sandbox does with a step, whether it contains anything or not."""
    with _runner(open_sandbox, spec) as runner:
        yield from map(runner.check, CONTRACT)


def run_corpus(open_sandbox: Open, spec: SandboxSpec, cases: Collection[Case]) -> Iterator[CheckRow]:
    """Run cases. They attack: `run_probes` comes first."""
    with _runner(open_sandbox, dataclasses.replace(spec, network="none")) as runner:
        yield from runner.corpus(cases)


@contextlib.contextmanager
def _runner(open_sandbox: Open, spec: SandboxSpec) -> Iterator[_Runner]:
    owned = OwnedFolder.make()
    try:
        yield _Runner(open_sandbox, spec, owned.path)
    finally:
        owned.remove()


class _Runner:
    """A runner of checks, each in a folder of its own, which makes rows of what they raise."""

    def __init__(self, open_sandbox: Open, spec: SandboxSpec, folder: Path) -> None:
        self._open, self._spec, self._folder = open_sandbox, spec, folder
        self._count = 0
        self._shared: Lab | None = None
        """The workplace of the cases that only read."""

    def check(self, each: Case) -> CheckRow:
        """Run one probe or item of the contract."""
        return _row(each, lambda: self._run(each, self._lab(each)))

    def corpus(self, cases: Collection[Case]) -> Iterator[CheckRow]:
        """Run the cases, with canaries on the host."""
        temporary = self._folder / "tmp"
        temporary.mkdir()
        with planted({HOST_NAME: HOST_VALUE}, temporary), contextlib.ExitStack() as stack:
            # The folder for marks stays for the user, and is no leftover of a case that is the first to need it.
            OwnedFolder.make().remove()
            canaries = Canaries()
            stack.callback(canaries.close)
            for each in cases:
                if each.reads and self._shared is None:
                    self._shared = self._lab(each)
                    stack.callback(self._shared.close)
                    _next_step(self._shared)
                yield _row(each, lambda: self._attack(each, canaries))  # noqa: B023

    def _attack(self, each: Case, canaries: Canaries) -> None:
        """Run a case, and check what must be true around each of them."""
        remains = Remains()
        lab = self._shared if each.reads and self._shared else self._lab(each)
        if each.work:
            lab.begin(work_dir=lab.work)
        self._run(each, lab, remains)
        canaries.check(lab)
        remains.check()

    def _run(self, each: Case, lab: Lab, remains: Remains | None = None) -> None:
        try:
            for part in each.parts:
                part(lab)
            if remains is not None and lab is not self._shared and lab.is_open:
                _next_step(lab)
                remains.note(namespace_of(lab.box))
        finally:
            if lab is not self._shared:
                lab.close()

    def _lab(self, each: Case) -> Lab:
        self._count += 1
        folder = self._folder / str(self._count)
        folder.mkdir()
        return Lab(self._open, self._spec, folder, each.changes)


def _next_step(lab: Lab) -> None:
    """Check that the next step works, or says what happened to the state: never silently empty."""
    lab.run("_codenav_next = 1", timeout=20.0)
    done = lab.run("import os\nos.write(1, str(_codenav_next).encode());", timeout=20.0)
    if done.stdout != "1" and not any(notice.startswith("state") for notice in lab.notices):
        raise Broken(f"the next step has neither its state nor a notice: {done.outcome} {done.stdout!r}")


def _row(each: Case, once: Callable[[], None]) -> CheckRow:
    name = f"{each.id}: {each.title}"
    for attempt in range(1, ATTEMPTS + 1):
        try:
            once()
        except Late as error:
            if attempt == ATTEMPTS:
                return CheckRow(name, False, f"{error} ({ATTEMPTS} attempts)")
        except (Broken, CodeNavError) as error:
            return CheckRow(name, False, str(error))
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            return CheckRow(name, False, f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})")
        else:
            return CheckRow(name, True, "")
    raise AssertionError
