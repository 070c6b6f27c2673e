"""Retrieval of tools for a request: the first stage, what is learnt on top of it, and rivals on the same split.

    python benchmarks/retrieval.py --data DIR                    # a set, or a folder of sets
    python benchmarks/retrieval.py --data DIR --train DIR        # with the rows that learn from requests of DIR
    python benchmarks/retrieval.py --data DIR --folds 4          # the same in folds, a task in one of them
    python benchmarks/retrieval.py --data DIR --folds 4 --unseen # no judged set of tools is learnt from
    python benchmarks/retrieval.py --data DIR --encoder DIR      # with the rows of a sentence encoder
    python benchmarks/retrieval.py --data DIR --set NAME --row TEXT --json

A set is a folder with `tools.jsonl` and requests in other `*.jsonl`, see `retrieval_sets`. A request counts once, a set
counts once in the mean over sets. Intervals are of 95 %, by 1,000 resamples of clusters: a task or authored sequence,
else the requests with the same tools. pip installs the rivals once into codenav's cache.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import retrieval_sets
from retrieval_measures import MEASURES, Found, interval, measured, over_sets
from retrieval_sets import Split

from codenav.core.errors import CodeNavError

PARTS = ("retrieval_rows", "retrieval_tokens", "retrieval_votes", "retrieval_dense")
"""Modules with `ROWS`; lines of bars, `met` or `NOT met` first, from `bars(tables)`, where tables are the results by
`Row.step`, or from `bars_of(sets)` for what is no row."""

Results = dict[str, dict[str, Found]]
"""By set, then by row."""


def modules() -> list[Any]:
    """The modules of `PARTS`, loaded after CODENAV_HOME was set."""
    return [import_module(name) for name in PARTS]


def run(
    folds: Iterable[Sequence[Split]], parts: Sequence[Any], wanted: Sequence[str], tables: Mapping[bool, Results]
) -> None:
    """Add what each row finds in each split; the processor time of each goes to stderr."""
    failed: set[tuple[str, str]] = set()
    for splits in folds:
        for split in splits:
            for label, row in ((label, row) for part in parts for label, row in part.ROWS.items()):
                if wanted and not any(text in label for text in wanted):
                    continue
                if (row.trained and not split.train) or (row.across and not split.others):
                    continue
                cases = split.next_cases if row.step else split.cases
                if not cases:
                    continue
                began = time.process_time()
                try:
                    rankings = row.rank(split, cases)
                except CodeNavError as error:
                    # The other rows, and the bars that need them, are not lost with this one.
                    print(f"{split.name} {split.number} {label}: {error}", file=sys.stderr, flush=True)
                    failed.add((split.name, label))
                    continue
                found = tables[row.step].setdefault(split.name, {}).setdefault(label, Found())
                for case, ranking in zip(cases, rankings, strict=True):
                    found.values.append(measured(ranking, {split.rows[tool] for tool in case.gold}))
                    found.clusters.append(split.clusters[case.request.id])
                    found.unseen.append(case.request.id in split.unseen)
                took = time.process_time() - began
                print(f"{split.name:<24} {split.number} {label:<44} {took:6.1f} s", file=sys.stderr, flush=True)
    for name, label in failed:
        for results in tables.values():
            results.get(name, {}).pop(label, None)


def figures(results: Results) -> dict[str, Any]:
    """The figures of each set and of the mean over sets: value, and both ends of the interval."""
    told: dict[str, Any] = {
        name: {
            label: {
                measure: [round(value, 2) for value in (found.mean(measure), *interval(found.samples(measure)))]
                for measure in MEASURES
            }
            for label, found in rows.items()
        }
        for name, rows in results.items()
    }
    labels = dict.fromkeys(label for rows in results.values() for label in rows)
    told["mean"] = {}
    for label in labels:
        sets = [rows[label] for rows in results.values() if label in rows]
        told["mean"][label] = {"sets": len(sets)}
        for measure in MEASURES:
            value, samples = over_sets(sets, measure)
            told["mean"][label][measure] = [round(one, 2) for one in (value, *interval(samples))]
    return told


def of_unseen(results: Results) -> Results:
    """What was found for cases whose sets of tools were not learnt; nothing if there are no others."""
    if all(all(found.unseen) for rows in results.values() for found in rows.values()):
        return {}
    parts = {name: {label: found.of_unseen() for label, found in rows.items()} for name, rows in results.items()}
    return {name: rows for name, rows in parts.items() if all(found.values for found in rows.values())}


def table(title: str, results: Results) -> None:
    """Print a table: a block of rows for each set, and one for the mean of several."""
    print(f"\n{title}; {' / '.join(MEASURES)} in %, [95 %]")
    for name, rows in figures(results).items():
        count = len(next(iter(results[name].values())).values) if name in results else 0
        if not count and len(results) == 1:
            continue
        print(f"{name}, {count} cases" if count else f"mean over {len(results)} sets, each counting once")
        for label, values in rows.items():
            cells = (f"{value:5.1f} [{low:.0f}, {high:.0f}]" for value, low, high in (values[one] for one in MEASURES))
            print(f"  {label:<44}" + "".join(f"{cell:<18}" for cell in cells))


def main() -> None:
    """Measure, with indexes made from nothing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a set or a folder of sets")
    parser.add_argument("--train", type=Path, help="the same sets with the requests that are learnt from")
    parser.add_argument("--folds", type=int, default=0, help="learn from the judged requests too, out of fold")
    parser.add_argument("--unseen", action="store_true", help="folds that share no set of tools")
    parser.add_argument("--set", action="append", default=[], help="only this set; repeatable")
    parser.add_argument("--most", type=int, default=0, help="judge only so many requests of a set, for a quick look")
    parser.add_argument("--row", action="append", default=[], help="only rows whose name has this text; repeatable")
    parser.add_argument("--encoder", type=Path, help="rows for a directory of sentence-transformers, too")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sets = retrieval_sets.read(options.data, options.train, only=options.set, most=options.most)
    folds = retrieval_sets.folds(sets, options.folds, unseen=options.unseen) if options.folds > 1 else [sets]
    tables: dict[bool, Results] = {False: {}, True: {}}
    with tempfile.TemporaryDirectory() as temporary:
        # The rivals are in the cache of the person who measures; what is made here is not.
        parts = modules()
        if options.encoder:
            parts[PARTS.index("retrieval_dense")].add_encoder(options.encoder)
        rows = [label for part in parts for label in part.ROWS]
        for text in options.row:
            if not any(text in label for label in rows):
                sys.exit(f"no row has {text!r} in its name: {', '.join(rows)}")
        os.environ["CODENAV_HOME"] = temporary
        run(folds, parts, options.row, tables)
        told = [line for part in parts if hasattr(part, "bars") for line in part.bars(tables)]
        if not options.row:
            told += [line for part in parts if hasattr(part, "bars_of") for line in part.bars_of(sets)]
    shown = [
        (key, title, results)
        for key, title, results in (
            ("retrieval", "retrieval by request", tables[False]),
            ("unseen", "the same of the requests whose sets of tools were not learnt", of_unseen(tables[False])),
            ("next", "the tool that is called next", tables[True]),
        )
        if results
    ]
    if options.json:
        found = {key: figures(results) for key, _, results in shown}
        print(json.dumps({**found, "bars": told}, indent=2))
        return
    for _, title, results in shown:
        table(title, results)
    for line in told:
        print(line)


if __name__ == "__main__":
    main()
