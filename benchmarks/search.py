"""Search in plain words: the rank of what is meant, where the query is no name.

    python benchmarks/search.py                          # both halves and the docstrings
    python benchmarks/search.py --half development       # each query with its rank for each system, too
    python benchmarks/search.py --half put-away          # its totals and those of the docstrings, nothing else of them
    python benchmarks/search.py --half guides            # 48 short requests on four larger packages, totals alone
    python benchmarks/search.py --half repositories      # 40 requests on five code bases with their documents and tests
    python benchmarks/search.py --half repositories-put-away   # 47 on six others, totals alone
    python benchmarks/search.py --before CHECKOUT        # with a row for codenav as it is in another folder
    python benchmarks/search.py --encoder                # a sentence encoder as well, alone and with codenav: slow
    python benchmarks/search.py --together               # each package alone, and in one search with two others
    python benchmarks/search.py --json

120 requests on twelve packages, ten each, with the blocks that answer them equally well. They were written by reading
the guides of the packages, as what somebody types who wants this and does not know its name; the blocks were found by
reading the source, and no search was run for either. Each request has two wordings: that of somebody who knows the
field, and one in "further words", which name and docstring rarely share; about a quarter is such in the first wording,
too. Six packages are the development half. Nobody tunes anything with the other six, so no query, package or block of
them is printed. A query that somebody has looked at moves to the development half.

Guides: twelve requests each on django, pandas, scikit-learn and sqlalchemy, as their guides head their chapters ("send
an email"), written from memory with the blocks that answer them before any search was run. The factors of search were
found on other queries of the same packages. Only totals of these are printed, too.

Repositories: requests of newcomers on whole code bases in Python, JavaScript, TypeScript, Go and Rust, with documents,
tests, examples and change logs beside the code. Wanted is the code to call, so a document that tells of it is no hit.
The blocks were found by reading, before any search. The ranking was mended on the first five, and judged on the others.

Docstrings: 40 functions and methods each of ten other packages, drawn with a fixed seed, each asked for by the first
line of its own docstring, which has at least four words and which no other block of the package has.

Rivals over the same blocks: BM25 of `bm25s`, the same with fields of different weight, and its sum with static vectors.
pip installs the packages, each in its pinned version and a folder of its own, and the rivals, once into codenav's
cache; pip, npm, cargo and go bring the repositories. In brackets is the interval of 95 % (Wilson). hit@k: the
percentage of queries for which one of the wanted blocks is among the first k hits.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import plain_packages
from plain_packages import DEVELOPMENT, DOCSTRINGS, HALVES, PUT_AWAY, REPOSITORIES, SETS, Query

import codenav
from codenav.retrieval.source_index import SourceIndex

OURS, BEFORE = "codenav", "codenav before"
LIMIT = 10
BARS: Mapping[str, Mapping[int, float]] = {PUT_AWAY: {1: 55, 3: 82, 10: 94}, DOCSTRINGS: {1: 90, 3: 97}}
"""Percentages of queries, at each k; above each rival besides."""
LIMITS = {DOCSTRINGS: (1, 3)}
APART = 3.0
"""The points of hit@3 by which one search over three packages may be worse than one over the package alone."""
GROUP = 3

Ranks = dict[str, dict[str, list[int]]]
"""For each part and each system the rank of the best wanted block for each query; LIMIT + 1 if it is not among them."""


def rank(found: Sequence[str], wanted: Sequence[str]) -> int:
    """The rank of the first wanted block."""
    return next((place for place, block in enumerate(found, 1) if block in wanted), LIMIT + 1)


def share(ranks: Sequence[int], limit: int) -> float:
    """The percentage of the ranks that are no worse than the limit."""
    return 100 * sum(place <= limit for place in ranks) / len(ranks)


def interval(ranks: Sequence[int], limit: int) -> str:
    """The interval of 95 % of that percentage, by Wilson's score."""
    count, z = len(ranks), 1.96
    part = share(ranks, limit) / 100
    middle = part + z * z / (2 * count)
    width = z * math.sqrt(part * (1 - part) / count + (z / (2 * count)) ** 2)
    low, high = ((middle + sign * width) / (1 + z * z / count) for sign in (-1, 1))
    return f"[{100 * low:.0f} {100 * high:.0f}]"


def hits(indexes: Sequence[SourceIndex], query: str) -> list[str]:
    """The blocks that our search finds, best first."""
    found = codenav.search(query, on=indexes, limit=LIMIT, refresh=False)
    return [f"{hit.path}::{hit.qualname}" for hit in found]


def measure(package: str, folder: Path, queries: Sequence[Query], ranks: Ranks, *, encoder: bool) -> None:
    """Add the ranks for queries on a package, which are its docstrings if none are given."""
    import plain_rivals

    with codenav.index(folder) as index:
        blocks = list(index.blocks())
        queries = queries or plain_packages.first_lines(package, blocks)
        known = {plain_packages.key(block) for block in blocks}
        if missing := sum(known.isdisjoint(query.wanted) for query in queries):
            print(f"{missing} queries want what is no block of their package", file=sys.stderr)
        systems: dict[str, Callable[[str, int], list[str]]] = {OURS: lambda query, _: hits([index], query)}
        # Static vectors of all blocks of a whole code base take longer than everything else.
        skipped = "static" if ":" in package else "none"
        systems |= {label: make(blocks) for label, make in plain_rivals.RIVALS.items() if skipped not in label}
        if encoder:
            import plain_encoder

            systems |= plain_encoder.rows(index, blocks)
        for query in queries:
            found = {label: rank(ask(query.text, LIMIT), query.wanted) for label, ask in systems.items()}
            for label, place in found.items():
                ranks.setdefault(query.part, {}).setdefault(label, []).append(place)
            if query.part.startswith(DEVELOPMENT) or query.part == REPOSITORIES:
                places = "".join(f"{place:>4}" for place in found.values())
                print(f"{places}  {package:<18} {query.text}", file=sys.stderr)


