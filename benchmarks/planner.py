"""The offline planner: 940 plain requests on 482 packages of different kinds, through the real command line.

    python benchmarks/planner.py                              # the development half
    python benchmarks/planner.py --half put-away              # its totals, and nothing else of it
    python benchmarks/planner.py --half both
    python benchmarks/planner.py --half tuning                # what the weights are fitted to
    python benchmarks/planner.py --half unfitted              # what nothing was fitted to
    python benchmarks/planner.py --only petl --verbose
    python benchmarks/planner.py --references                 # runs no request: the sets against their packages
    python benchmarks/planner.py --tsv before.tsv             # the rows of the development half, to compare
    python benchmarks/planner.py --graph                      # with the tool graph that each code base teaches itself

The packages, pinned, are installed once into a virtual environment in codenav's cache: that takes the network and half
a minute. Then each record's own reference code runs there and must give an answer that its pattern accepts, each
source is indexed, and each request runs as

    codenav run REQUEST --on pkg:NAME --python VENV --work-dir FRESH --model planner --json

with a CODENAV_HOME in the cache, one for each half, so that the indexes stay; the development half's episodes stay too.
No request sees what another one taught: runs are without tool graphs (`--no-rerank`), or with `--graph` each begins
with those that `codenav graph learn` makes of the tests, examples and documentation in the packages.

A record (`planner/requests.jsonl`, `planner/put_away.jsonl`) holds the request, the pinned package, a regular
expression that the answer has to match (multi-line; empty: any), the reference code, and perhaps the files that the
work folder begins with, the file that has to be made and the pattern for its text (for the repr of its first bytes,
where it is binary). No request, package or answer of the part that is put away is printed, and its episodes are
removed, so that nobody tunes on it. A part that somebody has looked into belongs to the development half from then on,
and another one is written in its place; that has happened once.

`solved`: done, and the answer and the file match. `wrong`: done, and they do not. `unsolved`: all others. `verified`:
of those that are done, the share whose summary replayed. Seconds are whole processes, the index being there.
Bars: at least 70 % solved of the half put away, at most 15 % wrong of all, a median of at most 3 s.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from measure import machine, percentile, verdict

from codenav.config import home

DATA = Path(__file__).parent / "planner"
HALVES = {"development": "requests.jsonl", "put-away": "put_away.jsonl"}
SETS = {**HALVES, "tuning": "tuning.jsonl", "unfitted": "unfitted.jsonl"}
"""The last two belong to neither half: `planner_weights.py` fits weights to the tuning requests, and to the development
half; nothing was ever fitted to the others, by which rules were taken out."""
VERDICTS = ("solved", "wrong", "unsolved")
SOLVED, WRONG, SECONDS = 70, 15, 3.0
"""The bars, in %, % and seconds."""
LIMIT = 120
"""Seconds that one request may take; the whole process is killed after one more minute."""


@dataclass(frozen=True)
class Request:
    """A record of a set."""

    package: str
    """The requirement: name==version."""
    source: str
    request: str
    answer: str
    reference: str
    files: Mapping[str, str | Mapping[str, str]] = field(default_factory=dict)
    """The files that the work folder begins with: text, or bytes in base64."""
    file: str = ""
    file_pattern: str = ""

    def prepare(self, folder: Path) -> None:
        """Write the files that the work folder begins with."""
        for name, content in self.files.items():
            data = content.encode() if isinstance(content, str) else base64.b64decode(content["base64"])
            (folder / name).write_bytes(data)

    def accepts(self, answer: str, folder: Path) -> bool:
        """True if the answer, and the file if one was requested, are right."""
        return bool(re.search(self.answer, answer, re.MULTILINE)) and (not self.file or self._made(folder / self.file))

    def _made(self, path: Path) -> bool:
        if not path.is_file():
            return False
        data = path.read_bytes()
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = repr(data[:64])
        return bool(re.search(self.file_pattern, text, re.MULTILINE))


@dataclass(frozen=True)
class Outcome:
    """The result of one request."""

    request: Request
    verdict: str
    status: str
    answer: str
    verified: bool
    seconds: float
    cpu: float
    """Seconds of processor time, of all processes that were waited for."""


def read(half: str) -> list[Request]:
    """The records of one half."""
    lines = (DATA / SETS[half]).read_text(encoding="utf-8").splitlines()
    return [Request(**json.loads(line)) for line in lines]


def environment(pins: Sequence[str], cache: Path) -> Path:
    """The virtual environment with these packages; created if it is missing."""
    wanted = hashlib.sha256("\n".join(pins).encode()).hexdigest()[:12]
    venv = cache / f"venv-{sys.version_info[0]}.{sys.version_info[1]}-{wanted}"
    if not (venv / "complete").exists():
        print(f"{len(pins)} packages are installed into {venv}", file=sys.stderr)
        shutil.rmtree(venv, ignore_errors=True)
        for command in ([sys.executable, "-m", "venv", str(venv)], [str(venv / "bin/pip"), "install", "-q", *pins]):
            if subprocess.run(command, stdout=subprocess.DEVNULL).returncode:
                sys.exit("the environment could not be made")
        (venv / "complete").touch()
    return venv


def check_references(half: str, requests: Sequence[Request], venv: Path) -> None:
    """Print how many references give an accepted answer, and those of the development half that do not."""
    failed = []
    for request in requests:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            request.prepare(folder)
            command = [str(venv / "bin/python"), "-W", "ignore", "-c", request.reference]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            if done.returncode or not request.accepts(done.stdout, folder):
                failed.append((request, (done.stdout + done.stderr).strip()))
    print(f"{half}: {len(requests) - len(failed)} of {len(requests)} references give an answer that is accepted")
    for request, output in failed if half != "put-away" else []:
        print(f"  {request.request}\n    {short(output)}")


def variables(cache: Path, half: str) -> dict[str, str]:
    """The environment variables of codenav's processes."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CODENAV_")}
    return kept | {"CODENAV_HOME": str(cache / f"home-{half}")}


