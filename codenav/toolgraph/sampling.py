"""Samples of a tool graph: callables, chains and DAGs of them, as the calls that would answer a request."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

from codenav.core.errors import UsageError
from codenav.core.traces import SAMPLES, Trace, TracedCall
from codenav.toolgraph.graph import EdgeKey, EdgeKind, NodeKind, ToolGraph
from codenav.toolgraph.nodes import RESOURCES

SIZES = (1, 5)
"""The least and most callables of a sample (the test sets of tool-graph planning: n = 1 to 5)."""
MISSES = 100
"""Draws one after another that give nothing new, after which the samples that are left are gone through."""
STEPS = 200_000
"""Steps of going through what is left, a second or two."""
Wiring = frozenset[EdgeKey]
Draw = tuple[Collection[str], Wiring]
"""Callables, and for a DAG the edges between them; of too few callables where there was no way on."""
T = TypeVar("T")


class Shape(StrEnum):
    """The shapes of samples (TaskBench's node, chain and DAG)."""

    NODE = "node"
    """Callables each for itself: no edge is asked of them, and their order says nothing."""
    CHAIN = "chain"
    """Callables each of which is called after the one before it, or takes its result."""
    DAG = "dag"
    """Callables that take each other's results, directly or by way of others of the sample."""


class Step(NamedTuple):
    """A way from a callable to another one."""

    target: str
    weight: float


class _Urn(Generic[T]):
    """Items to draw from, with the sums of their weights up to each."""

    def __init__(self, weights: Mapping[T, float]) -> None:
        self.items, self.sums = list(weights), list(itertools.accumulate(weights.values()))


class Sampler:
    """A source of different samples of a graph. The same graph and seed give the same samples."""

    def __init__(self, graph: ToolGraph, *, seed: int = 0, steps: int = STEPS) -> None:
        """`steps`: the most steps of going through the samples that chance did not draw, of each size."""
        self._graph, self._random, self._most = graph, random.Random(seed), steps
        self.complete = True
        """False if a search for what is left was given up, so that there may be more samples than were drawn."""
        # As of each node's last use: the same file gives the same samples next year.
        weights = {id: node.usability() for id, node in graph.nodes.items() if node.kind is NodeKind.CALLABLE}
        self._nodes = {id: weight for id, weight in sorted(weights.items()) if weight > 0}
        self._weights = self._edge_weights()
        self._steps = self._ways()
        self._every = _Urn(self._nodes)
        self._begins = _Urn({id: weight for id, weight in self._nodes.items() if id in self._steps})
        self._gifts: dict[tuple[str, str], list[EdgeKey]] = {}
        for key in self._weights:
            if key.kind in RESOURCES and key.resource:
                self._gifts.setdefault((key.source, key.target), []).append(key)

    def draw(self, shape: Shape, sizes: Sequence[int]) -> Iterator[Trace]:
        """Yield different samples, each of a size drawn from `sizes`, until there are no more.

        What is likely comes first: nodes are drawn by their usability, edges by their weight, those of no weight never.

        Raises:
            UsageError: a size is not 1 to 5.
        """
        if not sizes or min(sizes) < SIZES[0] or max(sizes) > SIZES[1]:
            raise UsageError(f"samples of {', '.join(map(str, sizes)) or 'no'} callables", hint="from 1 to 5")
        sources = {size: self._different(shape, size) for size in sorted(set(sizes))}
        while sources:
            size = self._random.choice(list(sources))
            sample = next(sources[size], None)
            if sample is None:
                del sources[size]
            else:
                yield sample

    def _different(self, shape: Shape, size: int) -> Iterator[Trace]:
        """Different samples of one size: drawn at random, and when that finds nothing new, whatever else there is."""
        seen: set[Hashable] = set()

        def is_new(names: Collection[str]) -> bool:
            key: Hashable = tuple(names) if shape is Shape.CHAIN else frozenset(names)
            if len(names) != size or key in seen:
                return False
            seen.add(key)
            return True

        misses = 0
        while misses < MISSES and self._nodes:
            names, wiring = self._drawn(shape, size)
            misses += 1
            if is_new(names):
                misses = 0
                yield self._sample(shape, names, wiring)
        yield from (self._sample(shape, names, wiring) for names, wiring in self._all(shape, size) if is_new(names))

    def _drawn(self, shape: Shape, size: int) -> Draw:
        if shape is Shape.DAG:
            return self._grown(size)
        return (self._some(size) if shape is Shape.NODE else self._walk(size)), frozenset()

    def _all(self, shape: Shape, size: int) -> Iterator[Draw]:
        """All that can be drawn of a size in some order, as far as the steps go; one may come several times."""
        found: Iterator[Draw]
        if shape is Shape.DAG:
            found = self._wirings(size)
        else:
            sets = itertools.combinations(self._shuffled(self._nodes), size)
            found = ((names, frozenset()) for names in (sets if shape is Shape.NODE else self._lines(size)))
        yield from itertools.islice(found, self._most)
        self.complete = self.complete and next(found, None) is None

    def _sample(self, shape: Shape, names: Collection[str], wiring: Wiring) -> Trace:
        if shape is Shape.NODE:
            return self._trace(sorted(names), {}, ordered=False)
        line, takes = self._sorted(names, wiring) if shape is Shape.DAG else ([*names], self._wired([*names]))
        return self._trace(line, takes, ordered=True)

    # Nodes.

    def _some(self, size: int) -> Sequence[str]:
        left = dict(self._nodes)
        return [self._taken(left) for _ in range(size)] if size <= len(left) else ()

    def _taken(self, left: dict[str, float]) -> str:
        chosen = self._chosen(left)
        del left[chosen]
        return chosen

    # Chains.

    def _walk(self, size: int) -> Sequence[str]:
        starts = self._every if size == 1 else self._begins
        if not starts.items:
            return ()
        line = [self._from(starts)]
        while len(line) < size:
            ways = {step.target: step.weight for step in self._steps.get(line[-1], ()) if step.target not in line}
            if not ways:
                return ()
            line.append(self._chosen(ways))
        return line

    def _lines(self, size: int) -> Iterator[Sequence[str]]:
        """All ways of a size through the graph, and what is no way: each step counts."""
        begun: list[tuple[str, ...]] = [(id,) for id in self._shuffled(self._nodes)]
        while begun:
            line = begun.pop()
            if len(line) == size:
                yield line
                continue
            yield ()
            ways = [step.target for step in self._steps.get(line[-1], ()) if step.target not in line]
            begun += [(*line, target) for target in self._shuffled(ways)]

    def _wired(self, line: Sequence[str]) -> dict[str, dict[str, str]]:
        """The calls from which each call of a line takes something, by the name of the resource."""
        takes: dict[str, dict[str, str]] = {}
        for place, target in enumerate(line):
            edges = [key for source in line[:place] for key in self._gifts.get((source, target), ())]
            for key in sorted(edges, key=self._rank):
                takes.setdefault(target, {}).setdefault(key.resource, key.source)
        return takes

    # DAGs.

    def _grown(self, size: int) -> Draw:
        nodes = frozenset((self._from(self._every),))
        wiring: Wiring = frozenset()
        while len(nodes) < size:
            edges = {key: self._weights[key] for key in self._next_edges(nodes, wiring)}
            if not edges:
                return nodes, wiring
            key = self._chosen(edges)
            nodes, wiring = nodes | {key.source, key.target}, wiring | {key}
        return nodes, wiring

    def _next_edges(self, nodes: frozenset[str], wiring: Wiring) -> Iterator[EdgeKey]:
        """The resource edges by which another callable can be joined: each resource is taken from one callable."""
        taken = {(key.target, key.resource) for key in wiring}
        for id in sorted(nodes):
            for key, _ in (*self._graph.outgoing(id, *RESOURCES), *self._graph.incoming(id, *RESOURCES)):
                joins = (key.source in nodes) != (key.target in nodes)
                if joins and key in self._weights and key.resource and (key.target, key.resource) not in taken:
                    yield key

    def _wirings(self, size: int) -> Iterator[Draw]:
        begun: list[tuple[frozenset[str], Wiring]] = [(frozenset((id,)), frozenset()) for id in self._nodes]
        seen: set[Wiring] = set()
        self._random.shuffle(begun)
        while begun:
            nodes, wiring = begun.pop()
            yield nodes, wiring
            if len(nodes) < size:
                for key in self._shuffled(self._next_edges(nodes, wiring)):
                    more = wiring | {key}
                    if more not in seen:
                        seen.add(more)
                        begun.append((nodes | {key.source, key.target}, more))

    def _sorted(self, nodes: Collection[str], wiring: Wiring) -> tuple[list[str], dict[str, dict[str, str]]]:
        """The callables of a DAG, each behind those whose results it takes, and what it takes from whom."""
        takes: dict[str, dict[str, str]] = {id: {} for id in nodes}
        for key in wiring:
            takes[key.target][key.resource] = key.source
        more = (key for source in nodes for target in nodes for key in self._gifts.get((source, target), ()))
        for key in sorted(more, key=self._rank):
            if key.resource not in takes[key.target] and not _needs(key.source, key.target, takes):
                takes[key.target][key.resource] = key.source
        line: list[str] = []
        while len(line) < len(nodes):
            line.append(min(id for id in nodes if id not in line and set(takes[id].values()) <= set(line)))
        return line, takes

    # Edges and weights.

    def _edge_weights(self) -> dict[EdgeKey, float]:
        """The weights of edges between callables, without those of no weight."""
        weight = self._graph.weighing()
        found = {
            key: weight(key)
            for key in sorted(self._graph.edges)
            if key.kind in (EdgeKind.NEXT, *RESOURCES)
            and key.source != key.target
            and {key.source, key.target} <= self._nodes.keys()
        }
        return {key: weight for key, weight in found.items() if weight > 0}

    def _ways(self) -> dict[str, list[Step]]:
        """From each callable the callables that may come right after it; of several edges the heaviest counts."""
        found: dict[str, dict[str, float]] = {}
        for key, weight in self._weights.items():
            ways = found.setdefault(key.source, {})
            ways[key.target] = max(weight, ways.get(key.target, 0.0))
        return {id: [Step(*way) for way in sorted(ways.items())] for id, ways in found.items()}

    def _rank(self, key: EdgeKey) -> tuple[object, ...]:
        """The order of edges: what only the source gives, then by weight, then by name."""
        return key.kind is not EdgeKind.RESOURCE, -self._weights[key], key

    # Chance, and what comes out.

    def _chosen(self, weights: Mapping[T, float]) -> T:
        return self._from(_Urn(weights))

    def _from(self, urn: _Urn[T]) -> T:
        return self._random.choices(urn.items, cum_weights=urn.sums)[0]

    def _shuffled(self, items: Iterable[T]) -> list[T]:
        listed = list(items)
        self._random.shuffle(listed)
        return listed

    def _trace(self, line: Sequence[str], takes: Mapping[str, Mapping[str, str]], *, ordered: bool) -> Trace:
        places = {name: place for place, name in enumerate(line)}
        calls = []
        for name in line:
            taken = {resource: places[source] for resource, source in sorted(takes.get(name, {}).items())}
            calls.append(TracedCall(name, takes=taken))
        text = repr([(call.name, dict(call.takes)) for call in calls])
        id = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        return Trace(f"sample-{id}", tuple(calls), origin=SAMPLES, ordered=ordered)


def _needs(one: str, other: str, takes: Mapping[str, Mapping[str, str]]) -> bool:
    """True if a callable takes what another one gives, directly or by way of others, or is that one."""
    return one == other or any(_needs(source, other, takes) for source in takes[one].values())
