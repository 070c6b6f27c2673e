"""The cost of building an index: from nothing, again, and after an edit, beside other tools on the same files.

    python benchmarks/index.py [transformers | networkx | PATH] [--elasticsearch-url URL]

Each row is a process that is started anew (`codenav index`, or `codenav.index` in a fresh interpreter, timed after the
import); medians of wall clock and processor time, highest memory. Memory is summed over the process tree every 20 ms:
RSS counts shared pages once per process, PSS once in all; with Elasticsearch it is the memory of the client. On a busy
machine compare processor time, and its ratio to the time that tree-sitter needs for parsing alone. The bars are for the
transformers 5.x source distribution on 2 cores. Latency and known items follow: see queries.py and known_items.py.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import known_items
import queries
import rivals
from builds import Builds
from corpus import Corpus, copy_corpus
from measure import Cost, machine, repeated, verdict

Bars = Mapping[str, Sequence[tuple[float, str]]]

EMBEDDED: Bars = {
    "from nothing": [(6, " s"), (300, " MB")],
    "nothing changed": [(0.5, " s")],
    "one file edited": [(0.7, " s")],
}
ELASTICSEARCH: Bars = {"from nothing": [(12, " s")], "one file edited": [(1.5, " s")]}
ELASTICSEARCH_QUERIES = (7.0, None)
"""p50 in ms; no bar for p99."""


class Table:
    """Rows that are printed as they come, each beside the limits measured in the same run."""

    def __init__(self, barred: bool) -> None:
        self._barred = barred
        self._reading = self._parsing = 0.0
        ratios = f"{'x ripgrep':>11}{'x parsing':>11}"
        print(f"{'':48}{'wall s':>8}{'cpu s':>8}{'RSS MB':>8}{'PSS MB':>8}{ratios}  bar")

    def show(self, label: str, cost: Cost, bars: Sequence[tuple[float, str]] = ()) -> None:
        """Print a row: wall clock against ripgrep's, processor time against tree-sitter's."""
        if label.startswith("ripgrep"):
            self._reading = cost.wall
        if label.startswith("tree-sitter"):
            self._parsing = cost.cpu
        figures = f"{cost.wall:8.3f}{cost.cpu:8.3f}{cost.rss:8.0f}{cost.pss:8.0f}"
        ratios = _ratio(cost.wall, self._reading) + _ratio(cost.cpu, self._parsing)
        measured = [(value, *bar) for value, bar in zip((cost.wall, cost.rss), bars, strict=False)]
        told = verdict(*measured) if self._barred else ""
        print(f"{label:48}{figures}{ratios}  {told}".rstrip(), flush=True)


def _ratio(value: float, limit: float) -> str:
    return f"{value / limit:11.1f}" if limit else f"{'':11}"


def embedded(table: Table, corpus: Corpus, place: Path, options: argparse.Namespace) -> list[tuple[str, str]]:
    """Measure the builds, then the queries; return the queries."""
    builds = Builds(corpus, place / "embedded")
    for label, key, cost in builds.rows(options.runs):
        table.show(label, cost, EMBEDDED.get(key, ()))
    with builds.open() as index:
        if not options.no_rivals:
            table.show("SQLite FTS5 takes the same blocks, unparsed", rivals.fts5(index.blocks(), place, options.runs))
        stats = index.stats()
        print(f"\n{stats.blocks} blocks in {stats.files} files, {len(stats.skipped)} left out or cut;", end=" ")
        print(f"index of {builds.disk() / 1e6:.1f} MB\n")
        seeds = options.seed or [1, 2]
        asked = queries.sample(index, seeds[0])
        queries.report(index, asked, bars=queries.BARS if corpus.barred else None)
        known_items.report(index, seeds=seeds, barred=corpus.barred)
    return asked


def elasticsearch(
    table: Table, corpus: Corpus, place: Path, options: argparse.Namespace, asked: list[tuple[str, str]] | None
) -> None:
    """Measure the same builds on a server; the first has a row of its own, because a fresh server is slower."""
    builds = Builds(corpus, place / "elasticsearch", elasticsearch=options.elasticsearch_url)
    try:
        table.show("Elasticsearch, from nothing, first build", builds.command(), ELASTICSEARCH["from nothing"])
        fresh = repeated(builds.command, options.runs, builds.forget)
        table.show("Elasticsearch, from nothing", fresh, ELASTICSEARCH["from nothing"])
        table.show("Elasticsearch, nothing changed", repeated(builds.command, options.runs))
        edited = repeated(builds.command, options.runs, builds.edit)
        table.show("Elasticsearch, one file edited", edited, ELASTICSEARCH["one file edited"])
        table.show("Elasticsearch, codenav search, one query", repeated(builds.ask, options.runs))
        print()
        seeds = options.seed or [1, 2]
        with builds.open() as index:
            asked = asked or queries.sample(index, seeds[0])
            queries.report(index, asked, bars=ELASTICSEARCH_QUERIES if corpus.barred else None)
            known_items.report(index, seeds=seeds, barred=corpus.barred)
    finally:
        # If the server is gone, its index is out of reach, and the reason has been printed.
        with contextlib.suppress(SystemExit):
            builds.forget()


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", default="transformers", help="a directory, or a distribution")
    parser.add_argument("--runs", type=int, default=3, help="of each row; default: 3")
    parser.add_argument("--no-rivals", action="store_true", help="only our own rows")
    parser.add_argument("--no-embedded", action="store_true", help="only rivals and Elasticsearch")
    parser.add_argument("--elasticsearch-url", metavar="URL", help="also on this server; see docs/elasticsearch.md")
    parser.add_argument("--seed", type=int, action="append", help="of queries and known items; default: 1 and 2")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        corpus = copy_corpus(options.corpus, place / "tree")
        print(f"{corpus.name}: {corpus.files} files, {corpus.bytes / 1e6:.1f} MB; {machine()}; runs: {options.runs}\n")
        table = Table(corpus.barred)
        for label, cost in () if options.no_rivals else rivals.rows(corpus.root, options.runs):
            table.show(label, cost)
        asked = None if options.no_embedded else embedded(table, corpus, place, options)
        if options.elasticsearch_url:
            elasticsearch(table, corpus, place, options, asked)
        print(machine("at the end"))


if __name__ == "__main__":
    main()
