"""Checks that a sandbox backend keeps its promises here: probes, the contract, and the containment corpus."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codenav.errors import CodeNavError
from codenav.execution import SandboxSpec
from codenav.protocols import CallHandler, Sandbox
from codenav.sandboxes.conformance.case import CASES, Case
from codenav.sandboxes.conformance.contract import CONTRACT
from codenav.sandboxes.conformance.lab import Broken, Lab, Late, Open, StartChecker, StartTools
from codenav.sandboxes.conformance.probes import PROBES
from codenav.sandboxes.conformance.witness import Canaries, Neighbour, Remains, namespace_of, planted
from codenav.sandboxes.owned_resources import OwnedFolder

__all__ = ["CASES", "CONTRACT", "PROBES", "CheckRow", "run_checks", "run_contract", "run_corpus", "run_probes"]

for _name in ("files", "network", "processes", "resources", "secrets", "confusion", "impostors", "calls", "tools"):
    importlib.import_module(f"codenav.sandboxes.conformance.case_{_name}")

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


def run_checks(
    backend: str,
    spec: SandboxSpec,
    *,
    start_checker: StartChecker,
    start_tools: StartTools | None = None,
    only: Collection[str] = (),
) -> Iterator[CheckRow]:
    """Run probes, contract and cases, each in sandboxes of its own; a failed probe is in the last row but one.

    On `process` only the contract runs: the rest would hit the host. `only` names cases by their ids and leaves the
    contract out. `start_checker` starts a checker on the host, which reads each step. `start_tools` opens a broker;
    without it the cases of tools (T) are left out.

    Raises:
        SandboxUnavailable, UsageError: the backend does not start at all.
    """
    from codenav.sandboxes import start

    def opened(wanted: SandboxSpec, calls: CallHandler | None = None) -> Sandbox:
        return start(backend, wanted, calls=calls)

    opened(spec).close()
    if backend == "process":
        yield from run_contract(opened, spec)
        return
    failed = False
    for row in run_probes(opened, spec):
        failed = failed or not row.ok
        yield row
    if failed:
        yield CheckRow("containment", False, "a probe failed", "nothing was attacked: it could have hit the host")
        return
    if not only:
        yield from run_contract(opened, spec)
    ids = [id for id in only or CASES if start_tools is not None or not id.startswith("T")]
    yield from run_corpus(opened, spec, ids, start_checker=start_checker, start_tools=start_tools)


def run_probes(opened: Open, spec: SandboxSpec) -> Iterator[CheckRow]:
    """Run the harmless questions; sandboxes are started without a network, as for the corpus."""
    with _folder() as folder:
        runner = _Runner(opened, dataclasses.replace(spec, network="none"), folder)
        for name, probe in PROBES.items():
            yield runner.check(f"probe: {name}", probe, {})


def run_contract(opened: Open, spec: SandboxSpec) -> Iterator[CheckRow]:
    """Check what every sandbox does with a step, whether it contains anything or not."""
    with _folder() as folder:
        runner = _Runner(opened, spec, folder)
        for name, (item, changes) in CONTRACT.items():
            yield runner.check(f"contract: {name}", item, changes)


def run_corpus(
    opened: Open,
    spec: SandboxSpec,
    ids: Collection[str],
    *,
    start_checker: StartChecker | None = None,
    start_tools: StartTools | None = None,
) -> Iterator[CheckRow]:
    """Run the cases of these ids. They attack: `run_probes` comes first. S7 needs a checker, T a broker."""
    with _folder() as folder:
        runner = _Runner(opened, dataclasses.replace(spec, network="none"), folder, start_checker, start_tools)
        yield from runner.corpus([each for each in CASES.values() if each.id in ids])


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    owned = OwnedFolder.make()
    try:
        yield owned.path
    finally:
        owned.remove()


class _Runner:
    """A runner of checks, each in a folder of its own, which makes rows of what they raise."""

    def __init__(
        self,
        opened: Open,
        spec: SandboxSpec,
        folder: Path,
        start_checker: StartChecker | None = None,
        start_tools: StartTools | None = None,
    ) -> None:
        self._open, self._spec, self._folder = opened, spec, folder
        self._start_checker, self._start_tools = start_checker, start_tools
        self._count = 0

    def check(self, name: str, check: Callable[[Lab], None], changes: Mapping[str, Any]) -> CheckRow:
        """Run one probe or item of the contract."""

        def once() -> None:
            lab = self._lab(changes)
            try:
                check(lab)
            finally:
                lab.close()

        return _row(name, once)

    def corpus(self, cases: Collection[Case]) -> Iterator[CheckRow]:
        """Run the cases, with a neighbour beside them and canaries on the host."""
        from codenav.sandboxes.conformance.case_secrets import HOST_NAME, HOST_VALUE

        temporary = self._folder / "tmp"
        temporary.mkdir()
        with planted({HOST_NAME: HOST_VALUE}, temporary), contextlib.ExitStack() as stack:
            # The folder for marks stays for the user, and is no leftover of a case that is the first to need it.
            OwnedFolder.make().remove()
            neighbour = Neighbour.beside(self._open(dataclasses.replace(self._spec, snapshots=False)))
            stack.callback(neighbour.close)
            canaries = Canaries()
            stack.callback(canaries.close)
            for each in cases:
                yield _row(f"{each.id}: {each.title}", lambda: self._attack(each, neighbour, canaries))  # noqa: B023

    def _attack(self, each: Case, neighbour: Neighbour, canaries: Canaries) -> None:
        """Run a case, and check what must be true around each of them."""
        remains = Remains()
        neighbour.reset()
        lab = self._lab(each.changes)
        lab.slack = neighbour.slack
        if each.work:
            lab.begin(work_dir=lab.work)
        try:
            each.attack(lab)
            if lab.is_open:
                _next_step(lab)
                remains.note(namespace_of(lab.box))
        finally:
            lab.close()
        canaries.check(lab)
        remains.check()
        neighbour.check()

    def _lab(self, changes: Mapping[str, Any]) -> Lab:
        self._count += 1
        folder = self._folder / str(self._count)
        folder.mkdir()
        return Lab(self._open, self._spec, folder, changes, self._start_checker, self._start_tools)


def _next_step(lab: Lab) -> None:
    """Check that the next step works, or says what happened to the state: never silently empty."""
    lab.run("_codenav_next = 1", timeout=20.0)
    done = lab.run("import os\nos.write(1, str(_codenav_next).encode());", timeout=20.0)
    if done.stdout != "1" and not any(notice.startswith("state") for notice in lab.notices):
        raise Broken(f"the next step has neither its state nor a notice: {done.outcome} {done.stdout!r}")


def _row(name: str, once: Callable[[], None]) -> CheckRow:
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
