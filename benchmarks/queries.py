"""The latency of a search as a user sees it: parse, fetch 100, rank, load the text of the first 13.

    python benchmarks/queries.py [transformers | networkx | PATH] [--seed 1] [--rounds 3]

250 queries, 25 of each of ten kinds, sampled from the index itself with a fixed seed.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from corpus import copy_corpus
from measure import machine, percentile, verdict

import codenav
from codenav.core.protocols import Index

EACH = 25
FETCHED, LOADED = 100, 13
SAMPLED = 20_000
"""Blocks that the queries are made from, taken at regular intervals from a larger index."""
BARS = (1.0, 20.0)
"""p50 and p99 in ms, over all kinds, of the embedded index of transformers."""
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PART = re.compile(r"[A-Z]?[a-z]{3,}")


class Material:
    """The words and names that queries are made of."""

    def __init__(self, index: Index, total: int) -> None:
        stride = max(1, total // SAMPLED)
        self.blocks = [
            (block.kind.value, block.name, block.path, block.lines.start, block.text)
            for number, block in enumerate(index.blocks())
            if number % stride == 0
        ]
        seen: Counter[str] = Counter()
        for *_, text in self.blocks:
            seen.update(set(_WORD.findall(text)))
        ordered = sorted(seen, key=lambda word: (-seen[word], word))
        self.common = [word.lower() for word in ordered[:150] if len(word) > 2]
        self.rare = sorted(word for word, count in seen.items() if count <= 3 and len(word) >= 6)
        self.names = sorted({name for kind, name, *_ in self.blocks if _WORD.fullmatch(name) and len(name) >= 6})
        self.parts = sorted({part.lower() for name in self.names for part in _PART.findall(name)})


def sample(index: Index, seed: int, *, each: int = EACH) -> list[tuple[str, str]]:
    """The kind and the text of each query; `each` of every kind."""
    return list(_sampled(Material(index, index.stats().blocks), seed, each))


def _sampled(material: Material, seed: int, each: int) -> Iterator[tuple[str, str]]:
    chance = random.Random(seed)
    pick = chance.choice
    kinds = ("FUNCTION", "CLASS", "METHOD")
    for _ in range(each):
        yield "rare identifier", f"text: {pick(material.rare)}"
        yield "common word", f"text: {pick(material.common)}"
        yield "type AND word", f"(type: {pick(kinds)}) AND (text: {pick(material.parts)})"
        yield "phrase", f'text: "{_phrase(material, chance)}"'
        a, b, c, d = (pick(material.parts) for _ in range(4))
        yield (
            "(a OR b OR c) AND NOT d AND type",
            f"(text: ({a} OR {b} OR {c})) AND NOT text: {d} AND type: {pick(kinds)}",
        )
        name = pick(material.names)
        yield "prefix* AND type", f"(type: {pick(kinds)}) AND (text: {name[: max(4, len(name) // 2)]}*)"
        part = pick(material.parts)
        yield "*infix*", f"text: *{part[:5]}*"
        path = pick(material.blocks)[2]
        yield "*path suffix", f"file_path: *{'/'.join(path.split('/')[-2:])}"
        yield "fuzzy~1", f"text: {_misspelt(pick(material.parts), chance)}~1"
        _, _, path, start, _ = pick(material.blocks)
        yield "path AND line range", f'file_path: "{path}" AND lines:[{max(1, start - 20)} TO {start + 20}]'


def _phrase(material: Material, chance: random.Random) -> str:
    """Two or three words that follow each other on a line."""
    while True:
        lines = chance.choice(material.blocks)[-1].splitlines()
        words = _WORD.findall(chance.choice(lines)) if lines else []
        if len(words) >= 3:
            at = chance.randrange(len(words) - 2)
            return " ".join(words[at : at + chance.choice((2, 3))])


def _misspelt(word: str, chance: random.Random) -> str:
    at = chance.randrange(1, len(word))
    return word[:at] + chance.choice("aeiourst") + word[at + 1 :]


def whole_search(index: Index, query: str) -> int:
    """Run a search as an agent does; return the number of matches."""
    result = index.search(query, limit=FETCHED)
    for hit in result.hits[:LOADED]:
        len(hit.text)
    return result.total


class Times:
    """The milliseconds of each query, by kind."""

    def __init__(self, index: Index, asked: list[tuple[str, str]], rounds: int) -> None:
        self.wall: dict[str, list[float]] = {}
        self.cpu: dict[str, list[float]] = {}
        self.first: list[float] = []
        self.totals: dict[str, list[int]] = {}
        for turn in range(rounds):
            for kind, query in asked:
                began, worked = time.perf_counter(), time.process_time()
                total = whole_search(index, query)
                wall, cpu = (time.perf_counter() - began) * 1000, (time.process_time() - worked) * 1000
                self.wall.setdefault(kind, []).append(wall)
                self.cpu.setdefault(kind, []).append(cpu)
                if turn == 0:
                    self.first.append(wall)
                    self.totals.setdefault(kind, []).append(total)

    def overall(self) -> list[float]:
        """The times of all kinds together."""
        return [wall for walls in self.wall.values() for wall in walls]


def report(
    index: Index, asked: list[tuple[str, str]], *, rounds: int = 3, bars: tuple[float | None, ...] | None = None
) -> None:
    """Print the table; `bars` are for p50 and p99."""
    times = Times(index, asked, rounds)
    blocks = index.stats().blocks
    print(f"{len(asked)} queries x {rounds} rounds on {blocks} blocks; ms; top {FETCHED}, text of {LOADED} loaded\n")
    print(f"{'':36}{'p50':>8}{'p99':>8}{'cpu p50':>9}{'cpu p99':>9}{'matches p50':>13}  bar")
    for kind, walls in times.wall.items():
        cpus, totals = times.cpu[kind], times.totals[kind]
        print(_row(kind, walls, cpus) + f"{percentile(totals, 0.5):13.0f}")
    measured = zip((percentile(times.overall(), 0.5), percentile(times.overall(), 0.99)), bars or (), strict=False)
    bar = verdict(*((value, limit, " ms") for value, limit in measured if limit))
    cpus = [cpu for values in times.cpu.values() for cpu in values]
    print((_row("all", times.overall(), cpus) + f"{'':13}  {bar}").rstrip())
    print(
        f"{'all, asked for the first time':36}{percentile(times.first, 0.5):8.2f}{percentile(times.first, 0.99):8.2f}\n"
    )


def _row(label: str, walls: list[float], cpus: list[float]) -> str:
    figures = (percentile(walls, 0.5), percentile(walls, 0.99), percentile(cpus, 0.5), percentile(cpus, 0.99))
    return f"{label:36}{figures[0]:8.2f}{figures[1]:8.2f}{figures[2]:9.2f}{figures[3]:9.2f}"


def main() -> None:
    """Index the corpus, then run the queries."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", default="transformers", help="a directory, or a distribution")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        corpus = copy_corpus(options.corpus, Path(temporary, "tree"))
        os.environ["CODENAV_HOME"] = str(Path(temporary, "home"))
        print(f"{corpus.name}; {machine()}")
        with codenav.index(corpus.root) as index:
            report(index, sample(index, options.seed), rounds=options.rounds, bars=BARS if corpus.barred else None)


if __name__ == "__main__":
    main()
