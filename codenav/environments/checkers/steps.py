"""Black, flake8 and mypy for each step."""

from __future__ import annotations

import concurrent.futures
import time
from collections.abc import Sequence
from pathlib import Path

from codenav.core.execution import CheckReport, Finding
from codenav.core.system.interpreter import Interpreter
from codenav.environments.checkers.answers import Answer, Past
from codenav.environments.checkers.folder import PrivateFolder
from codenav.environments.checkers.packages import unlike
from codenav.environments.checkers.worker import Worker

_GRACE = 0.5
"""Seconds that a caller waits longer than the thread that serves it."""


class StepChecks:
    """The checkers of steps, for the tools that are switched on; a `protocols.Checker`.

    `python` runs the steps: the tools assume its version and its packages. Where another Python runs them, as in a
    container, `version` is that of the other one, and `packages` are its distributions with their versions: what
    `python` has in another version is not checked. `import_paths` are folders or single files whose modules steps can
    import. `seconds` bounds one `check`, a cold start included.

    Each tool is a child process that starts here, stays warm, and dies with this process. None reads any configuration:
    neither the user's nor files that a step may have written.
    """

    def __init__(
        self,
        *,
        python: Interpreter,
        import_paths: Sequence[Path] = (),
        version: str = "",
        packages: Sequence[tuple[str, str]] = (),
        formatting: bool = False,
        lint: bool = True,
        types: bool = True,
        seconds: float = 10.0,
    ) -> None:
        self._seconds = seconds
        self._closed = False
        settings = {
            "version": [int(part) for part in (version or python.version).split(".")[:2]],
            "python": str(python.executable),
            "unlike": unlike(python, packages),
            "import_paths": [str(path.resolve()) for path in import_paths],
        }
        self._workers: list[Worker] = []
        if formatting:
            self._workers.append(Worker("black", settings))
        if lint:
            self._workers.append(Worker("flake8", settings))
        if types:
            self._workers.append(Worker("mypy", settings, PrivateFolder()))

    def check(self, code: str) -> Sequence[CheckReport]:
        """One report per tool, after `seconds` (10) at the latest; a tool that fails says so. Never raises."""
        if self._closed:
            return [CheckReport(worker.tool, failure="the checks are closed") for worker in self._workers]
        started = time.monotonic()
        deadline = started + self._seconds
        asked = [(worker.tool, worker.check(code, deadline=deadline)) for worker in self._workers]
        return [_report(tool, _await(future, deadline), started) for tool, future in asked]

    def remember(self, code: str, *, failed_at: int | None = None) -> None:
        """Add a step that ran: later steps may use its names. Returns at once.

        `failed_at` is the last of its own lines (1-based) in the traceback, if it raised: the lines below were not
        executed, unless that line is in a function.
        """
        if not self._closed:
            for worker in self._workers:
                worker.remember(Past(code, failed_at))

    def close(self) -> None:
        """End the processes of the tools; safe to call twice."""
        self._closed = True
        for worker in self._workers:
            worker.close()


def _await(future: concurrent.futures.Future[Answer], deadline: float) -> Answer:
    try:
        return future.result(max(0.0, deadline - time.monotonic()) + _GRACE)
    except (concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
        future.cancel()
        return Answer(failure="no verdict in time: the tool is still starting")


def _report(tool: str, answer: Answer, started: float) -> CheckReport:
    return CheckReport(
        tool,
        findings=[Finding(remark.code, remark.message, remark.line) for remark in answer.remarks],
        failure=answer.failure,
        formatted=answer.formatted,
        seconds=max(0.0, answer.at - started) if answer.at else time.monotonic() - started,
    )
