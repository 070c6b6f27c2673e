"""Building an index: from nothing, again, and after an edit, beside other tools on the same files, in one run.

    python benchmarks/index.py [transformers | networkx | PATH] [--runs 3] [--rivals-only | --no-rivals]

Each row is a process that is started anew (`codenav index`, or `codenav.index` in a fresh interpreter, timed after
the import); medians of wall clock and processor time, highest memory. Memory is summed over the process tree every
20 ms: RSS counts what two processes share twice, PSS once. On a busy machine compare processor time. The bars are for
the transformers 5.x source distribution on 2 cores.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import known_items
import queries
import rivals
from corpus import Corpus, copy_corpus
from measure import Cost, machine, repeated, run, run_python, verdict

import codenav

IN_PROCESS = """
import json, resource, sys, time
import codenav, codenav.api
def busy():
    usages = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
began, worked = time.perf_counter(), busy()
codenav.index(sys.argv[1]).close()
print(json.dumps([time.perf_counter() - began, busy() - worked]))
"""

BARS: dict[str, list[tuple[float, str]]] = {
    "from nothing": [(6, " s"), (300, " MB")],
    "nothing changed": [(0.5, " s")],
    "one file edited": [(0.7, " s")],
}


class Builds:
    """The index of one corpus, in a place of its own."""

    def __init__(self, corpus: Corpus, place: Path, runs: int) -> None:
        self.corpus, self.runs = corpus, runs
        self.home = place / "home"
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("CODENAV_")}
        self.env["CODENAV_HOME"] = str(self.home)
        files = corpus.python_files()
        self.edited = files[len(files) * 9 // 10]
        """Larger than nine of ten files."""
        self.edits = 0

    def edit(self) -> None:
        """Add a function that no earlier edit has added."""
        self.edits += 1
        with open(self.edited, "a", encoding="utf-8") as file:
            file.write(f"\n\ndef added_by_edit_{self.edits}(value: int) -> int:\n    return value + {self.edits}\n")

    def forget(self) -> None:
        """Remove the index."""
        shutil.rmtree(self.home, ignore_errors=True)

    def command(self) -> Cost:
        """`codenav index`."""
        return run([sys.executable, "-m", "codenav", "index", self.corpus.root], env=self.env)

    def in_process(self) -> Cost:
        """`codenav.index`, timed after the import."""
        return run_python(IN_PROCESS, self.corpus.root, env=self.env)

    def rows(self) -> Iterator[tuple[str, str, Cost]]:
        """Label, key of the bar, cost."""
        for label, action in (("codenav index", self.command), ("codenav.index()", self.in_process)):
            yield f"{label}, from nothing", "from nothing", repeated(action, self.runs, self.forget)
            yield f"{label}, nothing changed", "nothing changed", repeated(action, self.runs)
            yield f"{label}, one file edited", "one file edited", repeated(action, self.runs, self.edit)
            self.check()

    def check(self) -> None:
        """The last edit must be searchable; else the time above is that of something else."""
        name = f"added_by_edit_{self.edits}"
        with self.open() as index:
            if name not in [hit.name for hit in index.search(f"name: {name}", limit=3)]:
                sys.exit(f"{name} was written to {self.edited.name} and is not found")

    def open(self) -> codenav.api.SourceIndex:
        """The index as it is."""
        os.environ["CODENAV_HOME"] = str(self.home)
        return codenav.index(self.corpus.root, refresh=False)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", default="transformers", help="a directory, or a distribution")
    parser.add_argument("--runs", type=int, default=3, help="of each row")
    parser.add_argument("--no-rivals", action="store_true", help="only our own rows")
    parser.add_argument("--seed", type=int, action="append", help="of queries and known items; may be repeated")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        corpus = copy_corpus(options.corpus, place / "tree")
        print(f"{corpus.name}: {corpus.files} files, {corpus.bytes / 1e6:.1f} MB; {machine()}; runs: {options.runs}\n")
        print(f"{'':48}{'wall s':>8}{'cpu s':>8}{'RSS MB':>8}{'PSS MB':>8}{'x ripgrep':>11}  bar")
        reading = None
        for label, cost in () if options.no_rivals else rivals.rows(corpus.root, options.runs):
            reading = reading or cost.wall
            show(label, cost, reading)
        builds = Builds(corpus, place, options.runs)
        for label, key, cost in builds.rows():
            bar = verdict(*zip((cost.wall, cost.rss), *zip(*BARS[key], strict=True), strict=False))
            show(label, cost, reading, bar if corpus.barred else "")
        with builds.open() as index:
            stats = index.stats()
            print(f"\n{stats.blocks} blocks in {stats.files} files, {len(stats.skipped)} left out or cut;", end=" ")
            disk = sum(path.stat().st_size for path in builds.home.rglob("*") if path.is_file())
            print(f"index of {disk / 1e6:.1f} MB\n")
            seeds = options.seed or [1, 2]
            queries.report(index, seed=seeds[0], barred=corpus.barred)
            known_items.report(index, seeds=seeds, barred=corpus.barred)


def show(label: str, cost: Cost, reading: float | None, bar: str = "") -> None:
    """One line of the table, at once."""
    ratio = f"{cost.wall / reading:11.1f}" if reading else f"{'':11}"
    print(f"{label:48}{cost.wall:8.3f}{cost.cpu:8.3f}{cost.rss:8.0f}{cost.pss:8.0f}{ratio}  {bar}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
