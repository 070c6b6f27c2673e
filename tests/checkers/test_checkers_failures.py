"""A checker that fails says so, and the next check works; nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import venv
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from checkers import processes

from codenav.core.execution import CheckReport
from codenav.core.system.interpreter import Interpreter
from codenav.environments.checkers import StepChecks, worker
from codenav.environments.checkers.folder import PrivateFolder, sweep

Make = Callable[..., StepChecks]
ROOT = Path(__file__).resolve().parents[2]


def findings(report: CheckReport) -> list[str]:
    assert not report.failure
    return [finding.code for finding in report.findings]


class Daemon:
    """A checker with a history, and its mypy process."""

    def __init__(self, checks: StepChecks, others: Iterable[int]) -> None:
        self.checks = checks
        self._others = set(others)

    @property
    def pid(self) -> int:
        found = {pid for folder, pid in processes.children().items() if "codenav-checks-" in folder}
        (pid,) = found - self._others
        return pid

    def killed_while_checking(self, code: str) -> list[CheckReport]:
        """The reports of a check in the middle of which mypy is killed."""
        pid = self.pid
        processes.stop(pid)
        reports: list[CheckReport] = []
        thread = threading.Thread(target=lambda: reports.extend(self.checks.check(code)))
        thread.start()
        processes.until(lambda: processes.asked(pid))
        os.kill(pid, signal.SIGKILL)
        thread.join()
        return reports


@pytest.fixture
def start(fresh: Make) -> Callable[..., Daemon]:
    """Warm, with `kept(a: int) -> int` in its history, and idle."""

    def make(**options: object) -> Daemon:
        others = processes.children().values()
        checks = fresh(**options)
        processes.until(lambda: not any(report.failure for report in checks.check("")))
        checks.remember("def kept(a: int) -> int: return a\n")
        checks.check("")
        return Daemon(checks, others)

    return make


def test_a_daemon_killed_between_two_steps_is_replaced(start: Callable[..., Daemon]) -> None:
    daemon = start()
    pid = daemon.pid
    os.kill(pid, signal.SIGKILL)
    processes.until(lambda: not processes.alive(pid))
    assert findings(daemon.checks.check("kept('a')\n")[1]) == ["arg-type"]
    assert daemon.pid != pid
    # And while it takes a step in: the new one takes it in as well.
    pid = daemon.pid
    processes.stop(pid)
    daemon.checks.remember("def soon(a: int) -> int: return a\n")
    processes.until(lambda: processes.asked(pid))
    os.kill(pid, signal.SIGKILL)
    assert findings(daemon.checks.check("soon('a')\n")[1]) == ["arg-type"]


def test_a_daemon_killed_during_a_check_is_a_failure_and_the_next_check_works(start: Callable[..., Daemon]) -> None:
    daemon = start()
    hard = "hard = 1\ndef easy(a: int) -> int: return a\n"
    lint, types = daemon.killed_while_checking(hard)
    assert lint.clean
    assert types.failure == "mypy was ended by SIGKILL" and not types.clean and not types.findings
    assert findings(daemon.checks.check("kept('a')\n")[1]) == ["arg-type"]
    # A step on which the tool once failed is taken in by its names alone.
    daemon.checks.remember(hard)
    assert findings(daemon.checks.check("hard.foo, easy(1, 2, 3)\nprint(nowhere)\n")[1]) == ["name-defined"]


def test_a_daemon_that_does_not_answer_is_given_up(start: Callable[..., Daemon]) -> None:
    daemon = start(lint=False, seconds=1.0)
    processes.stop(daemon.pid)
    (report,) = daemon.checks.check("kept(1)\n")
    assert report.failure == "mypy gave no verdict in time" and not report.clean
    processes.until(lambda: not daemon.checks.check("")[0].failure)
    assert findings(daemon.checks.check("kept('a')\n")[0]) == ["arg-type"]


HOSTILE = {
    "a line of 1 MB": "x = '" + "a" * 1_000_000 + "'\n",
    "null byte": "x = '\0'\n",
    "lone surrogate": "x = '\udcff'\n",
    "deep `not`": "y = " + "not " * 20_000 + "1\n",
    "deep minus": "y = " + "-" * 100_000 + "1\n",
    "long sum": "y = 1" + " + 1" * 2_000 + "\n",
    "deep attributes": "y = int" + ".a" * 2_000 + "\n",
    "deep brackets": "y = " + "[" * 300 + "]" * 300 + "\n",
    "deep blocks": "".join(" " * n + "if 1:\n" for n in range(120)),
    "unknown encoding": "# coding: nonsense\nx = 1\n",
    "only a backslash": "\\",
    "control characters": "\x1b[2J\x07\x0c\r\x00",
    "no code": "Sure! Here is the code:\n```python\nx = 1\n```\n",
    "configuration in comments": "# mypy: plugins=evil, python_version=2.7\n# flake8: noqa\n# fmt: off\nx = 1\n",
}


def test_hostile_code_ends_in_findings_or_a_failure(fresh: Make) -> None:
    made = fresh(formatting=True, seconds=10.0)
    processes.until(lambda: not any(report.failure for report in made.check("")))
    for name, code in HOSTILE.items():
        if name != "deep minus":
            assert len(made.check(code)) == 3, name
    # black does not come back from this one: it ends with the deadline, and black is started anew.
    quick = fresh(formatting=True, lint=False, types=False, seconds=1.0)
    processes.until(lambda: not quick.check("")[0].failure)
    assert quick.check(HOSTILE["deep minus"])[0].failure == "black gave no verdict in time"
    processes.until(lambda: not quick.check("x = 1\n")[0].failure)
    processes.until(lambda: not any(report.failure for report in made.check("x = 1\n")))
    black, lint, types = made.check("x=1\nprint(nowhere)\n")
    assert black.formatted == "x = 1\nprint(nowhere)\n"
    assert (findings(lint), findings(types)) == (["F821"], ["name-defined"])


def test_a_fresh_process_after_so_many_checks(fresh: Make) -> None:
    made = fresh(types=False)
    made.remember("kept = 1\n")
    made.check("")
    before = set(processes.children().values())
    for number in range(worker.RENEW_AFTER):
        assert findings(made.check(f"print(kept, nowhere{number})\n")[0]) == ["F821"]
    processes.until(lambda: not before <= set(processes.children().values()))
    assert findings(made.check("print(kept, nowhere)\n")[0]) == ["F821"]


def test_closing_leaves_no_process_and_no_folder(python: Interpreter) -> None:
    before = processes.children()
    made = StepChecks(python=python, formatting=True, seconds=60)
    made.check("x = 1\n")
    mine = {folder: pid for folder, pid in processes.children().items() if folder not in before}
    folder = next(Path(folder) for folder in mine if "codenav-checks-" in folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    made.close()
    made.close()
    assert not any(map(processes.alive, mine.values()))
    assert not folder.exists()
    assert [report.failure for report in made.check("x = 1\n")] == ["the checks are closed"] * 3
    made.remember("x = 1\n")


def test_closing_while_a_tool_starts_does_not_wait_for_it(python: Interpreter) -> None:
    made = StepChecks(python=python)
    made.close()
    assert all(report.failure for report in made.check("x = 1\n"))


HOST = """
import os, sys, threading
from pathlib import Path
from codenav.core.system.interpreter import find_interpreter
from codenav.environments.checkers import StepChecks
checks = StepChecks(python=find_interpreter(), formatting=True, seconds=60)
checks.check("x = 1")
threading.Thread(target=checks.check, args=("y = " + "-" * 100_000 + "1",), daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""


def test_no_process_outlives_a_host_that_is_killed(tmp_path: Path) -> None:
    host = subprocess.Popen(
        [sys.executable, "-c", HOST],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert host.stdout is not None and host.stdin is not None
    assert host.stdout.readline() == b"ready\n"
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _parent(entry) == host.pid]
    assert len(pids) == 3
    host.kill()
    host.wait()
    processes.until(lambda: not any(map(processes.alive, pids)))
    host.stdin.close()
    host.stdout.close()
    # Its folder is removed by the next one to look, and a living one's is not.
    (left,) = tmp_path.glob("codenav-checks-*")
    living = PrivateFolder()
    kept = living.renew()
    for folder in (left, kept):
        os.utime(folder, (1, 1))
    sweep(tmp_path)
    sweep(kept.parent)
    assert not left.exists() and kept.exists()
    living.remove()
    assert not kept.exists()


def _parent(entry: Path) -> int:
    try:
        return int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


MISSING = """
import sys
sys.path.append(sys.argv[1])
from codenav.core.system.interpreter import find_interpreter
from codenav.environments.checkers import StepChecks
checks = StepChecks(python=find_interpreter(), formatting=True)
for report in [*checks.check("x = 1"), *checks.check("x = 1")]:
    print(report.tool, report.clean, report.failure)
checks.close()
"""


def test_a_tool_that_is_not_installed_is_a_failure(tmp_path: Path) -> None:
    venv.create(tmp_path / "empty", with_pip=False, symlinks=True)
    interpreter = tmp_path / "empty" / "bin" / "python"
    command = [str(interpreter), "-c", MISSING, str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, env={"PATH": os.defpath}, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 6 and lines[:3] == lines[3:]
    for line, tool in zip(lines, ("black", "flake8", "mypy"), strict=False):
        assert line.startswith(f"{tool} False {tool} is not installed")


def test_an_interpreter_that_is_gone_is_a_failure_of_mypy_alone(python: Interpreter) -> None:
    made = StepChecks(python=replace(python, executable=Path("/nonexistent/python")), seconds=60)
    lint, types = made.check("print(nowhere)\n")
    assert findings(lint) == ["F821"]
    assert types.failure and not types.findings
    made.close()
