"""Sandboxes beside a new interpreter per step, `docker run`, `docker exec` and ipykernel, in one run.

    python benchmarks/sandbox.py [--image IMAGE] [--sessions 200] [--rounds 20] [--only steps,memory]

Docker's rows need an image with Python 3.8 or later, and `docker` on the PATH for the rivals; `DOCKER_HOST` names the
engine. Those of ipykernel need `pip install ipykernel`. Memory is read from /proc, which needs root.

Candidates are measured in turns, so that other work on the machine affects all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import checks
from measure import machine, percentile, verdict
from sandbox_inside import pss, resident, traces, worker
from sandbox_rivals import Open, ours, rivals

from codenav.core.execution import GIB, Outcome, Resources, SandboxSpec
from codenav.core.protocols import Sandbox
from codenav.core.system.interpreter import find_interpreter
from codenav.sandboxes import BACKENDS, diagnose, start

STEPS = 100
"""Steps per session and round in the latency rows."""
MANY = "numbers = list(range(3_000_000))"
"""Code that makes 100 MB of Python objects."""
PARTS = ("start", "pool", "steps", "interrupts", "memory", "budget", "checks", "sessions", "corpus")


class Table:
    """Sections of rows that are printed, and the number of bars that were missed."""

    def __init__(self) -> None:
        self.missed = 0

    def section(self, name: str, *columns: str) -> None:
        print(f"\n{name:46}" + "".join(f"{column:>11}" for column in columns), flush=True)

    def row(self, name: str, *values: float | str, bars: Sequence[tuple[float, float, str]] = ()) -> None:
        cells = "".join(f"{value:>11.2f}" if isinstance(value, float) else f"{value:>11}" for value in values)
        said = verdict(*bars)
        self.missed += said.count("NOT met")
        print(f"  {name:44}{cells}   {said}".rstrip(), flush=True)


def seconds(work: Callable[[], object]) -> float:
    """Seconds of wall clock of one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def timed(sandbox: Sandbox, code: str) -> float:
    """Seconds of wall clock of one step."""
    began = time.perf_counter()
    done = sandbox.run(code, timeout=60)
    assert done.ok, done
    return time.perf_counter() - began