def index(requests: Sequence[Request], venv: Path, env: Mapping[str, str]) -> None:
    """Update the index of each source; one that fails here fails again, visibly, in the run."""
    for source in sorted({request.source for request in requests}):
        command = [sys.executable, "-m", "codenav", "index", source, "--python", str(venv)]
        subprocess.run(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def taught(requests: Sequence[Request], venv: Path, env: Mapping[str, str]) -> Path:
    """The folder with the tool graphs that the sources teach themselves."""
    graphs, kept = graphs_of(env), graphs_of(env).with_name("graphs-of-code")
    for folder in (graphs, kept):
        shutil.rmtree(folder, ignore_errors=True)
    for source in sorted({request.source for request in requests}):
        command = [sys.executable, "-m", "codenav", "graph", "learn", "--on", source, "--python", str(venv)]
        subprocess.run(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    graphs.mkdir(exist_ok=True)
    return graphs.rename(kept)


def graphs_of(env: Mapping[str, str]) -> Path:
    """The folder of the tool graphs."""
    return Path(env["CODENAV_HOME"]) / "graphs"


def ask(request: Request, venv: Path, env: Mapping[str, str], graphs: Path | None = None) -> Outcome:
    """Run one request as a user would. `graphs`: the tool graphs that there are; None for none."""
    shutil.rmtree(graphs_of(env), ignore_errors=True)
    if graphs is not None:
        shutil.copytree(graphs, graphs_of(env))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        request.prepare(folder)
        command = [sys.executable, "-m", "codenav", "run", "--on", request.source, "--python", str(venv)]
        command += [
            "--work-dir",
            name,
            "--model",
            "planner",
            "--max-seconds",
            str(LIMIT),
            "--json",
            *(["--no-rerank"] if graphs is None else []),
            "--",
            request.request,
        ]
        began, busy = time.perf_counter(), _busy()
        try:
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=LIMIT + 60)
        except subprocess.TimeoutExpired:
            return Outcome(request, "unsolved", "hung", "", False, time.perf_counter() - began, _busy() - busy)
        seconds, cpu = time.perf_counter() - began, _busy() - busy
        try:
            record = json.loads(done.stdout)
            status, answer = record["status"], record["answer"] or record["reason"]
            verified = bool((record["summary"] or {}).get("verified"))
        except (ValueError, KeyError, TypeError):
            status, answer, verified = f"exit {done.returncode}", done.stderr.strip(), False
        right = request.accepts(answer, folder)
    claimed = status == "done" and done.returncode == 0
    word = "unsolved" if not claimed else "solved" if right else "wrong"
    return Outcome(request, word, status, answer, verified, seconds, cpu)


def _busy() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run_half(half: str, requests: Sequence[Request], venv: Path, cache: Path, *, graph: bool) -> list[Outcome]:
    """Index the sources and run the requests; of the put-away half only the indexes stay."""
    env = variables(cache, half)
    index(requests, venv, env)
    graphs = taught(requests, venv, env) if graph else None
    outcomes = []
    try:
        for request in requests:
            outcomes.append(ask(request, venv, env, graphs))
            if sys.stderr.isatty():
                print(f"\r{half} {len(outcomes)}/{len(requests)} ", end="", file=sys.stderr, flush=True)
    finally:
        if half == "put-away":
            shutil.rmtree(Path(env["CODENAV_HOME"]) / "episodes", ignore_errors=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return outcomes


def short(text: str, width: int = 110) -> str:
    """The text on one line, cut to `width` characters."""
    line = text.strip().replace("\n", "\\n")
    return line if len(line) <= width else line[: width - 1] + "…"


def totals(label: str, outcomes: Sequence[Outcome]) -> str:
    """A row of the table."""
    words = [outcome.verdict for outcome in outcomes]
    done = [outcome for outcome in outcomes if outcome.verdict != "unsolved"]
    cells = [f"{words.count(word):>4} {100 * words.count(word) / len(words):>4.0f} %" for word in VERDICTS]
    verified = f"{100 * sum(outcome.verified for outcome in done) / len(done):.0f} %" if done else "-"
    seconds = [outcome.seconds for outcome in outcomes]
    cpu = statistics.median(outcome.cpu for outcome in outcomes)
    times = f"{statistics.median(seconds):>9.1f} {percentile(seconds, 0.9):>6.1f} {cpu:>11.1f}"
    return f"{label:<12} {len(words):>8} " + " ".join(f"{cell:>12}" for cell in cells) + f" {verified:>9} {times}"


def bars(half: str, outcomes: Sequence[Outcome]) -> str:
    """The figures against the bars; the bar for solved requests is stated for the put-away half."""
    words = [outcome.verdict for outcome in outcomes]
    solved, wrong = (100 * words.count(word) / len(words) for word in ("solved", "wrong"))
    stands = "met" if solved >= SOLVED else "NOT met"
    median = statistics.median(outcome.seconds for outcome in outcomes)
    others = verdict((wrong, WRONG, " %"), (median, SECONDS, " s"))
    return f"{half}: solved ≥ {SOLVED} % {stands}; wrong, median seconds: {others}"


def write_rows(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Write a tab-separated file, one request per line."""
    rows = [("package", "request", "verdict", "status", "verified", "seconds", "answer")]
    for outcome in outcomes:
        request, yes = outcome.request, "yes" if outcome.verified else "no"
        row = (request.package, request.request, outcome.verdict, outcome.status, yes, f"{outcome.seconds:.1f}")
        rows.append((*row, short(outcome.answer, 500).replace("\t", "\\t")))
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--half", choices=[*SETS, "both"], default="development")
    parser.add_argument("--only", metavar="TEXT", help="requests and packages of the development half that hold it")
    parser.add_argument("--verbose", action="store_true", help="every request of the development half")
    parser.add_argument("--references", action="store_true", help="check the sets of both halves and run no request")
    parser.add_argument("--graph", action="store_true", help="with the tool graphs that code bases teach themselves")
    parser.add_argument("--tsv", metavar="FILE", type=Path, help="write the rows of the development half there")
    options = parser.parse_args()
    if options.only and options.half != "development":
        parser.error("--only is for the development half: the other one is told by its totals alone")
    if options.tsv and options.half == "put-away":
        parser.error("--tsv is for the development half")
    halves = {half: read(half) for half in (HALVES if options.half in (*HALVES, "both") else [options.half])}
    cache = home("cache") / "benchmarks" / "planner"
    venv = environment(sorted({request.package for requests in halves.values() for request in requests}), cache)
    if options.only:
        wanted, requests = options.only.casefold(), halves["development"]
        halves = {"development": [one for one in requests if wanted in f"{one.package} {one.request}".casefold()]}
        if not halves["development"]:
            sys.exit(f"no request of the development half holds {options.only}")
    elif not options.references and options.half in HALVES:
        halves = {options.half: halves[options.half]}
    for half, requests in halves.items():
        check_references(half, requests, venv)
    if options.references:
        return
    print(machine(), flush=True)
    outcomes = {half: run_half(half, requests, venv, cache, graph=options.graph) for half, requests in halves.items()}
    for outcome in [one for half, found in outcomes.items() if half != "put-away" for one in found]:
        if options.verbose or outcome.verdict != "solved":
            print(f"{outcome.verdict:<8} {outcome.request.request}\n         {outcome.status}: {short(outcome.answer)}")
    if options.tsv:
        write_rows(options.tsv, outcomes.get("development", []))
    titles = " ".join(f"{word:>12}" for word in VERDICTS)
    print(f"\n{'half':<12} {'requests':>8} {titles} {'verified':>9} {'median s':>9} {'p90 s':>6} {'processor s':>11}")
    for half, found in outcomes.items():
        print(totals(half, found))
    if len(outcomes) > 1:
        outcomes["both"] = [outcome for found in outcomes.values() for outcome in found]
        print(totals("both", outcomes["both"]))
    for half, found in outcomes.items():
        print(bars(half, found))


if __name__ == "__main__":
    main()
