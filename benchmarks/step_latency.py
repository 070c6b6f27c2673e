"""Latency of a sandboxed step and of a cold start, beside a new interpreter for each step, in one run.

    python benchmarks/step_latency.py [--steps 200] [--starts 20]

Medians; the ratio is against `python -c pass` of the same run. Every step takes a snapshot first.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time
from collections.abc import Callable

from codenav.execution import SandboxSpec
from codenav.interpreter import find_interpreter
from codenav.sandboxes import BACKENDS, diagnose, start


def milliseconds(work: Callable[[], object], times: int) -> tuple[float, float]:
    """Median and 95th percentile of so many calls."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken), statistics.quantiles(taken, n=20)[-1]


def row(name: str, figures: tuple[float, float], baseline: float) -> None:
    """One line of the table."""
    median, high = figures
    print(f"{name:44} {median:9.2f} {high:9.2f} {median / baseline:8.2f}")


def measure(backend: str, spec: SandboxSpec, arguments: argparse.Namespace, baseline: float) -> None:
    """The rows of one backend."""
    starts, opened = [], []
    for _ in range(arguments.starts):
        began = time.perf_counter()
        opened.append(start(backend, spec))
        opened[-1].run("pass")
        starts.append((time.perf_counter() - began) * 1000)
    for sandbox in opened:
        sandbox.close()
    figures = statistics.median(starts), statistics.quantiles(starts, n=20)[-1]
    row(f"{backend}: cold start to the first result", figures, baseline)
    with start(backend, spec) as sandbox:
        sandbox.run("x = 0")
        row(f"{backend}: x += 1", milliseconds(lambda: sandbox.run("x += 1"), arguments.steps), baseline)
        sandbox.run("numbers = list(range(3_000_000))")
        row(
            f"{backend}: x += 1, 100 MB of numbers alive",
            milliseconds(lambda: sandbox.run("x += 1"), arguments.steps),
            baseline,
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--starts", type=int, default=20)
    arguments = parser.parse_args()
    python = find_interpreter()
    command = [str(python.executable), "-c", "pass"]
    base = milliseconds(lambda: subprocess.run(command, check=True), max(arguments.starts, 20))
    print(f"{'':44} {'median ms':>9} {'p95 ms':>9} {'ratio':>8}")
    row("python -c pass, a new process per step", base, base[0])
    for backend in BACKENDS:
        state = diagnose(backend)
        if state.ok:
            measure(backend, SandboxSpec(python), arguments, base[0])
        else:
            print(f"{backend}: {state.detail}")


if __name__ == "__main__":
    main()