def in_turns(candidates: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """The measurements of each candidate, round by round."""
    found: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, measure in candidates.items():
            found[name].append(measure())
    return found


def spread(milliseconds: Sequence[float]) -> tuple[float, float, float]:
    """The 10th percentile, which other work on the machine disturbs least, the median, and the 95th."""
    return percentile(milliseconds, 0.1), statistics.median(milliseconds), percentile(milliseconds, 0.95)


def cold(table: Table, candidates: Mapping[str, Open], rounds: int) -> None:
    """Measure the time from nothing to the result of a first step."""

    def once(opening: Open) -> float:
        began = time.perf_counter()
        with opening() as session:
            session.step("x = 1")
            return time.perf_counter() - began

    measured = in_turns({name: lambda o=o: once(o) for name, o in candidates.items() if "no snap" not in name}, rounds)
    base = {"bubblewrap": ("python -c", 8.0), "docker": ("docker run", 1.2)}
    table.section("cold start to the first result", "p10 ms", "median ms", "p95 ms", "ratio")
    for name, times in measured.items():
        against, bar = base.get(name, ("python -c", 0.0))
        if against not in measured:
            against, bar = "python -c", 0.0
        ratio = statistics.median(times) / statistics.median(measured[against])
        bars = [(ratio, bar, f" x {against}")] if bar else []
        table.row(name, *spread([one * 1e3 for one in times]), ratio, bars=bars)


def pool(table: Table, backends: Mapping[str, SandboxSpec], rounds: int) -> None:
    """Measure the time from the pool to the result of a first step; the pool gets a second to refill."""
    import codenav

    table.section("from the warm pool to the first result", "p10 ms", "median ms", "p95 ms")
    for backend, spec in backends.items():
        times = []
        # The pool lives as long as one of its sandboxes.
        with codenav.sandbox(backend, image=spec.image, warm=3) as first:
            first.run("x = 1")
            for _ in range(min(rounds, 10)):
                time.sleep(1.5)
                began = time.perf_counter()
                box = codenav.sandbox(backend, image=spec.image, warm=3)
                box.run("x = 1")
                times.append((time.perf_counter() - began) * 1e3)
                box.close()
        table.row(backend, *spread(times), bars=[(statistics.median(times), 10.0, " ms")])


def steps(table: Table, candidates: Mapping[str, Open], rounds: int) -> None:
    """Measure `x += 1` in a session, then the same with 100 MB of objects alive."""
    bars = {"bubblewrap": 5.0, "bubblewrap, no snapshots": 0.5, "docker": 6.0, "docker, no snapshots": 2.0}
    for title, first, held in (
        ("step `x += 1`", "x = 0", bars),
        ("the same with 100 MB of Python objects alive", f"x = 0\n{MANY}", {"bubblewrap": 20.0, "docker": 20.0}),
    ):
        stateless = ("python -c", "docker run", "docker exec")
        with ExitStack() as opened:
            measuring: dict[str, Callable[[], float]] = {}
            times: dict[str, list[float]] = {}
            for name, opening in candidates.items():
                if "100 MB" in title and name in stateless:
                    continue
                session = opened.enter_context(opening())
                code = "x = 0\nx += 1" if name in stateless else "x += 1"
                session.step("x = 0" if name in stateless else first)
                count, seen = 1 if name in stateless else STEPS // 10, times.setdefault(name, [])

                def several(session=session, code=code, count=count, seen=seen) -> float:  # type: ignore[no-untyped-def]
                    seen += [seconds(lambda: session.step(code)) for _ in range(count)]
                    return 0.0

                measuring[name] = several
            in_turns(measuring, rounds)
        table.section(title, "p10 ms", "median ms", "p95 ms")
        for name, seen in times.items():
            found = spread([one * 1e3 for one in seen])
            table.row(name, *found, bars=[(found[1], held[name], " ms")] if name in held else [])


def interrupts(table: Table, candidates: Mapping[str, Open]) -> None:
    """Measure the ways to end a step that does not end by itself, and the time until it is noticed."""
    loop, held = "while True: pass", "sum(range(10**12))"
    soft, late, gone, killed = [], [], [], []
    for name, opening in candidates.items():
        if name not in (*BACKENDS, "ipykernel"):
            continue
        with opening() as session:
            session.step("x = 1")
            taken = []
            for _ in range(5):
                sent: list[float] = []

                def send(sent: list[float] = sent, session=session) -> None:  # type: ignore[no-untyped-def]
                    sent.append(time.perf_counter())
                    session.interrupt()

                timer = threading.Timer(0.3, send)
                timer.start()
                session.step(loop)
                taken.append(time.perf_counter() - sent[0])
            soft.append((name, statistics.median(taken), max(taken)))
            if name == "ipykernel":
                continue
            over = [seconds(lambda: session.step(held, timeout=1.0)) - 1.0 for _ in range(3)]
            late.append((name, statistics.median(over), max(over)))
            ended = [seconds(lambda: session.step("import os; os._exit(3)")) for _ in range(5)]
            gone.append((name, statistics.median(ended), max(ended)))
            outside = [one for one in (_killed(session) for _ in range(3)) if one is not None]
            if outside:
                killed.append((name, statistics.median(outside), max(outside)))
    for title, bar, found in (
        ("soft interrupt of `while True: pass`", 0.2, soft),
        ("hard kill of `sum(range(10**12))` after its 1 s", 1.0, late),
        ("a step that ends its process, to its result", 0.2, gone),
        ("kill -9 of the worker in a step, to its result", 0.2, killed),
    ):
        table.section(title, "median s", "most s")
        for name, middle, most in found:
            table.row(name, middle, most, bars=[(most, bar, " s")] if name in BACKENDS else [])


def _killed(session: object) -> float | None:
    """Seconds from a kill -9 of the worker to the result of its step."""
    box = session.box  # type: ignore[attr-defined]
    pid = worker(box)
    if pid is None:
        return None
    when: list[float] = []

    def kill() -> None:
        when.append(time.perf_counter())
        os.kill(pid, 9)

    timer = threading.Timer(0.3, kill)
    timer.start()
    outcome = box.run("import time; time.sleep(5)", timeout=10).outcome
    assert outcome is Outcome.CRASHED, outcome
    return time.perf_counter() - when[0]


def memory(table: Table, candidates: Mapping[str, Open]) -> None:
    """Measure the memory of everything inside, while nothing runs."""
    table.section("idle memory inside", "PSS MiB")
    for name, opening in candidates.items():
        with opening() as session:
            held = session.idle()
            if held is not None:
                table.row(name, held, bars=[(held, 20.0, " MiB")] if name in BACKENDS else [])


def hosts(table: Table, backends: Mapping[str, SandboxSpec]) -> None:
    """Measure the memory of the process beside a named sandbox, after a step."""
    table.section("host process of a named sandbox", "PSS MiB", "RSS MiB")
    for backend, spec in backends.items():
        image = ["--image", spec.image] if spec.image else []
        told = codenav("start", "--sandbox", backend, "--name", "measured", "--json", *image)
        try:
            codenav("exec", "measured", "-c", "x = 1")
            pid = int(json.loads(told)["pid"])
            held, whole = pss([pid]), resident(pid)
        finally:
            codenav("stop", "measured")
        bar = {"bubblewrap": 25.0, "docker": 45.0}[backend]
        table.row(backend, held or 0.0, whole, bars=[(whole, bar, " MiB RSS")])


def codenav(*arguments: str) -> str:
    """The output of `codenav sandbox …`."""
    command = [sys.executable, "-m", "codenav", "sandbox", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True).stdout


BUDGET = {
    "nothing alive": ("s = 0", "for i in range({n} * 100_000): s += i"),
    "100 MB of objects, read": (MANY, "for _ in range({n}): s = sum(numbers)"),
    "512 MiB, every page rewritten": (
        "b = bytearray(512 << 20)",
        "for i in range({n}):\n    for at in range(0, len(b), 4096): b[at] = i & 255",
    ),
}
"""States, and a step for each; `n` rounds of it take over a second."""


def budget(table: Table, backends: Mapping[str, SandboxSpec], rounds: int) -> None:
    """Measure the cost of snapshots for steps of over a second; the bar is for the mean."""
    table.section("snapshots in steps of over a second", "step s", "wall +%", "processor +%")
    clock = "import time; print(time.process_time())"
    for backend, spec in backends.items():
        spec = replace(spec, resources=Resources(memory_bytes=4 * GIB))
        for name, (first, body) in BUDGET.items():
            with start(backend, spec) as kept, start(backend, replace(spec, snapshots=False)) as bare:
                wall, cpu = {kept: 0.0, bare: 0.0}, {kept: 0.0, bare: 0.0}
                for box in (kept, bare):
                    timed(box, first)
                count, code = 1, body.format(n=1)
                while (took := timed(bare, code)) < 1.1:
                    count = max(count + 1, int(count * 1.2 / took))
                    code = body.format(n=count)
                for box in (kept, bare):
                    box.run(code)
                for _ in range(rounds):
                    for box in (kept, bare):
                        before = float(box.run(clock).stdout)
                        wall[box] += timed(box, code)
                        cpu[box] += float(box.run(clock).stdout) - before
            added = (wall[kept] / wall[bare] - 1) * 100
            worked = (cpu[kept] / cpu[bare] - 1) * 100
            table.row(f"{backend}: {name}", wall[bare] / rounds, added, worked, bars=[(worked, 10.0, "%")])


def checkers(table: Table) -> None:
    """Measure black, flake8 and mypy on a step of ten lines."""
    second, later = checks.second_and_later()
    table.section("black + flake8 + mypy on 10 lines, warm", "2nd ms", "41st ms", "ratio")
    for tool in (*checks.TOOLS, "all"):
        before, after = second.median(tool), later.median(tool)
        bars = [(after, 30.0, " ms"), (after / before, 1.3, "")] if tool == "all" else []
        table.row(tool, before, after, after / before, bars=bars)


def sessions(table: Table, backends: Mapping[str, SandboxSpec], count: int) -> None:
    """Run many sandboxes, eight at a time, and check that nothing is left and this process does not grow."""
    table.section(f"{count} sessions, 8 at a time", "left", "MiB at 40", "MiB at end", "s")
    for backend, spec in backends.items():

        def session(number: int, backend: str = backend, spec: SandboxSpec = spec) -> None:
            with start(backend, spec) as box:
                done = box.run(f"x = {number}\nprint(x)")
                assert done.stdout == f"{number}\n", done

        # The first ones create what stays: threads, byte code, connections.
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(session, range(min(count, 40))))
        before, early, began = traces(), resident(), time.perf_counter()
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(session, range(count)))
        took = time.perf_counter() - began
        left = traces() - before
        table.row(
            backend, float(len(left)), early, resident(), took,
            bars=[(float(len(left)), 0, " left"), (resident() / early, 1.05, " x as large")],
        )  # fmt: skip
        for trace in sorted(left):
            print(f"    {trace}")


