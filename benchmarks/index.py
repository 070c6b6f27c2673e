"""Index time of an installed package against reading the same files with ripgrep.

    python benchmarks/index.py networkx

Each row is the median of three runs on the same copy of the files. Reading and parsing take a process per processor
where the package has many files, as `codenav index` does; on a busy machine compare processor time.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

from codenav.blocks import BlockKind, Change, CodeBlock, FileChange, FileSkip, FileState, IndexStats, SearchResult
from codenav.errors import NotFound
from codenav.indexers.build import build
from codenav.indexers.sources import Source, resolve
from codenav.indexers.walk import walk
from codenav.interpreter import find_interpreter
from codenav.retrieval.embedded import EmbeddedIndex

RUNS = 3
NEVER = "no_file_holds_this_[0-9]{30}"


class Sink:
    """An index that only counts what it is given: what is left is the cost of reading and parsing."""

    def __init__(self) -> None:
        self.count = 0

    def files(self) -> Mapping[str, FileState]:
        return {}

    def stats(self) -> IndexStats:
        return IndexStats("sink", "none")

    def apply(
        self, changes: Iterable[Change], *, versions: Mapping[str, str] | None = None, started: float | None = None
    ) -> None:
        self.count = sum(len(change.blocks or ()) for change in changes if isinstance(change, FileChange))

    def search(self, query: str, *, kinds: Collection[BlockKind] | None = None, limit: int = 100) -> SearchResult:
        return SearchResult(query)

    def get(self, id: str) -> CodeBlock | None:
        return None

    def blocks(self) -> Iterator[CodeBlock]:
        return iter(())

    @property
    def exists(self) -> bool:
        return False

    @property
    def notice(self) -> str:
        return ""

    def close(self) -> None:
        self.count = 0


def median_seconds(action: Callable[[], object], prepare: Callable[[], object] = lambda: None) -> tuple[float, float]:
    """Wall clock and processor time of `action`; `prepare` runs before each run and is not counted."""
    seconds, busy = [], []
    for _ in range(RUNS):
        prepare()
        started, worked = time.perf_counter(), processor_seconds()
        action()
        seconds.append(time.perf_counter() - started)
        busy.append(processor_seconds() - worked)
    return statistics.median(seconds), statistics.median(busy)


def processor_seconds() -> float:
    """Spent so far by this process and those that it has waited for."""
    usages = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def copy_of(source: Source, folder: Path) -> int:
    """Copy the files that would be indexed; returns their size in bytes."""
    size = 0
    for found in walk(source.root, members=source.members):
        if not isinstance(found, FileSkip):
            target = folder / found.path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(found.location, target)
            size += found.size
    return size


def read_with_ripgrep(folder: Path) -> None:
    """Read every file: a pattern that matches nowhere."""
    done = subprocess.run(["rg", "--no-config", "-uuu", "-c", NEVER, str(folder)], capture_output=True)
    if done.returncode != 1:
        sys.exit(f"rg answered {done.returncode}: {done.stderr.decode()}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package", nargs="?", default="networkx", help="an installed distribution")
    parser.add_argument("--python", help="the interpreter or virtual environment that has it")
    options = parser.parse_args()
    interpreter = find_interpreter(options.python)
    try:
        package = resolve(f"pkg:{options.package}", interpreter)
    except NotFound as error:
        parser.error(f"{error}; {error.hint}")
    with tempfile.TemporaryDirectory() as temporary:
        tree, store = Path(temporary, "tree"), Path(temporary, "store")
        size = copy_of(package, tree)
        source = resolve(str(tree), interpreter)
        sink = Sink()

        def from_nothing() -> None:
            build(source, EmbeddedIndex(store, source=source.name))

        def again() -> None:
            build(source, EmbeddedIndex(store, source=source.name))

        changing = max(tree.rglob("*.py"), key=lambda path: path.stat().st_size)
        rows = {
            "ripgrep reads the files": median_seconds(lambda: read_with_ripgrep(tree)),
            "read and parse, one process": median_seconds(lambda: build(source, sink, jobs=1)),
            "read and parse": median_seconds(lambda: build(source, sink)),
            "read, parse and index": median_seconds(from_nothing, lambda: shutil.rmtree(store, ignore_errors=True)),
            "again, nothing changed": median_seconds(again),
            f"again, {changing.name} changed": median_seconds(
                again, lambda: changing.write_text(changing.read_text(encoding="utf-8") + "\n\nX = 1\n")
            ),
        }
        stats = EmbeddedIndex(store, source=source.name).stats()
        disk = sum(path.stat().st_size for path in store.rglob("*") if path.is_file())
    print(
        f"{package.name}: {stats.files} files, {size / 1e6:.1f} MB, {stats.blocks} blocks, {len(stats.skipped)} left "
        f"out; index of {disk / 1e6:.1f} MB; median of {RUNS} runs\n"
    )
    reading = rows["ripgrep reads the files"][0]
    print(f"{'':34}{'seconds':>9}{'x ripgrep':>11}{'processor s':>13}")
    for label, (seconds, busy) in rows.items():
        print(f"{label:34}{seconds:9.3f}{seconds / reading:11.1f}{busy:13.3f}")


if __name__ == "__main__":
    main()
