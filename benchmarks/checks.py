"""Checks of a ten-line step with black, flake8 and mypy, as the 2nd step and after 40, beside their commands.

    python benchmarks/checks.py

Bars: all three together at most 30 ms after 40 steps, and at most 1.3 times the 2nd step.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from codenav.core.system.interpreter import find_interpreter
from codenav.environments.checkers import StepChecks

ROUNDS = 60
COMMAND_ROUNDS = 7
TOOLS = ("black", "flake8", "mypy")
FIRST = """\
import json
import math

values = [1.0, 2.0, 4.0]


def area(radius: float) -> float:
    return 3 * radius
"""


def step(number: int) -> str:
    """Ten lines that use earlier names and differ from step to step."""
    return f"""\
total_{number} = 0.0
for value in values:
    total_{number} += area(value) * {number}


def scale_{number}(factor: float, offset: float = 0.0) -> float:
    return total_{number} * factor + offset


print(json.dumps({{"total": scale_{number}(math.pi)}}), round(total_{number}, 2))
"""


class Seen:
    """The times of one checker."""

    def __init__(self, checks: StepChecks) -> None:
        self.checks = checks
        self.times: dict[str, list[float]] = {tool: [] for tool in (*TOOLS, "all")}

    def once(self, number: int) -> None:
        """Check a step that differs from all others, as real steps do."""
        started = time.perf_counter()
        reports = self.checks.check(step(number))
        self.times["all"].append(time.perf_counter() - started)
        for report in reports:
            if report.failure or report.findings:
                sys.exit(f"{report.tool}: {report.failure or report.findings}")
            self.times[report.tool].append(report.seconds)

    def median(self, tool: str) -> float:
        """The median in milliseconds."""
        return statistics.median(self.times[tool]) * 1000


def command(arguments: Sequence[str], file: Path, folder: Path) -> float:
    """The median milliseconds of a command on a file that differs in each round; the first run fills its cache."""
    times = []
    for turn in range(COMMAND_ROUNDS + 1):
        file.write_text(FIRST + step(turn), encoding="utf-8")
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", *arguments, str(file)], cwd=folder, capture_output=True, check=False)
        times.append(time.perf_counter() - started)
    return statistics.median(times[1:]) * 1000


def second_and_later() -> tuple[Seen, Seen]:
    """The times of the checks of the 2nd step and of the 41st."""
    second, later, _, _ = _measured()
    return second, later


def _measured() -> tuple[Seen, Seen, float, float]:
    """The same times, with the seconds of two constructors and those until the first verdict."""
    python = find_interpreter()
    started = time.perf_counter()
    early, late = (StepChecks(python=python, formatting=True, seconds=60) for _ in range(2))
    made = time.perf_counter() - started
    early.check(FIRST)
    cold = time.perf_counter() - started
    early.remember(FIRST)
    late.check(FIRST)
    late.remember(FIRST)
    for number in range(2, 41):
        late.check(step(number))
        late.remember(step(number))
    second, later = Seen(early), Seen(late)
    # In turns, so that other load on the machine affects both.
    for turn in range(ROUNDS):
        for seen in (second, later) if turn % 2 else (later, second):
            seen.once(1000 + turn)
    early.close()
    late.close()
    return second, later, made, cold


def main() -> None:
    """Print the table."""
    second, later, made, cold = _measured()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rivals = {
            "black": command(["black", "-q", "--check"], folder / "step.py", folder),
            "flake8": command(["flake8"], folder / "step.py", folder),
            "mypy": command(["mypy", "--check-untyped-defs"], folder / "step.py", folder),
        }
    rivals["all"] = sum(rivals.values())
    print(f"two constructors {made * 1000:.0f} ms, first check (cold) after {cold * 1000:.0f} ms")
    print(f"medians of {ROUNDS}, in ms")
    print(f"{'':8}{'2nd step':>10}{'41st step':>11}{'41st/2nd':>10}{'command':>10}{'command/41st':>14}")
    for tool in (*TOOLS, "all"):
        before, after, rival = second.median(tool), later.median(tool), rivals[tool]
        print(f"{tool:8}{before:10.2f}{after:11.2f}{after / before:10.2f}{rival:10.0f}{rival / after:14.0f}")


if __name__ == "__main__":
    main()
