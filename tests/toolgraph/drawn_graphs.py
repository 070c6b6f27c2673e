"""Tool graphs that hypothesis draws."""

from __future__ import annotations

from hypothesis import strategies as st

from codenav.toolgraph.graph import Edge, EdgeKey, EdgeKind, Node, NodeKind, ToolGraph

KIND_OF = {"c": NodeKind.CALLABLE, "a": NodeKind.ACTION, "g": NodeKind.GROUP, "k": NodeKind.CATEGORY}
"""The kind of a node by the first letter of its id, so that all graphs agree on it."""
IDS = [f"{letter}{number}" for letter in KIND_OF for number in range(4 if letter in "ca" else 2)]
ENDS = {
    EdgeKind.NEXT: [("c", "c"), ("a", "a")],
    EdgeKind.RESOURCE: [("c", "c")],
    EdgeKind.WEAK_RESOURCE: [("c", "c")],
    EdgeKind.MEMBER: [("c", "g"), ("g", "k")],
    EdgeKind.CALL: [("a", "c")],
    EdgeKind.SUBSTITUTE: [("c", "c")],
}

scores = st.none() | st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
counts = st.integers(0, 5)


@st.composite
def nodes(draw: st.DrawFn, id: str) -> Node:
    calls = draw(counts)
    return Node(
        id,
        KIND_OF[id[0]],
        description=draw(st.sampled_from(["", "Lists.", "Sorts.", "Makes one.", 'A "quoted" ü\n</script>'])),
        score=draw(scores),
        calls=calls,
        successes=draw(st.integers(0, calls)),
        # Halves add up exactly, in any order.
        seconds=draw(counts) / 2,
        measured=draw(counts),
        last_use=draw(st.sampled_from([0.0, 1.5e9, 1.7e9])),
        check=draw(st.sampled_from([1.0, 0.5, 0.0])),
        days=draw(st.dictionaries(st.sampled_from(["20000", "20001"]), st.integers(1, 3))),
    )


@st.composite
def graphs(draw: st.DrawFn, *, of: str = "".join(KIND_OF), least: int = 0) -> ToolGraph:
    """A graph of some of the nodes `IDS`, with edges between the kinds that each relation joins; cycles among them.

    `of`: the first letters of its nodes. `least`: the least number of nodes, and of edges as far as there can be.
    """
    graph = ToolGraph()
    for id in draw(st.lists(st.sampled_from([id for id in IDS if id[0] in of]), unique=True, min_size=least)):
        graph.nodes[id] = draw(nodes(id))
    by_letter = {letter: [id for id in graph.nodes if id[0] == letter] for letter in KIND_OF}
    possible = [
        EdgeKey(kind, source, target, resource)
        for kind, ends in ENDS.items()
        for first, second in ends
        for source in by_letter[first]
        for target in by_letter[second]
        for resource in (("x", "y") if kind in (EdgeKind.RESOURCE, EdgeKind.WEAK_RESOURCE) else ("",))
    ]
    fewest = min(least, len(possible))
    for key in draw(st.lists(st.sampled_from(possible), unique=True, min_size=fewest, max_size=25)) if possible else ():
        origins = draw(st.dictionaries(st.sampled_from(["traces", "code"]), st.integers(1, 4)))
        graph.put(key, Edge(draw(scores), sum(origins.values()), origins))
    graph.learnt = draw(st.sets(st.sampled_from(["traces:1", "traces:2", "episodes:1"])))
    return graph
