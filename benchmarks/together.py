"""Several sources in one search: is each found as well as alone, a small one beside large ones too?

    python benchmarks/together.py [SMALL,MIDDLE,LARGE …] [--each 40] [--seed 1]

Functions, classes and methods of each source whose name it has once are asked for by their name, by its words and by
the first line of their docstring, in an index of their source alone and in one search over the group. Names that
another source of the group has as well are counted apart: there several blocks answer equally. hit@3, in percent; at
the end the time of a search over the group beside the sum of the searches in each.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from corpus import copy_corpus

import codenav
from codenav.core.blocks import CodeBlock
from codenav.core.protocols import Index
from codenav.retrieval import analysis, planning
from codenav.retrieval.source_index import SourceIndex, as_index

GROUPS = (
    "comm,requests,pandas",
    "nest-asyncio2,click,matplotlib",
    "sortedcontainers,tomlkit,pandas",
    "six,networkx,matplotlib",
)
"""Distributions of 25 to 160, of 450 to 9,000 and of 12,000 to 38,000 blocks."""
SIZES = ("small", "middle", "large")
KINDS = ("FUNCTION", "CLASS", "METHOD")
SHOWN = 3
APART = 3.0
"""The points of hit@3 by which a source may be found worse than alone."""


def summary(block: CodeBlock) -> str:
    """The first line of a docstring as plain words."""
    return " ".join(analysis.words(block.docstring.strip().partition("\n")[0]))


FORMS: dict[str, Callable[[CodeBlock], str]] = {
    "name": lambda block: block.name,
    "words": lambda block: " ".join(analysis.part_tokens(block.name)),
    "docstring": summary,
}


def found(index: Index, query: str, wanted: CodeBlock) -> bool:
    """True if the block is among the first hits."""
    return any(hit.id == wanted.id for hit in index.search(query, limit=SHOWN))


def measure(
    indexes: Sequence[SourceIndex], each: int, seed: int, rows: dict[tuple[str, str], list[tuple[bool, bool]]]
) -> list[str]:
    """Add what was found alone and together, by form and size; return the queries."""
    blocks = [
        [block for block in index.blocks() if block.kind.value in KINDS and len(block.name) > 3] for index in indexes
    ]
    bearers = [Counter(block.name.lower() for block in some) for some in blocks]
    both, queries = as_index(indexes), []
    for size, index, own, some in zip(SIZES, indexes, bearers, blocks, strict=True):
        elsewhere = {name for names in bearers if names is not own for name in names}
        unique = sorted((block for block in some if own[block.name.lower()] == 1), key=lambda block: block.id)
        for form, ask in FORMS.items():
            known = [block for block in unique if form != "docstring" or len(summary(block).split()) > 2]
            for block in random.Random(seed).sample(known, min(each, len(known))):
                query = ask(block)
                shared = form != "docstring" and block.name.lower() in elsewhere
                row = rows[f"{form}, also elsewhere" if shared else form, size]
                row.append((found(index, query, block), found(both, query, block)))
                queries.append(query)
    return queries


def times(indexes: Sequence[SourceIndex], queries: Sequence[str]) -> tuple[float, float]:
    """The median processor time, in milliseconds, of the searches in each index and of one over all."""
    both = as_index(indexes)
    apart, together = [], []
    for query in queries:
        for ask, taken in (((index.search for index in indexes), apart), ((both.search,), together)):
            spent = 0.0
            for search in ask:
                planning._understand.cache_clear()
                begun = time.process_time()
                search(query, limit=13)
                spent += time.process_time() - begun
            taken.append(spent * 1000)
    return statistics.median(apart), statistics.median(together)


def main() -> None:
    """Index the groups, then ask."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", default=GROUPS, help="three directories or distributions, with commas")
    parser.add_argument("--each", type=int, default=40, help="blocks of each source and form")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rows: dict[tuple[str, str], list[tuple[bool, bool]]] = defaultdict(list)
    timed = []
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as opened:
        os.environ["CODENAV_HOME"] = str(Path(temporary, "home"))
        corpora = {
            name: copy_corpus(name, Path(temporary, name.replace("/", "_")))
            for group in options.groups
            for name in group.split(",")
        }
        for group in options.groups:
            indexes = [opened.enter_context(codenav.index(corpora[name].root)) for name in group.split(",")]
            print(
                ", ".join(
                    f"{name} {index.stats().blocks:,}" for name, index in zip(group.split(","), indexes, strict=True)
                )
            )
            queries = measure(indexes, options.each, options.seed, rows)
            timed.append(times(indexes, queries[:: max(1, len(queries) // 100)]))
    print(f"\n{'hit@3 in %':28}{'queries':>8}{'alone':>8}{'together':>10}")
    for (form, size), row in sorted(rows.items()):
        print(f"{f'{form}, {size}':28}{len(row):8}{share(row, 0):8.1f}{share(row, 1):10.1f}")
    for size in SIZES:
        row = [pair for (_, named), pairs in rows.items() if named == size for pair in pairs]
        lost = share(row, 0) - share(row, 1)
        told = f"≤ {APART:g} fewer {'met' if lost <= APART else 'NOT met'}"
        print(f"{f'all, {size}':28}{len(row):8}{share(row, 0):8.1f}{share(row, 1):10.1f}   {told}")
    for group, (apart, together) in zip(options.groups, timed, strict=True):
        print(f"processor ms, p50: {apart:.2f} in each, {together:.2f} over all   {group}")


def share(row: Sequence[tuple[bool, bool]], at: int) -> float:
    """The percentage of a column that was found."""
    return 100 * sum(pair[at] for pair in row) / max(len(row), 1)


if __name__ == "__main__":
    main()