def corpus(table: Table, backends: Mapping[str, SandboxSpec]) -> None:
    """Run `codenav doctor --sandbox` and print its findings."""
    from codenav.sandboxes.conformance import CASES, run_checks

    table.section("codenav doctor --sandbox", "cases", "all rows")
    for backend, spec in backends.items():
        rows = list(run_checks(backend, spec))
        held = sum(row.ok for row in rows if row.name.partition(":")[0] in CASES)
        whole = sum(row.ok for row in rows)
        table.row(backend, f"{held}/{len(CASES)}", f"{whole}/{len(rows)}", bars=[(len(rows) - whole, 0, " failed")])
        for row in rows:
            if not row.ok:
                print(f"    {row.name}: {row.detail}")


def main() -> None:
    """Print the table; the exit code is 1 if a bar was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--image", default="", help="for Docker's rows")
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, joined by commas")
    arguments = parser.parse_args()
    parts = arguments.only.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(unknown)}; known: {', '.join(PARTS)}")
    python, table = find_interpreter(), Table()
    backends = {}
    for backend in ("bubblewrap", "docker"):
        if backend not in BACKENDS or (backend == "docker" and not arguments.image):
            continue
        state = diagnose(backend)
        if state.ok:
            backends[backend] = SandboxSpec(python, image=arguments.image if backend == "docker" else "")
        else:
            print(f"{backend}: {state.detail}", file=sys.stderr)
    candidates = {**ours(backends), **rivals(str(python.executable), arguments.image)}
    print(machine())
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        os.environ["CODENAV_HOME"] = f"{folder}/home"
        Path(folder, "tmp").mkdir(mode=0o1777)
        Path(folder, "tmp").chmod(0o1777)
        tempfile.tempdir = f"{folder}/tmp"
        if "start" in parts:
            cold(table, candidates, arguments.rounds)
        if "pool" in parts:
            pool(table, backends, arguments.rounds)
        if "steps" in parts:
            steps(table, candidates, arguments.rounds)
        if "interrupts" in parts:
            interrupts(table, candidates)
        if "memory" in parts:
            memory(table, candidates)
            hosts(table, backends)
        if "budget" in parts:
            budget(table, backends, max(4, arguments.rounds // 2))
        if "checks" in parts:
            checkers(table)
        if "sessions" in parts:
            sessions(table, backends, arguments.sessions)
        if "corpus" in parts:
            corpus(table, backends)
    print(f"\n{machine('at the end')}; bars missed: {table.missed}")
    sys.exit(1 if table.missed else 0)


if __name__ == "__main__":
    main()
