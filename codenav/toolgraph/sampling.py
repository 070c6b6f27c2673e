"""Samples of a tool graph: callables, chains and DAGs of them, as the calls that would answer a request."""

from __future__ import annotations

import hashlib
import heapq
import random
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from graphlib import TopologicalSorter
from typing import TypeVar

from codenav.core.errors import UsageError
from codenav.core.traces import SAMPLES, Trace, TracedCall
from codenav.toolgraph.graph import EdgeKey, EdgeKind, NodeKind, ToolGraph
from codenav.toolgraph.nodes import RESOURCES

SIZES = (1, 5)
"""The least and most callables of a sample (the test sets of tool-graph planning: n = 1 to 5)."""
T = TypeVar("T")
MISSES = 1_000
"""Draws one after another that give nothing new, after which there are taken to be no more samples."""


class Shape(StrEnum):
    """The shapes of samples (TaskBench's node, chain and DAG)."""

    NODE = "node"
    """Callables each for itself: no edge is asked of them, and their order says nothing."""
    CHAIN = "chain"
    """Callables each of which is called after the one before it, or takes its result."""
    DAG = "dag"
    """Callables that take each other's results, directly or by way of others of the sample."""


class Sampler:
    """A source of different samples of a graph. The same graph and seed give the same samples."""

    def __init__(self, graph: ToolGraph, *, seed: int = 0) -> None:
        self._random = random.Random(seed)
        # As of each node's last use: the same file gives the same samples next year.
        weights = {id: node.usability() for id, node in graph.nodes.items() if node.kind is NodeKind.CALLABLE}
        self._nodes = {id: weight for id, weight in sorted(weights.items()) if weight > 0}
        self._edges = self._weighed(graph)
        self._ways: dict[str, dict[str, float]] = {}
        """From each callable those that may come right after it; of several edges the heaviest counts."""
        self._gifts: dict[str, list[EdgeKey]] = defaultdict(list)
        """The edges by which a callable gives or takes a resource."""
        for key, weight in self._edges.items():
            ways = self._ways.setdefault(key.source, {})
            ways[key.target] = max(weight, ways.get(key.target, 0.0))
            if key.resource:
                self._gifts[key.source].append(key)
                self._gifts[key.target].append(key)
        self._begins = {id: weight for id, weight in self._nodes.items() if id in self._ways}

    def draw(self, shape: Shape, sizes: Sequence[int]) -> Iterator[Trace]:
        """Yield different samples, each of a size drawn from `sizes`, until chance finds no more.

        What is likely comes first: nodes are drawn by their usability, edges by their weight, those of no weight never.

        Raises:
            UsageError: a size is not 1 to 5.
        """
        if not sizes or min(sizes) < SIZES[0] or max(sizes) > SIZES[1]:
            raise UsageError(f"samples of {', '.join(map(str, sizes)) or 'no'} callables", hint="from 1 to 5")
        seen: set[Collection[str]] = set()
        misses = 0
        while self._nodes and misses < MISSES:
            line, takes = self._drawn(shape, self._random.choice(sizes))
            key: Collection[str] = tuple(line) if shape is Shape.CHAIN else frozenset(line)
            misses += 1
            if line and key not in seen:
                seen.add(key)
                misses = 0
                yield _trace(line, takes, ordered=shape is not Shape.NODE)

    def _drawn(self, shape: Shape, size: int) -> tuple[Sequence[str], Mapping[str, Mapping[str, str]]]:
        """Callables in order, and from whom each takes what; none where there was no way on."""
        if shape is Shape.NODE or size == 1:
            return self._some(size), {}
        wiring = self._grown(size) if shape is Shape.DAG else ()
        line = _sorted(wiring) if shape is Shape.DAG else self._walk(size)
        return line, self._takes(line, wiring)

    def _some(self, size: int) -> Sequence[str]:
        """Callables without an edge between them (weighted sampling by keys: Efraimidis and Spirakis, 2006)."""
        keys = {id: self._random.random() ** (1 / weight) for id, weight in self._nodes.items()}
        return sorted(heapq.nlargest(size, keys, key=keys.__getitem__)) if size <= len(keys) else ()

    def _walk(self, size: int) -> Sequence[str]:
        """Callables each of which follows the one before it."""
        line: list[str] = []
        while len(line) < size:
            ways = self._ways.get(line[-1], {}) if line else self._begins
            ways = {id: weight for id, weight in ways.items() if id not in line}
            if not ways:
                return ()
            line.append(self._chosen(ways))
        return line

    def _grown(self, size: int) -> Sequence[EdgeKey]:
        """The resource edges that join so many callables, each resource taken from one of them."""
        nodes, wiring = {self._chosen(self._nodes)}, list[EdgeKey]()
        while len(nodes) < size:
            taken = {(key.target, key.resource) for key in wiring}
            joining = {
                key: self._edges[key]
                for id in sorted(nodes)
                for key in self._gifts.get(id, ())
                if (key.source in nodes) != (key.target in nodes) and (key.target, key.resource) not in taken
            }
            if not joining:
                return ()
            wiring.append(self._chosen(joining))
            nodes |= {wiring[-1].source, wiring[-1].target}
        return wiring

    def _takes(self, line: Sequence[str], wiring: Sequence[EdgeKey]) -> Mapping[str, Mapping[str, str]]:
        """From whom each callable takes what: by the edges that were drawn, else from the best giver before it."""
        takes: dict[str, dict[str, str]] = {id: {} for id in line}
        for key in wiring:
            takes[key.target][key.resource] = key.source
        for place, target in enumerate(line):
            gifts = [key for key in self._gifts.get(target, ()) if key.target == target and key.source in line[:place]]
            # What only one gives comes first, then what is heavier.
            for key in sorted(gifts, key=lambda key: (key.kind is not EdgeKind.RESOURCE, -self._edges[key], key)):
                takes[target].setdefault(key.resource, key.source)
        return takes

    def _weighed(self, graph: ToolGraph) -> dict[EdgeKey, float]:
        """The edges between callables with their weights, without those of no weight."""
        weight = graph.weighing()
        return {
            key: weight(key)
            for key in sorted(graph.edges)
            if key.kind in (EdgeKind.NEXT, *RESOURCES)
            and key.source != key.target
            and {key.source, key.target} <= self._nodes.keys()
            and weight(key) > 0
        }

    def _chosen(self, weights: Mapping[T, float]) -> T:
        return self._random.choices([*weights], [*weights.values()])[0]


def _sorted(wiring: Sequence[EdgeKey]) -> list[str]:
    """The callables of a DAG, each behind those whose results it takes."""
    sorter = TopologicalSorter[str]()
    for id in sorted({end for key in wiring for end in (key.source, key.target)}):
        sorter.add(id)
    for key in wiring:
        sorter.add(key.target, key.source)
    return [*sorter.static_order()]


def _trace(line: Sequence[str], takes: Mapping[str, Mapping[str, str]], *, ordered: bool) -> Trace:
    calls = [
        TracedCall(name, takes={resource: line.index(giver) for resource, giver in sorted(takes.get(name, {}).items())})
        for name in line
    ]
    text = repr([(call.name, dict(call.takes)) for call in calls])
    id = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return Trace(f"sample-{id}", tuple(calls), origin=SAMPLES, ordered=ordered)
