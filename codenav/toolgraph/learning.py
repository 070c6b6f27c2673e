"""Learning from a trace, and forgetting it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise, permutations

from codenav.core.traces import Trace
from codenav.toolgraph.graph import GROUPS, ToolGraph, summed
from codenav.toolgraph.nodes import RESOURCES, EdgeKey, EdgeKind, Node

CODE, SPECS = "code", "specs"
"""Origins of what was read, not seen to happen; `code:KEY` is the code of another source than that of the graph."""
EPISODES = "episodes"
"""The origin of the traces of episodes."""
MOST_TOGETHER = 20
"""The most callables of a trace without order: each pair of them is an edge both ways, so that this is 380."""
_DAY = 86_400
_TICKS = 2**20
"""Seconds are counted in parts of 2**-20: sums of these are exact, so that what was added can be taken away."""


def learn(graph: ToolGraph, trace: Trace) -> bool:
    """Count a trace. Return False, and change nothing, if the graph has learnt it already.

    A verified trace counts a `next` edge for each pair of callables that worked one right after the other, and a
    resource edge for each result that went into a parameter. An edge is counted once a trace, however often the trace
    repeats it. The resource edges of a parameter are strong while one callable gives it, and weak from the second on.

    Each call is counted in its node, with its time. Of a trace that is not verified only this is left, and no success:
    a failure for each call that failed and one for each other callable in it, so that it only lowers weights.
    """
    key = _remembered(trace)
    if key in graph.learnt:
        return False
    if key:
        graph.learnt.add(key)
    _count(graph, trace, 1)
    return True


def learn_flow(graph: ToolGraph, giver: str, taker: str, parameter: str) -> None:
    """Count a resource edge that a specification states; nothing says that one is called right after the other."""
    if giver != taker:
        graph.node(giver)
        graph.node(taker)
        _count_edge(graph, EdgeKey(EdgeKind.WEAK_RESOURCE, giver, taker, parameter), 1, SPECS)


def learn_membership(graph: ToolGraph, member: Node, group: Node) -> None:
    """Count a member of a group, as a specification states it; nodes that are not there are added."""
    for node in (member, group):
        graph.nodes.setdefault(node.id, node)
    _count_edge(graph, EdgeKey(EdgeKind.MEMBER, member.id, group.id), 1, SPECS)


def forget(graph: ToolGraph, trace: Trace) -> bool:
    """Take a trace out again: the inverse of `learn`. A node of which nothing is known any more is removed.

    Return False, and change nothing, if it was never learnt, or if it cannot be what was learnt by its id: the graph
    has not counted as many calls.
    """
    key = _remembered(trace)
    if key:
        if key not in graph.learnt or not _has_counted(graph, trace):
            return False
        graph.learnt.discard(key)
    _count(graph, trace, -1)
    return True


def forget_origin(graph: ToolGraph, origin: str) -> None:
    """Take out what was read there, before it is read anew: counts of edges, and with `SPECS` checks of tools."""
    ends: set[str] = set()
    for node in graph.nodes.values() if origin == SPECS else ():
        if node.check != 1.0:
            node.check = 1.0
            ends.add(node.id)
    for key, edge in tuple(graph.edges.items()):
        count = edge.origins.get(origin, 0)
        if count:
            _count_edge(graph, key, -count, origin)
            ends |= {key.source, key.target}
    _remove_empty(graph, ends)


def was_read(origin: str) -> bool:
    """True for traces that were read, not seen to happen.

    They count no use of a callable, and have no id that a graph would remember: `forget_origin` takes them out.
    """
    return origin.partition(":")[0] in (CODE, SPECS)


def _remembered(trace: Trace) -> str:
    return "" if was_read(trace.origin) else f"{trace.origin}:{trace.id}"


def _count(graph: ToolGraph, trace: Trace, by: int) -> None:
    for name, use in _uses(trace).items():
        node = graph.node(name)
        node.calls += by * use.calls
        node.successes += by * use.successes
        node.seconds += by * use.seconds
        node.measured += by * use.measured
        for day in use.days:
            _used_on(node, day, by)
    if trace.verified:
        for key in dict.fromkeys((*_followed(trace), *_given(trace))):
            graph.node(key.source)
            graph.node(key.target)
            _count_edge(graph, key, by, trace.origin)
    if by < 0:
        _remove_empty(graph, {call.name for call in trace.calls})


def _uses(trace: Trace) -> dict[str, Node]:
    """The counts that a trace adds to the nodes of its calls."""
    found: dict[str, Node] = {}
    for call in () if was_read(trace.origin) else trace.calls:
        use = found.setdefault(call.name, Node(call.name))
        if trace.verified:
            use.calls += 1
            use.successes += call.ok
            if call.ok and trace.ended > 0:
                use.days = {str(int(trace.ended // _DAY)): 1}
            if call.ok and call.seconds is not None:
                use.seconds += round(call.seconds * _TICKS) / _TICKS
                use.measured += 1
        else:
            use.calls += not call.ok
    if not trace.verified:
        for name in {call.name for call in trace.calls if call.ok} & found.keys():
            found[name].calls += 1
    return found


def _has_counted(graph: ToolGraph, trace: Trace) -> bool:
    """False if there are fewer calls in the nodes than the trace has."""
    for name, use in _uses(trace).items():
        node = graph.nodes.get(name)
        if node is None or node.calls - use.calls < node.successes - use.successes:
            return False
        if node.successes < use.successes or node.measured < use.measured or node.seconds < use.seconds:
            return False
    return True


def _used_on(node: Node, day: str, by: int) -> None:
    node.days[day] = node.days.get(day, 0) + by
    if node.days[day] <= 0:
        del node.days[day]
    node.last_use = max(map(int, node.days), default=0) * float(_DAY)


def _followed(trace: Trace) -> Iterator[EdgeKey]:
    """The `next` edges of a trace."""
    names = [call.name for call in trace.calls if call.ok]
    pairs: Iterable[tuple[str, str]] = pairwise(names)
    if not trace.ordered:
        together = list(dict.fromkeys(names))
        pairs = permutations(together, 2) if len(together) <= MOST_TOGETHER else ()
    return (EdgeKey(EdgeKind.NEXT, one, other) for one, other in pairs if one != other)


def _given(trace: Trace) -> Iterator[EdgeKey]:
    """The resource edges of a trace."""
    for call in trace.calls:
        for parameter, place in call.takes.items():
            giver = trace.calls[place]
            if call.ok and giver.ok and giver.name != call.name:
                yield EdgeKey(EdgeKind.WEAK_RESOURCE, giver.name, call.name, parameter)


def _count_edge(graph: ToolGraph, key: EdgeKey, by: int, origin: str) -> None:
    """Count an edge; a resource edge in its kind of now, which may change that of the others."""
    alike = [key._replace(kind=kind) for kind in RESOURCES] if key.kind in RESOURCES else [key]
    found = [other for other in alike if other in graph.edges]
    if by < 0:
        found = [other for other in found if graph.edges[other].origins.get(origin, 0) >= -by]
        if not found:
            return
    # What is counted stands in one of the kinds only, beside it perhaps an edge that was made by hand.
    known = next((other for other in found if graph.edges[other].count), found[0] if found else key)
    graph.count(*known, origin=origin, by=by)
    if key.kind in RESOURCES and (not found or known not in graph.edges):
        settle(graph, key.target, key.resource)


def settle(graph: ToolGraph, target: str, resource: str) -> None:
    """Make the edges that give a callable a resource strong if there is one giver, and weak if there are several.

    Edges with a score, which were made by hand, stay as they are; their source is a giver like any other.
    """
    edges = [(key, edge) for key, edge in graph.incoming(target, *RESOURCES) if key.resource == resource]
    kind = EdgeKind.WEAK_RESOURCE if len({key.source for key, _ in edges}) > 1 else EdgeKind.RESOURCE
    for key, edge in edges:
        if key.kind is not kind and edge.score is None:
            graph.remove_edge(key)
            settled = graph.edge(*key._replace(kind=kind))
            settled.count += edge.count
            settled.origins = summed(settled.origins, edge.origins)


def settle_all(graph: ToolGraph) -> None:
    """Settle all resource edges, after graphs were merged."""
    for target, resource in dict.fromkeys((key.target, key.resource) for key in graph.edges if key.kind in RESOURCES):
        settle(graph, target, resource)


def _remove_empty(graph: ToolGraph, names: Iterable[str]) -> None:
    for name in names:
        node = graph.nodes.get(name)
        known = node is not None and node != Node(name) and node.kind not in GROUPS
        if node is not None and not known and not any((*graph.outgoing(name), *graph.incoming(name))):
            graph.remove_node(name)
