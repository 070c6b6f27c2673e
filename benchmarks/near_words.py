"""Which vectors find the words that programmers use for one another, on packages that they were not made from.

    python benchmarks/near_words.py MODEL FOLDER…           as of make_word_vectors.py

Every fifth package is held out. Two questions of each kind of vector, both asked without inflections: of a word in the
first sentence of a held-out definition's documentation and a word of its name that go together far above chance in
three held-out packages or more, is the second among the 16 nearest to the first; and of the words that
near_words.txt says a programmer would take for another.
"""

from __future__ import annotations

import argparse
import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from code_words import Package
from make_word_vectors import COMMON, HALF, OFFERED, company, drawn, encoded, packages, stands_for, unit, vocabulary

from codenav.retrieval.stems import stem

NEAR = 16
LEAST_PACKAGES, LEAST_INFORMATION = 3, 2.5
"""Held-out packages that have a pair, and its pointwise mutual information in nats."""


def pairs(held: Sequence[Package]) -> set[tuple[str, str]]:
    """The words of documentation and the words of names that go together."""
    met: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    times: Counter[tuple[str, str]] = Counter()
    said: Counter[str] = Counter()
    named: Counter[str] = Counter()
    definitions = {definition: package.name for package in held for definition in package.definitions}
    for (name, summary), package in definitions.items():
        words, names = ({word for word in text if _counts(word)} for text in (summary, name))
        said.update(words)
        named.update(names)
        for pair in ((word, other) for word in words for other in names if stem(word) != stem(other)):
            times[pair] += 1
            met[pair].add(package)
    return {
        (word, other)
        for (word, other), among in met.items()
        if len(among) >= LEAST_PACKAGES
        and math.log(times[word, other] * len(definitions) / (said[word] * named[other])) >= LEAST_INFORMATION
    }


def _counts(word: str) -> bool:
    return word not in COMMON and len(word) > 1 and not word.isdigit()


def by_hand() -> set[tuple[str, str]]:
    """The pairs of near_words.txt."""
    lines = [line.split() for line in Path(__file__).with_name("near_words.txt").read_text("utf-8").splitlines()]
    return {(word, other) for word, *others in lines for other in others if stem(word) != stem(other)}


class Near:
    """The words of some vectors near to a word, without its inflections, each stem once."""

    def __init__(self, words: Sequence[str], vectors: np.ndarray, offered: Iterable[bool]) -> None:
        self.rows = {word: row for row, word in enumerate(words)}
        self.vectors = unit(vectors)
        self.offered = np.flatnonzero(np.fromiter(offered, bool))
        self.stems = [stem(words[row]) for row in self.offered]

    def of(self, word: str) -> list[str]:
        """The stems of the nearest words, best first."""
        if word not in self.rows:
            return []
        cosines = self.vectors[self.offered] @ self.vectors[self.rows[word]]
        best = dict.fromkeys(self.stems[place] for place in np.argsort(-cosines)[: 4 * NEAR])
        best.pop(stem(word), None)
        return list(best)[:NEAR]


def measured(near: Near, wanted: set[tuple[str, str]]) -> str:
    """The share of pairs found, and the mean of 1 / rank."""
    found = {word: near.of(word) for word, _ in wanted}
    ranks = [found[word].index(stem(other)) + 1 if stem(other) in found[word] else 0 for word, other in wanted]
    share = sum(rank > 0 for rank in ranks) / len(ranks)
    return f"{100 * share:5.1f} % {sum(1 / rank for rank in ranks if rank) / len(ranks):.3f}"


def main() -> None:
    """Print a line for each kind of vector."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    given = parser.parse_args()
    found = list(packages(given.folders))
    held = [package for package in found if hashlib.md5(package.name.encode()).digest()[0] % 5 == 0]
    kept = [package for package in found if package not in held]
    counts = vocabulary(kept)
    words = list(counts)
    wanted, hand = pairs(held), by_hand()
    print(f"{len(kept)} packages, {len(held)} held out; {len(wanted)} pairs of theirs, {len(hand)} by hand", flush=True)
    everyone = [True] * len(words)
    enough = [count >= OFFERED for count in counts.values()]
    wide, beside = encoded(words, given.model, 2 * HALF), company(words, kept, 2 * HALF)
    halves = np.concatenate([encoded(words, given.model), company(words, kept)], axis=1)
    for name, vectors, offered in (
        ("encoder, all words", wide, everyone),
        ("encoder", wide, enough),
        ("company", beside, enough),
        ("both halves", halves, enough),
        ("both, drawn", drawn(halves, words, list(stands_for(kept))), enough),
    ):
        near = Near(words, vectors, offered)
        print(f"{name:20} {measured(near, wanted)}   by hand {measured(near, hand)}", flush=True)


if __name__ == "__main__":
    main()