def measure_together(folders: Mapping[str, Path], queries: Sequence[Query], ranks: Ranks) -> None:
    """Add the ranks for queries on some packages, each searched alone, and all searched at once."""
    with ExitStack() as opened:
        indexes = {package: opened.enter_context(codenav.index(folder)) for package, folder in folders.items()}
        for query in queries:
            for label, on in (("alone", [indexes[query.package]]), ("together", list(indexes.values()))):
                place = rank(hits(on, query.text), query.wanted)
                ranks.setdefault(query.part, {}).setdefault(label, []).append(place)


def measure_before(checkout: Path, queries: Sequence[Query], ranks: Ranks) -> None:
    """Add the ranks of the codenav in another folder, which runs in a process of its own."""
    asked = [[str(plain_packages.installed(query.package)), query.text] for query in queries]
    with tempfile.TemporaryDirectory() as temporary:
        environment = {**os.environ, "PYTHONPATH": str(checkout.resolve()), "CODENAV_HOME": temporary}
        command = [sys.executable, "-c", _SEARCHES, str(LIMIT)]
        done = subprocess.run(
            command, input=json.dumps(asked), stdout=subprocess.PIPE, text=True, check=True, env=environment
        )
    for query, found in zip(queries, json.loads(done.stdout), strict=True):
        ranks[query.part].setdefault(BEFORE, []).append(rank(found, query.wanted))


_SEARCHES = """
import functools, json, sys, codenav
index = functools.cache(codenav.index)
found = [[f"{hit.path}::{hit.qualname}" for hit in index(folder).search(query, limit=int(sys.argv[1]))]
         for folder, query in json.load(sys.stdin)]
print(json.dumps(found))
"""


def table(part: str, ranks: Mapping[str, Sequence[int]]) -> None:
    """Print the shares of a part."""
    limits = LIMITS.get(part, (1, 3, 10))
    count = len(next(iter(ranks.values())))
    print(f"\n{part}, {count} queries; hit{' / '.join(f'@{limit}' for limit in limits)} in %")
    for label, found in ranks.items():
        cells = (f"{share(found, limit):5.1f} {interval(found, limit):<7}" for limit in limits)
        print(f"  {label:<28}" + " / ".join(cells).rstrip())


def bars(part: str, ranks: Mapping[str, Sequence[int]]) -> None:
    """Print the bars of a part that has some."""
    told = []
    for limit, bar in BARS.get(part, {}).items() if OURS in ranks else ():
        ours = share(ranks[OURS], limit)
        best = max(share(found, limit) for label, found in ranks.items() if label not in (OURS, BEFORE))
        told.append(f"@{limit} ≥ {bar:g} % {'met' if ours >= bar else 'NOT met'}")
        told.append(f"above each rival {'met' if ours > best else 'NOT met'}")
    if "together" in ranks:
        lost = share(ranks["alone"], 3) - share(ranks["together"], 3)
        told.append(f"@3 at most {APART:g} points fewer: {lost:.1f}, {'met' if lost <= APART else 'NOT met'}")
    if told:
        print(f"  {', '.join(told)}", flush=True)


def main() -> None:
    """Measure, with indexes made from nothing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=[*SETS, "both"], default="both")
    parser.add_argument("--encoder", action="store_true", help="with rows for a sentence encoder")
    parser.add_argument("--together", action="store_true", help="several packages in one search, without rivals")
    parser.add_argument("--json", action="store_true", help="the shares in JSON")
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="with a row for codenav as it is there")
    options = parser.parse_args()
    halves = HALVES if options.half == "both" else [options.half]
    asked: dict[str, list[Query]] = {}
    for query in (query for half in halves for query in plain_packages.read(half)):
        asked.setdefault(query.package, []).append(query)
    if PUT_AWAY in halves and not options.together:
        asked |= {package: [] for package in plain_packages.DOCUMENTED}
    folders = {package: plain_packages.installed(package) for package in asked}
    ranks: Ranks = {}
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["CODENAV_HOME"] = temporary
        if options.together:
            for group in (list(asked)[first : first + GROUP] for first in range(0, len(asked), GROUP)):
                queries = [query for package in group for query in asked[package]]
                measure_together({package: folders[package] for package in group}, queries, ranks)
        else:
            for package, queries in asked.items():
                measure(package, folders[package], queries, ranks, encoder=options.encoder and bool(queries))
            if options.before:
                measure_before(options.before, [query for queries in asked.values() for query in queries], ranks)
    if options.json:
        figures = {
            part: {label: {f"hit@{k}": share(found, k) for k in (1, 3, 10)} for label, found in systems.items()}
            for part, systems in ranks.items()
        }
        print(json.dumps(figures, indent=2))
        return
    for part, found in ranks.items():
        table(part, found)
        bars(part, found)


if __name__ == "__main__":
    main()
