"""The cost of whole processes: wall clock, processor time of all of them, and peak memory of the tree."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

INTERVAL = 0.02
"""Seconds between two readings of a process tree."""
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Cost:
    """The cost of a process and all its descendants."""

    wall: float
    """Seconds of wall clock."""
    cpu: float
    """Seconds of processor time, user and system, of all processes that were waited for."""
    rss: float = 0.0
    """Peak resident memory of the tree in MB; pages that two processes share count twice."""
    pss: float = 0.0
    """The same with shared pages counted once; read less often."""
    output: str = ""


def run(command: Sequence[str | Path], *, env: Mapping[str, str] | None = None, ok: Sequence[int] = (0,)) -> Cost:
    """Run a command to its end; exit if it fails."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, text=True
    )
    peak = _Peak(process.pid)
    output: list[str] = []
    readers = [
        threading.Thread(target=lambda pipe: output.append(pipe.read()), args=(pipe,))
        for pipe in (process.stdout, process.stderr)
    ]
    for reader in readers:
        reader.start()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    peak.stop()
    for reader in readers:
        reader.join()
    if process.returncode not in ok:
        sys.exit(f"{' '.join(map(str, command))} answered {process.returncode}: {''.join(output)[-2000:]}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, peak.rss / 1e6, peak.pss / 1e6, "".join(output))


def run_python(code: str, *arguments: str | Path, env: Mapping[str, str] | None = None) -> Cost:
    """Run code in a fresh interpreter. Its last line, `[wall, cpu]` in JSON, replaces the times measured here."""
    cost = run([sys.executable, "-c", code, *arguments], env=env)
    wall, cpu = json.loads(cost.output.splitlines()[-1])
    return Cost(wall, cpu, cost.rss, cost.pss)


def repeated(action: Callable[[], Cost], runs: int, prepare: Callable[[], object] = lambda: None) -> Cost:
    """Median times and highest memory of several runs; `prepare` runs before each and is not counted."""
    costs = []
    for _ in range(runs):
        prepare()
        costs.append(action())
    return Cost(
        statistics.median(cost.wall for cost in costs),
        statistics.median(cost.cpu for cost in costs),
        max(cost.rss for cost in costs),
        max(cost.pss for cost in costs),
    )


class _Peak:
    """The peak memory of a process tree, read until `stop`."""

    def __init__(self, pid: int) -> None:
        self.rss = self.pss = 0
        self._pid = pid
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def stop(self) -> None:
        """Stop reading: the tree has ended."""
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        turn = 0
        # Short processes are read more often.
        while not self._ended.wait(INTERVAL / 10 if turn < 20 else INTERVAL):
            tree = descendants(self._pid)
            self.rss = max(self.rss, sum(map(_resident, tree)))
            # The kernel walks all page tables for it, so it is read less often.
            if turn % 10 == 0:
                self.pss = max(self.pss, sum(map(_proportional, tree)))
            turn += 1


def descendants(pid: int) -> list[int]:
    """A process and all its descendants."""
    found, new = [pid], [pid]
    while new:
        parent, children = new.pop(), []
        with contextlib.suppress(OSError, ValueError):
            for task in os.listdir(f"/proc/{parent}/task"):
                children += map(int, Path(f"/proc/{parent}/task/{task}/children").read_text().split())
        found += children
        new += children
    return found


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    return 0


def _proportional(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def percentile(values: Sequence[float], share: float) -> float:
    """The value that the given share of values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def machine(when: str = "at the start") -> str:
    """The machine of the figures; if its load exceeds 1 to 2 (the benchmark's own), trust processor time only."""
    return f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f} {when}"


def verdict(*measured: tuple[float, float, str]) -> str:
    """A text such as `≤ 6 s met, ≤ 300 MB NOT met`, from each value, its upper bar and its unit."""
    return ", ".join(f"≤ {bar:g}{unit} {'met' if value <= bar else 'NOT met'}" for value, bar, unit in measured)
