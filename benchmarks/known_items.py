"""The rank of definitions that are searched for by name: functions, classes and methods whose name is unique.

    python benchmarks/known_items.py [transformers | networkx | PATH] [--seed 1 --seed 2]

150 of each, sampled from the index itself; the share of them among the first 1, 3 and 10 hits. An agent sees 3 in full.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpus import copy_corpus

import codenav
from codenav.core.protocols import Index

EACH = 150
KINDS = {"FUNCTION": "functions", "CLASS": "classes", "METHOD": "methods"}
RANKS = (1, 3, 10)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@dataclass(frozen=True)
class Item:
    """A definition to find again."""

    id: str
    kind: str
    name: str

    @property
    def words(self) -> str:
        """The parts of its name: `bert masked lm`."""
        return " ".join(_WORDS.findall(self.name)).lower()


FORMS: dict[str, tuple[Callable[[Item], str], float | None]] = {
    "exact": (lambda item: f"(type: {item.kind}) AND (text: {item.name})", 100),
    "words": (lambda item: f"(type: {item.kind}) AND (text: ({item.words}))", 95),
    "prefix*": (lambda item: f"(type: {item.kind}) AND (text: {item.name[: -(-len(item.name) * 2 // 3)]}*)", 87),
    "name alone": (lambda item: item.name, None),
    "words alone": (lambda item: item.words, None),
}
"""The query for an item in each form, and the bar for hit@3 in percent, mean over the three kinds."""


def items(index: Index) -> dict[str, list[Item]]:
    """The items by kind, those whose name no other callable or class of the index has, in a fixed order."""
    found = [
        Item(block.id, block.kind.value, block.name)
        for block in index.blocks()
        if block.kind.value in KINDS and _WORDS.search(block.name)
    ]
    bearers = Counter(item.name.lower() for item in found)
    unique = sorted((item for item in found if bearers[item.name.lower()] == 1), key=lambda item: (item.name, item.id))
    return {kind: [item for item in unique if item.kind == kind] for kind in KINDS}


def shares(index: Index, sample: Sequence[Item], form: Callable[[Item], str]) -> list[float]:
    """The percentage of the sample at each of the `RANKS`."""
    ranks = []
    for item in sample:
        ids = [hit.id for hit in index.search(form(item), limit=max(RANKS))]
        ranks.append(ids.index(item.id) + 1 if item.id in ids else max(RANKS) + 1)
    return [100 * sum(rank <= limit for rank in ranks) / len(ranks) if ranks else 0.0 for limit in RANKS]


def report(index: Index, *, seeds: Sequence[int], barred: bool = False) -> None:
    """Print the table."""
    known = items(index)
    told = ", ".join(f"{len(known[kind])} {label}" for kind, label in KINDS.items())
    print(f"known items, of {told} with a unique name; hit@1 / @3 / @10 in %\n")
    print(f"{'':26}" + "".join(f"{label:>18}" for label in KINDS.values()) + f"{'mean':>24}  bar for @3")
    for seed in seeds:
        chance = random.Random(seed)
        samples = [chance.sample(known[kind], min(EACH, len(known[kind]))) for kind in KINDS]
        for label, (form, bar) in FORMS.items():
            per_kind = [shares(index, sample, form) for sample in samples]
            mean = [sum(column) / len(KINDS) for column in zip(*per_kind, strict=True)]
            cells = "".join(f"{' / '.join(f'{share:.0f}' for share in kind):>18}" for kind in per_kind)
            told = ""
            if bar and barred:
                told = f"≥ {bar:g} {'met' if mean[1] >= bar else 'NOT met'}"
            means = " / ".join(f"{share:.1f}" for share in mean)
            print(f"{f'seed {seed}, {label}':26}{cells}{means:>24}  {told}".rstrip(), flush=True)
    print()


def main() -> None:
    """Index the corpus, then run the queries."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", default="transformers", help="a directory, or a distribution")
    parser.add_argument("--seed", type=int, action="append", help="may be repeated; default: 1 and 2")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        corpus = copy_corpus(options.corpus, Path(temporary, "tree"))
        os.environ["CODENAV_HOME"] = str(Path(temporary, "home"))
        print(corpus.name)
        with codenav.index(corpus.root) as index:
            report(index, seeds=options.seed or [1, 2], barred=corpus.barred)


if __name__ == "__main__":
    main()
