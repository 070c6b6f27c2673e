"""The cost per block of indexes with ten thousand to a million blocks.

    python benchmarks/growth.py [transformers | networkx | PATH] [--sizes 10000 100000 1000000]

Each size is a tree of copies of the corpus in which every eighth name differs from copy to copy, so that the terms grow
with the blocks. Every row is the real command line on that tree, run once; the larger trees contain the smaller ones.
"""

from __future__ import annotations

import argparse
import keyword
import random
import re
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path

from builds import Builds
from corpus import Corpus, copy_corpus
from measure import machine, percentile
from queries import Times, sample

SIZES = (10_000, 100_000, 1_000_000)
VARIED = 8
"""One of so many names gets the number of its copy."""
FLAT = 1.5
"""The ratio of the cost per block to that of the size before, up to which it counts as flat."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{5,}")


class Copies:
    """A tree that grows, copy by copy, in an order that mixes all parts of the corpus."""

    def __init__(self, corpus: Corpus, blocks: Counter[str], tree: Path) -> None:
        self._corpus, self._blocks, self.tree = corpus, blocks, tree
        self._files = self._endless()
        self.files = self.bytes = self.blocks = 0

    def grow(self, blocks: int) -> Corpus:
        """Grow the tree to at least so many blocks, as counted in the corpus."""
        while self.blocks < blocks:
            path, text, count = next(self._files)
            target = self.tree / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text)
            self.files, self.bytes, self.blocks = self.files + 1, self.bytes + len(text), self.blocks + count
        return Corpus(f"{blocks} blocks", self.tree, self.files, self.bytes)

    def _endless(self) -> Iterator[tuple[str, bytes, int]]:
        order = sorted(self._blocks)
        random.Random(1).shuffle(order)
        copy = 0
        while True:
            names: dict[str, str] = {}
            for path in order:
                text = (self._corpus.root / path).read_text(encoding="utf-8", errors="replace")
                if copy:
                    text = _NAME.sub(partial(_varied, copy, names), text)
                yield f"copy_{copy:04}/{path}", text.encode(), self._blocks[path]
            copy += 1


def _varied(copy: int, known: dict[str, str], match: re.Match[str]) -> str:
    name = match[0]
    new = known.get(name)
    if new is None:
        chosen = zlib.crc32(f"{copy} {name}".encode()) % VARIED == 0 and not keyword.iskeyword(name)
        new = known[name] = f"{name}_c{copy}" if chosen else name
    return new


class Size:
    """The costs at one size."""

    def __init__(self, corpus: Corpus, home: Path) -> None:
        builds = Builds(corpus, home)
        self.files, self.megabytes = corpus.files, corpus.bytes / 1e6
        self.build = builds.command()
        self.disk = builds.disk()
        self.again = builds.command()
        builds.edit()
        self.edit = builds.command()
        self.search = builds.ask()
        with builds.open() as index:
            self.blocks = index.stats().blocks
            self.times = Times(index, sample(index, 1), 2)
        builds.forget()

    def latency(self, share: float, *, of: Mapping[str, list[float]] | None = None, wildcards: bool = True) -> float:
        """The percentile in ms over all kinds of queries, or those without a wildcard; of wall clock by default."""
        kinds = (self.times.wall if of is None else of).items()
        return percentile([time for kind, times in kinds if wildcards or "*" not in kind for time in times], share)


FIGURES: list[tuple[str, Callable[[Size], str]]] = [
    ("blocks", lambda size: f"{size.blocks}"),
    ("files", lambda size: f"{size.files}"),
    ("MB of text", lambda size: f"{size.megabytes:.0f}"),
    ("from nothing, wall s", lambda size: f"{size.build.wall:.1f}"),
    ("  wall µs per block", lambda size: f"{size.build.wall / size.blocks * 1e6:.0f}"),
    ("  processor µs per block", lambda size: f"{size.build.cpu / size.blocks * 1e6:.0f}"),
    ("  peak RSS of all processes, MB", lambda size: f"{size.build.rss:.0f}"),
    ("  peak PSS of all processes, MB", lambda size: f"{size.build.pss:.0f}"),
    ("  peak RSS per block, KB", lambda size: f"{size.build.rss / size.blocks * 1e3:.2f}"),
    ("  index, MB", lambda size: f"{size.disk / 1e6:.0f}"),
    ("  index per block, KB", lambda size: f"{size.disk / size.blocks / 1e3:.2f}"),
    ("nothing changed, wall s", lambda size: f"{size.again.wall:.2f}"),
    ("  processor s", lambda size: f"{size.again.cpu:.2f}"),
    ("  peak RSS, MB", lambda size: f"{size.again.rss:.0f}"),
    ("one file edited, wall s", lambda size: f"{size.edit.wall:.2f}"),
    ("  processor s", lambda size: f"{size.edit.cpu:.2f}"),
    ("  peak RSS, MB", lambda size: f"{size.edit.rss:.0f}"),
    ("codenav search, wall s", lambda size: f"{size.search.wall:.2f}"),
    ("  processor s", lambda size: f"{size.search.cpu:.2f}"),
    ("  peak RSS, MB", lambda size: f"{size.search.rss:.0f}"),
    ("250 queries, p50 ms", lambda size: f"{size.latency(0.5):.2f}"),
    ("  p99 ms", lambda size: f"{size.latency(0.99):.2f}"),
    ("  p50 ms of processor time", lambda size: f"{size.latency(0.5, of=size.times.cpu):.2f}"),
    ("  p99 ms without wildcards", lambda size: f"{size.latency(0.99, wildcards=False):.2f}"),
]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", default="transformers", help="a directory, or a distribution")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="BLOCKS")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        corpus = copy_corpus(options.corpus, place / "corpus")
        print(f"copies of {corpus.name}; {machine()}\n", flush=True)
        original = Builds(corpus, place / "home")
        original.command()
        with original.open() as index:
            copies = Copies(corpus, Counter(block.path for block in index.blocks()), place / "tree")
        original.forget()
        sizes = []
        for blocks in sorted(options.sizes):
            sizes.append(Size(copies.grow(blocks), place / "home"))
            print(f"{blocks} blocks: done, {sizes[-1].build.wall:.1f} s to index", file=sys.stderr)
    for label, figure in FIGURES:
        print(f"{label:34}" + "".join(f"{figure(size):>12}" for size in sizes))
    print()
    for small, large in pairwise(sizes):
        time = large.build.cpu / large.blocks / (small.build.cpu / small.blocks)
        memory = large.build.rss / large.blocks / (small.build.rss / small.blocks)
        print(
            f"{small.blocks} to {large.blocks} blocks: processor time per block x {time:.2f}, peak memory per block "
            f"x {memory:.2f}: {'flat' if max(time, memory) <= FLAT else 'NOT flat'}"
        )


if __name__ == "__main__":
    main()
