"""The time that ranking a search takes, with a tool graph of 50,000 callables and the episodes that taught it.

    python benchmarks/ranking_speed.py [--nodes 50000] [--episodes 2000] [--calls 6] [--json]

The graph is made up: each episode calls some of 50,000 callables, the often used ones most, so that hubs have edges to
thousands. Hits, requests and calls so far are drawn as well. Printed are the times in which the ranker adds to 100 hits
what episodes bring and orders them, before the first call of an episode and after some, and what reading the graph and
making the ranker take once: by the clock, and of the processor, which a busy machine changes less.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from codenav.core.blocks import BlockKind, CodeBlock, Hit
from codenav.core.traces import Trace, TracedCall
from codenav.toolgraph.beside import usual_ranker
from codenav.toolgraph.folders import GraphFolder
from codenav.toolgraph.graph import NodeKind
from codenav.toolgraph.ranker import GraphRanker

HITS, SEARCHES = 100, 300
WORDS = [
    "order",
    "list",
    "customer",
    "table",
    "column",
    "graph",
    "node",
    "path",
    "shortest",
    "mean",
    "plot",
    "file",
    "read",
    "write",
    "date",
    "tax",
    "city",
    "route",
]


def drawn(number: random.Random, nodes: int) -> str:
    """A callable, the first ones most often."""
    return f"pkg.module_{int(nodes * number.random() ** 3) % nodes}.call"


def trace(number: random.Random, id: int, nodes: int, calls: int) -> Trace:
    """An episode with a request of some words."""
    names = [drawn(number, nodes) for _ in range(calls)]
    request = " ".join(number.choices(WORDS, k=8)) + f" {id % 97}"
    return Trace(f"e{id}", tuple(map(TracedCall, names)), request, origin="episodes", ended=1.7e9)


def unloaded() -> CodeBlock:
    """No text of a hit may be loaded."""
    raise AssertionError("ranking loaded the text of a hit")


def hits(number: random.Random, nodes: int) -> list[Hit]:
    """Hits with falling scores."""
    places = number.sample(range(nodes), HITS)
    return [
        Hit(str(place), kind=BlockKind.FUNCTION, path="a.py", score=20.0 - at / 10, why="text", load=unloaded)
        for at, place in enumerate(places)
    ]


def ranked(ranker: GraphRanker, request: str, calls: Sequence[str], found: list[Hit]) -> list[Hit]:
    """The hits with those that episodes bring, in order."""
    brought = ranker.brings(request, request, calls, [hit.id for hit in found])
    return ranker.rank(request, request, calls, [*found, *(Hit(id, score=0, why="", load=unloaded) for id in brought)])


def spent(work: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds by the clock and of the processor."""
    begun, used = time.perf_counter(), time.process_time()
    work()
    return (time.perf_counter() - begun) * 1000, (time.process_time() - used) * 1000


def timed(rank: Callable[[int], object]) -> dict[str, float]:
    """Milliseconds of a call: the median, and what 95 of 100 stay under."""
    rank(0)
    clock, processor = zip(*(spent(lambda at=at: rank(at)) for at in range(1, SEARCHES + 1)), strict=True)
    return {
        "median": statistics.median(clock),
        "p95": statistics.quantiles(clock, n=20)[-1],
        "processor_median": statistics.median(processor),
        "processor_p95": statistics.quantiles(processor, n=20)[-1],
    }


def measured(nodes: int, episodes: int, calls: int) -> dict[str, Any]:
    """The times, in milliseconds."""
    number = random.Random(1)
    with tempfile.TemporaryDirectory() as place:
        folder = GraphFolder(Path(place))
        with folder.changing() as learnt:
            for at in range(nodes):
                learnt.graph.node(f"pkg.module_{at}.call", NodeKind.CALLABLE)
            for id in range(episodes):
                learnt.learn(trace(number, id, nodes, calls))
        read, read_processor = spent(folder.read)
        learnt = folder.read()
    names = {str(at): f"pkg.module_{at}.call" for at in range(nodes)}
    ranker = usual_ranker(learnt, names)
    pages = [hits(number, nodes) for _ in range(SEARCHES + 1)]
    requests = [trace(number, id, nodes, 1).request for id in range(SEARCHES + 1)]
    before = [[drawn(number, nodes) for _ in range(5)] for _ in range(SEARCHES + 1)]
    return {
        "nodes": len(learnt.graph.nodes),
        "edges": len(learnt.graph.edges),
        "episodes": len(learnt.traces),
        "read_ms": read,
        "read_processor_ms": read_processor,
        "first calls": timed(lambda at: ranked(ranker, requests[at], (), pages[at])),
        "after calls": timed(lambda at: ranked(ranker, requests[at], before[at], pages[at])),
    }


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=50_000)
    parser.add_argument("--episodes", type=int, default=2_000)
    parser.add_argument("--calls", type=int, default=6, help="calls of an episode")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measured(options.nodes, options.episodes, options.calls)
    if options.json:
        print(json.dumps(found, indent=2))
        return
    print(f"{found['nodes']} nodes, {found['edges']} edges, {found['episodes']} episodes")
    print(f"read in {found['read_ms']:.0f} ms, {found['read_processor_ms']:.0f} ms of the processor")
    for name in ("first calls", "after calls"):
        times = found[name]
        by_clock = f"median {times['median']:.2f} ms, p95 {times['p95']:.2f} ms"
        used = f"processor: median {times['processor_median']:.2f} ms, p95 {times['processor_p95']:.2f} ms"
        print(f"{name}, {HITS} hits: {by_clock}; {used}")


if __name__ == "__main__":
    main()
