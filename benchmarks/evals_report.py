"""The report of a run of 882 samples, as many as m&m's has: seconds of the command, and the size of its page.

    python benchmarks/evals_report.py [SAMPLES]

Three runs: trajectories of 7 steps with texts as long as in runs of a large model, the same in 3 epochs, and 10 steps
whose texts are all as long as a run keeps them. Bars, for one epoch: 10 s, 20 MB.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from codenav.evals.results import Result
from codenav.evals.runs import Head, RunFolder

SECONDS, MEGABYTES = 10.0, 20.0
WORDS = "The result of <the call> is a table with 'rows' & columns. "
RUNS = {"usual texts": (7, 300, 1), "usual texts, 3 epochs": (7, 300, 3), "longest texts": (10, 4000, 1)}
"""Steps, characters of a text, and epochs."""


def made(path: Path, samples: int, steps: int, characters: int, epochs: int) -> Path:
    """A run of m&m's on the disk; its lines are written at once."""
    text = (WORDS * (characters // len(WORDS) + 1))[:characters]
    step = {"thought": text, "action": "code", "content": text, "observation": text}
    ids = [f"task-{number}" for number in range(samples)]
    run = RunFolder.make(path, Head("own", "code-use", "gpt-5", epochs, ids, {}, {}))
    results = [
        Result(
            id, epoch, "done", {"correct": number % 3 == 0, "f1": number % 3 / 2}, text, "group", [text[:200]],
            text[:200], text, True, trajectory=[step] * steps, steps=steps, seconds=9.5, prompt_tokens=9000,
        )
        for epoch in range(1, epochs + 1)
        for number, id in enumerate(ids)
    ]  # fmt: skip
    with run.adding() as add:
        for result in results:
            add(result)
    return path


def main() -> int:
    """Print the table; 1 if a run of one epoch misses a bar."""
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 882
    missed = False
    print(f"{'run':<24} {'results MB':>10} {'seconds':>8} {'page MB':>8}   ({samples} samples)")
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, (steps, characters, epochs)) in enumerate(RUNS.items()):
            run = made(Path(folder) / str(number), samples, steps, characters, epochs)
            page = Path(folder) / f"{number}.html"
            command = [sys.executable, "-m", "codenav", "eval", "report", str(run), "--html", str(page)]
            began = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            seconds, size = time.perf_counter() - began, page.stat().st_size / 1e6
            results = (run / "results.jsonl").stat().st_size / 1e6
            met = seconds <= SECONDS and size <= MEGABYTES
            verdict = "" if epochs > 1 else "met" if met else "NOT met"
            print(f"{name:<24} {results:>10.1f} {seconds:>8.1f} {size:>8.1f}   {verdict}")
            missed |= epochs == 1 and not met
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
