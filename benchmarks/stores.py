"""Both stores beside each other: the same hits in the same order, fresh and after many edits, renames and removals.

    python benchmarks/stores.py [networkx | PATH] --elasticsearch-url http://localhost:9200 [--changes 50] [--each 80]

A copy of the files is indexed in both stores. Then files are edited (now and then the one that was edited or renamed
last), renamed and removed, with a build in both stores after every `--per-build` changes. Before, halfway and at the
end `--each` queries of each of ten kinds are made from the index as it is then, and asked in both.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from corpus import Corpus, copy_corpus
from measure import machine
from queries import FETCHED, sample

import codenav
from codenav.core.blocks import SearchResult
from codenav.core.protocols import Index

ROUNDING = 5e-7
"""Relative difference of two scores up to which rounding may reverse two hits: engines add in different orders."""
SAME_SCORE = 1e-4
"""Relative difference up to which two scores are equal: those of described blocks are rounded to five digits."""


def differences(one: SearchResult, other: SearchResult) -> Iterator[str]:
    """What differs between two results: `hits`, `order`, `scores`."""
    if one.total != other.total or len(one) != len(other) or _above_last(one) != _above_last(other):
        yield "hits"
        return
    pairs = list(zip(one, other, strict=True))
    if any(mine.id != yours.id and not _close(mine.score, yours.score, ROUNDING) for mine, yours in pairs):
        yield "order"
    if not all(_close(mine.score, yours.score, SAME_SCORE) for mine, yours in pairs):
        yield "scores"


def _above_last(result: SearchResult) -> set[str]:
    """The hits, but for the last ones where the limit falls among equals that rounding may have parted."""
    last = result[-1].score * (1 + ROUNDING) if len(result) and len(result) < result.total else -1.0
    return {hit.id for hit in result if hit.score > last}


def _close(one: float, other: float, within: float) -> bool:
    return abs(one - other) <= within * max(abs(one), abs(other))


def compare(title: str, one: Index, other: Index, *, seed: int, each: int) -> bool:
    """Ask both, print a row, and return True if nothing differs."""
    asked = sample(one, seed, each=each)
    found: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for kind, text in asked:
        for what in differences(one.search(text, limit=FETCHED), other.search(text, limit=FETCHED)):
            found[what] += 1
            examples.setdefault(what, f"{kind}: {text}")
    counts = "".join(f"{found[what]:10d}" for what in ("hits", "order", "scores"))
    print(f"{title:36}{one.stats().blocks:9d}{len(asked):9d}{counts}  {'NOT met' if found else 'met'}", flush=True)
    for what, example in examples.items():
        print(f"    {what} differ, the first: {example}")
    return not found


class Changes:
    """Edits, renames and removals of Python files."""

    def __init__(self, corpus: Corpus, seed: int) -> None:
        self._root = corpus.root
        self._chance = random.Random(seed)
        self._last = Path()
        self.done: Counter[str] = Counter()

    def one(self) -> None:
        """Change a file."""
        files = sorted(self._root.rglob("*.py"))
        path = self._chance.choice(files)
        kind = self._chance.choice(("edit", "edit", "edit again", "rename", "rename", "removal"))
        number = self.done.total()
        match kind:
            case "rename":
                self._last = path.rename(path.with_name(f"{path.stem}_{number}.py"))
            case "removal":
                path.unlink()
            case _:
                self._last = self._last if kind == "edit again" and self._last.is_file() else path
                with self._last.open("a") as file:
                    file.write(f"\n\ndef added_{number}(value):\n    return value + {number}\n")
        self.done[kind] += 1


def main() -> None:
    """Build, change, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", default="networkx", help="a directory, or a distribution")
    parser.add_argument("--elasticsearch-url", required=True)
    parser.add_argument("--changes", type=int, default=50)
    parser.add_argument("--per-build", type=int, default=1)
    parser.add_argument("--each", type=int, default=80, help="queries of each of ten kinds")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["CODENAV_HOME"] = str(Path(temporary, "home"))
        corpus = copy_corpus(given.corpus, Path(temporary, "tree"))

        @contextmanager
        def both() -> Iterator[tuple[Index, Index]]:
            remote: dict[str, Any] = {"store": "elasticsearch", "elasticsearch_url": given.elasticsearch_url}
            with codenav.index(corpus.root, store="embedded") as one, codenav.index(corpus.root, **remote) as other:
                yield one, other

        print(f"{corpus.name}; {machine()}; queries that differ in\n")
        print(f"{'':36}{'blocks':>9}{'queries':>9}{'hits':>10}{'order':>10}{'scores':>10}  bar")
        changes = Changes(corpus, given.seed)
        with both() as pair:
            fine = compare("fresh", *pair, seed=given.seed, each=given.each)
        for number in range(1, given.changes + 1):
            changes.one()
            if number % given.per_build and number < given.changes:
                continue
            with both() as pair:
                if number == given.changes or number // given.per_build == given.changes // given.per_build // 2:
                    fine &= compare(f"after {number} changes", *pair, seed=given.seed + number, each=given.each)
        print(", ".join(f"{count} x {kind}" for kind, count in sorted(changes.done.items())))
    if not fine:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
