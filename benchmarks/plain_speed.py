"""The time of an agent's search in plain words, with the vectors that ship with codenav and without.

    python benchmarks/plain_speed.py [transformers | networkx | PATH]

120 requests, the development half of benchmarks/plain in both wordings, whatever they find there: each is read, ranked,
looked at again by meaning, and shown, three blocks in full and ten as signatures. Each of the two is measured in a
process of its own: the first time that it sees each request, and the best of three more rounds. Memory is what a
process has more than after `import codenav`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from corpus import copy_corpus
from measure import machine
from plain_packages import DEVELOPMENT, read

ROUNDS = 3
BARS = (6, 25)
"""Milliseconds: median, and 99 of 100."""
MOST_MEMORY = 60
"""MB more with vectors than without."""


def inside(folder: str, vectors: bool) -> None:
    """Print the times in milliseconds, first and again, and the memory in MB."""
    import codenav
    from codenav.core.actions import Search
    from codenav.environments.search import SearchEnvironment

    before = resident()
    queries = [query.text for query in read(DEVELOPMENT)]
    with codenav.index(folder, vectors=vectors) as index:

        def seconds(query: str) -> float:
            environment = SearchEnvironment(index)
            began = time.perf_counter()
            environment.respond(Search(content=query))
            return 1000 * (time.perf_counter() - began)

        first = sorted(map(seconds, queries))
        again = min((sorted(map(seconds, queries)) for _ in range(ROUNDS)), key=lambda times: times[len(times) // 2])
        blocks = index.stats().blocks
    print(json.dumps({"first": first, "again": again, "memory": resident() - before, "blocks": blocks}))


def resident() -> float:
    """The resident memory of this process in MB."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", default="transformers")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        corpus = copy_corpus(asked.corpus, Path(temporary) / "files")
        rows = {}
        for label, vectors in (("building the index", False), ("without vectors", False), ("with vectors", True)):
            command = [sys.executable, __file__, "--inside", str(corpus.root), str(int(vectors)), temporary]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            rows[label] = json.loads(done.stdout)
    del rows["building the index"]
    blocks = rows["with vectors"]["blocks"]
    print(f"{corpus.name}, {blocks:,} blocks; {machine()}; milliseconds, median / 99 of 100\n")
    print(f"{'':18}{'first':>16}{'again':>16}{'memory':>10}")
    for label, row in rows.items():
        print(f"{label:18}{_told(row['first']):>16}{_told(row['again']):>16}{row['memory']:>7.0f} MB")
    median, most = _figures(rows["with vectors"]["first"])
    met = "met" if median <= BARS[0] and most <= BARS[1] else "NOT met"
    more = rows["with vectors"]["memory"] - rows["without vectors"]["memory"]
    small = "met" if more <= MOST_MEMORY else "NOT met"
    print(f"\n≤ {BARS[0]} / ≤ {BARS[1]} ms {met}; {more:.0f} MB more with vectors, ≤ {MOST_MEMORY} {small}")


def _figures(times: list[float]) -> tuple[float, float]:
    return times[len(times) // 2], times[min(len(times) - 1, int(0.99 * len(times)))]


def _told(times: list[float]) -> str:
    return " / ".join(f"{value:.1f}" for value in _figures(times))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        import os

        os.environ["CODENAV_HOME"] = sys.argv[4]
        inside(sys.argv[2], bool(int(sys.argv[3])))
    else:
        main()
