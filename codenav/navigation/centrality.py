"""The centrality of files and definitions: PageRank over the references between files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from codenav.navigation.references import File, references

DAMPING = 0.85
"""Page et al., "The PageRank Citation Ranking", 1999; aider and networkx use the same value."""
CLOSE = 1e-4
"""The iteration ends when the ranks, which sum to 1, change by less in total."""
ITERATIONS = 50
OWN = 0.05
"""Share of a file's rank that its definitions get without references from another file."""


def rank(files: Sequence[File]) -> None:
    """Set `rank` of every file and of its entries: the ranks of all files sum to 1, entries get a share of them."""
    if not files:
        return
    edges: list[dict[int, float]] = [defaultdict(float) for _ in files]
    found = list(references(list(files)))
    for reference in found:
        for definer in reference.definers:
            edges[reference.file][definer] += reference.weight
    ranks = pagerank(edges, [0.1 if file.aside else 1.0 for file in files])
    shares: dict[tuple[int, str], float] = defaultdict(float)
    totals = [sum(targets.values()) for targets in edges]
    for reference in found:
        share = DAMPING * ranks[reference.file] * reference.weight / totals[reference.file]
        for definer in reference.definers:
            shares[definer, reference.name] += share
    for number, file in enumerate(files):
        file.rank = ranks[number]
        same: dict[str, int] = defaultdict(int)
        for entry in file.entries:
            same[entry.name] += 1
        inside = {call.rpartition(".")[2] for call in file.calls}
        for entry in file.entries:
            own = OWN * file.rank / len(file.entries)
            own *= (0.1 if entry.name.startswith("_") else 1.0) * (2.0 if entry.name in inside else 1.0)
            entry.rank = shares.get((number, entry.name), 0.0) / same[entry.name] + own


def pagerank(edges: Sequence[Mapping[int, float]], start: Sequence[float]) -> list[float]:
    """PageRank by power iteration.

    `edges[a][b]` is the weight of the edge from a to b. `start` gives the weight of each node as the start of a walk,
    in any unit. Nodes without an edge hand their rank back to `start`.
    """
    whole = sum(start)
    base = [value / whole for value in start]
    ranks = base
    totals = [sum(targets.values()) for targets in edges]
    for _ in range(ITERATIONS):
        fresh = [0.0] * len(ranks)
        loose = 0.0
        for node, targets in enumerate(edges):
            if not totals[node]:
                loose += ranks[node]
                continue
            part = DAMPING * ranks[node] / totals[node]
            for target, weight in targets.items():
                fresh[target] += part * weight
        rest = 1.0 - DAMPING + DAMPING * loose
        fresh = [value + rest * own for value, own in zip(fresh, base, strict=True)]
        change = sum(abs(new - old) for new, old in zip(fresh, ranks, strict=True))
        ranks = fresh
        if change < CLOSE:
            break
    return ranks
