"""The environment of `code` actions: runs the step in a sandbox while checkers read it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext

from codenav.actions import Action, Code, CodeObservation
from codenav.cancelling import current_scope
from codenav.environments.formatting import executed
from codenav.execution import CheckReport, Outcome, Ran, Resources
from codenav.protocols import CallsOfStep, Checker, Sandbox


class CodeEnvironment:
    """The environment of `code` actions: one sandbox with one interpreter state for all steps.

    `timeout`: seconds per step. The model is told the `packages` (name and version), the `imports` (a sentence on what
    can be imported from the code base) and the `tools` that `checker` runs. `ran` is called after each step. `calls`
    collects what the code calls of tools that the sources have.
    """

    action: type[Action] = Code

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        checker: Checker | None = None,
        timeout: float = Resources.step_seconds,
        packages: Sequence[tuple[str, str]] = (),
        imports: str = "",
        tools: Sequence[str] = (),
        ran: Callable[[Ran], None] | None = None,
        calls: CallsOfStep | None = None,
    ) -> None:
        self.sandbox = sandbox
        self.timeout = timeout
        self._checker = checker
        self._packages = packages
        self._imports = imports
        self._tools = tools
        self._ran = ran
        self._calls = calls

    def facts(self) -> Mapping[str, str]:
        """The facts of this sandbox."""
        info = self.sandbox.info
        network = "There is no network." if info.network == "none" else "The network can be reached."
        named = [f"{name} {version}" for name, version in self._packages]
        return {
            "python": info.python_version,
            "packages": ", ".join(named) if named else "the standard library",
            "work_dir": info.work_dir,
            "network": network,
            "timeout": f"{self.timeout:g}",
            # How tools are called is an item of its own, there only where the sources have some.
            "imports": f"{self._imports}\n- {self._calls.told}" if self._calls else self._imports,
            "checks": f"Each step is read by {' and '.join(self._tools)}; remarks stand below its result."
            if self._tools
            else "",
        }

    def respond(self, action: Action, *, timeout: float | None = None) -> CodeObservation:
        """Run one step. The checkers read it at the same time; a slow one is waited for up to its own bound.

        Raises:
            Cancelled: the episode was cancelled before the step began. One that runs is interrupted, and observed.
        """
        reports: list[CheckReport] = []
        checker, read = self._checker, threading.Event()

        def reading() -> None:
            try:
                reports.extend(checker.check(action.content) if checker else ())
            finally:
                read.set()

        scope = current_scope()
        calling = self._calls.collected() if self._calls else nullcontext(())
        with calling as calls, scope.waking(self.sandbox.interrupt):
            # A run that is interrupted does not wait for its checkers.
            threading.Thread(target=reading, name="codenav-checks", daemon=True).start()
            execution = self.sandbox.run(action.content, timeout=min(self.timeout, timeout or self.timeout))
        scope.wait(read)
        checks = tuple(reports)
        if self._ran:
            self._ran(Ran(action.content, execution))
        # An exception keeps what the step bound before it; a crash or a timeout undoes the step.
        if self._checker and execution.outcome in (Outcome.OK, Outcome.ERROR):
            failed_at = execution.error.line_number if execution.error else None
            self._checker.remember(action.content, failed_at=failed_at)
        made = tuple(calls)
        return CodeObservation(executed(execution, checks, made), execution=execution, checks=checks, calls=made)
