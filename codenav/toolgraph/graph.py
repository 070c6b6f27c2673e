"""The tool graph: actions, the tools that they call, groups of tools, and what is recommended for an action."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from codenav.core.errors import NotFound, UsageError
from codenav.toolgraph.nodes import Edge, EdgeKey, EdgeKind, Node, NodeKind, Relations

__all__ = ["Edge", "EdgeKey", "EdgeKind", "Node", "NodeKind", "ToolGraph"]

Scored = Mapping[str, float | None] | Iterable[tuple[str, float | None]]
"""Ids of nodes, each with the score of the edge from or to it; None for an edge without a score."""

GROUPS = (NodeKind.GROUP, NodeKind.CATEGORY)


class ToolGraph(Relations):
    """A directed graph of callables, what they belong to, and the actions that call them."""

    # Actions, tools, groups.

    def add_action(self, action: Node | str, next_actions: Scored = (), prev_actions: Scored = ()) -> Node:
        """Add an action, with scored edges to those that follow it and from those that come before it.

        Actions that are not in the graph are left out with a warning. An action that is there gets the new edges.

        Raises:
            UsageError: there is a node of that id that is no action, or a score is not from 0 to 1.
        """
        following, preceding = _pairs(next_actions), _pairs(prev_actions)
        made = self._added(action, NodeKind.ACTION)
        ends = [(made.id, other, score) for other, score in following]
        ends += [(other, made.id, score) for other, score in preceding]
        for source, target, score in ends:
            other = target if source == made.id else source
            if self.get_action(other) is None:
                warnings.warn(f"{made.id}: there is no action {other!r}", stacklevel=2)
            else:
                self.edge(EdgeKind.NEXT, source, target).score = score
        return made

    def add_tool(self, tool: Node | str, connected_actions: Scored) -> Node | None:
        """Add a callable with scored edges from the actions that call it.

        Actions that are not in the graph are left out with a warning. If none is left the tool is refused with a
        warning, and None is returned.

        Raises:
            UsageError: there is a node of that id that is no callable, or a score is not from 0 to 1.
        """
        id = tool if isinstance(tool, str) else tool.id
        known = []
        for action, score in _pairs(connected_actions):
            if self.get_action(action) is None:
                warnings.warn(f"{id}: there is no action {action!r}", stacklevel=2)
            else:
                known.append((action, score))
        if not known:
            warnings.warn(f"{id} is left out: no action that is known calls it", stacklevel=2)
            return None
        made = self._added(tool, NodeKind.CALLABLE)
        for action, score in known:
            self.edge(EdgeKind.CALL, action, made.id).score = score
        return made

    def add_group(self, group: Node | str, members: Iterable[Node | str] = ()) -> Node:
        """Add a group, or a category, and its members: groups or callables. What is not there is made a callable.

        Raises:
            UsageError: there is a node of that id that is neither group nor category; it would be a member of itself;
                a member is an action.
        """
        made = self._added(group, group.kind if isinstance(group, Node) and group.kind in GROUPS else NodeKind.GROUP)
        for member in members:
            id = member if isinstance(member, str) else member.id
            if id not in self.nodes or isinstance(member, Node):
                self._added(member, member.kind if isinstance(member, Node) else NodeKind.CALLABLE)
            if self.get_action(id) is not None:
                raise UsageError(f"{id} is an action, and no member of {made.id}")
            if id == made.id or made.id in self.members(id):
                raise UsageError(f"{made.id} would be a member of itself, by way of {id}")
            self.edge(EdgeKind.MEMBER, id, made.id)
        return made

    def members(self, group: str) -> set[str]:
        """The ids of all that belongs to a group or a category, through other groups, too."""
        found: set[str] = set()
        looked = [group]
        while looked:
            new = {key.source for key, _ in self.incoming(looked.pop(), EdgeKind.MEMBER)} - found
            found |= new
            looked += new
        return found - {group}

    def get_action(self, id: str) -> Node | None:
        """The action with that id, or None."""
        return self._of_kind(id, NodeKind.ACTION)

    def get_tool(self, id: str) -> Node | None:
        """The callable with that id, or None."""
        return self._of_kind(id, NodeKind.CALLABLE)

    def get_score(self, source: str, target: str) -> float:
        """The score of the `next` or `call` edge between two nodes; 1.0 if it has none, or if there is no such edge."""
        for kind in (EdgeKind.NEXT, EdgeKind.CALL):
            edge = self.edges.get(EdgeKey(kind, source, target))
            if edge is not None and edge.score is not None:
                return edge.score
        return 1.0

    def set_score(self, source: str, target: str, score: float | None) -> None:
        """Set the score of the `next` or `call` edge between two nodes; None takes it away.

        Raises:
            NotFound: there is no such edge.
            UsageError: the score is not from 0 to 1.
        """
        _checked(score)
        for kind in (EdgeKind.NEXT, EdgeKind.CALL):
            edge = self.edges.get(EdgeKey(kind, source, target))
            if edge is not None:
                edge.score = score
                return
        raise NotFound(f"no edge leads from {source!r} to {target!r}")

    def remove_action(self, id: str) -> None:
        """Remove an action, if it is there, with the tools that only it called.

        A tool that was also learnt, so that calls or other edges of it were counted, is known without the action and
        stays.
        """
        if self.get_action(id) is None:
            return
        tools = [key.target for key, _ in self.outgoing(id, EdgeKind.CALL)]
        self.remove_node(id)
        for tool in tools:
            if not any(self.incoming(tool, EdgeKind.CALL)) and not self._learnt(tool):
                self.remove_node(tool)

    def remove_tool(self, id: str) -> None:
        """Remove a callable with its edges, if it is there."""
        if self.get_tool(id) is not None:
            self.remove_node(id)

    def _added(self, given: Node | str, kind: NodeKind) -> Node:
        """The node in the graph for a node or an id. One that is there gets a new description and score, if given."""
        id = given if isinstance(given, str) else given.id
        found = self.nodes.get(id)
        if found is not None and found.kind is not kind:
            raise UsageError(f"{id} is there as {found.kind.value}, so it cannot be added as {kind.value}")
        if isinstance(given, str):
            return self.node(id, kind)
        _checked(given.score)
        if found is None:
            found = self.nodes[id] = replace(given, kind=kind)
        found.description = given.description or found.description
        found.score = found.score if given.score is None else given.score
        return found

    def _of_kind(self, id: str, kind: NodeKind) -> Node | None:
        found = self.nodes.get(id)
        return found if found is not None and found.kind is kind else None

    def _learnt(self, id: str) -> bool:
        edges = (*self.outgoing(id), *self.incoming(id))
        return bool(self.nodes[id].calls or any(edge.count for _, edge in edges))

    # Whole graphs.

    def copy(self) -> ToolGraph:
        """A graph of its own with the same content."""
        found = self.subgraph(self.nodes)
        found.learnt = set(self.learnt)
        return found

    def subgraph(self, ids: Iterable[str]) -> ToolGraph:
        """A graph of its own of these nodes, as far as they are there, with the edges between them."""
        found = ToolGraph()
        for id in ids:
            if id in self.nodes:
                found.nodes[id] = self.nodes[id].copy()
        for id in found.nodes:
            for key, edge in self.outgoing(id):
                if key.target in found.nodes:
                    found.put(key, edge.copy())
        return found

    def update(self, other: ToolGraph) -> None:
        """Take over what another graph has and this one has not: nodes, edges, descriptions, scores of nodes.

        Nothing is doubled: edges that are there stay as they are, and so do counts. See `merge` to add counts up. As
        a part of the counts is not taken over, neither is the list of what they rest on (`learnt`).

        Raises:
            UsageError: a node is of one kind here and of another there. Nothing is changed then.
        """
        self._same_kinds(other)
        for id, node in other.nodes.items():
            mine = self.nodes.get(id)
            if mine is None:
                self.nodes[id] = node.copy()
            else:
                mine.description = node.description or mine.description
                mine.score = mine.score if node.score is None else node.score
        for key, edge in other.edges.items():
            if key not in self.edges:
                self.put(key, edge.copy())

    def merge(self, other: ToolGraph) -> None:
        """Add what another graph has learnt from other traces: counts add up, and no node or edge is doubled.

        The order of merges does not matter. Where two differ in what is no count, the larger score, the longer
        description, the later use and the lower weight of a check are kept. What both have learnt (`learnt`) counts
        twice: let one of them forget it first (`learning.forget`).

        Raises:
            UsageError: a node is of one kind here and of another there. Nothing is changed then.
        """
        self._same_kinds(other)
        for id, node in other.nodes.items():
            mine = self.nodes.get(id)
            self.nodes[id] = node.copy() if mine is None else _merged(mine, node)
        for key, edge in other.edges.items():
            there = self.edges.get(key)
            if there is None:
                self.put(key, edge.copy())
                continue
            there.score = _larger(there.score, edge.score)
            there.count += edge.count
            there.origins = summed(there.origins, edge.origins)
        self.learnt |= other.learnt

    def _same_kinds(self, other: ToolGraph) -> None:
        for id, node in other.nodes.items():
            mine = self.nodes.get(id)
            if mine is not None and mine.kind is not node.kind:
                raise UsageError(f"{id} is {mine.kind.value} in one graph and {node.kind.value} in the other")

    # Recommendations.

    def recommend(self, actions: Iterable[str], threshold: float = 0.5, hops: int = 0) -> ToolGraph:
        """The actions and tools for a stage of work, as a graph of its own without edges below the threshold.

        From the given actions as far as they are known, a breadth-first walk over `next` edges to actions with a score
        of at least `threshold`, `hops` steps far; then the tools over `call` edges of at least that score. An edge
        without a score has 1.0; counts play no part.

        Raises:
            UsageError: `hops` is negative.
        """
        if hops < 0:
            raise UsageError(f"{hops} hops", hint="0 or more")
        kept = dict.fromkeys(id for id in actions if self.get_action(id) is not None)
        edge_of = list(kept)
        while hops and edge_of:
            hops -= 1
            found = (key.target for id in edge_of for key in self._strong(id, EdgeKind.NEXT, threshold))
            edge_of = [id for id in dict.fromkeys(found) if id not in kept and self.get_action(id) is not None]
            kept |= dict.fromkeys(edge_of)
        for id in tuple(kept):
            kept |= dict.fromkeys(key.target for key in self._strong(id, EdgeKind.CALL, threshold))
        chosen = self.subgraph(kept)
        for key, edge in tuple(chosen.edges.items()):
            if not _reaches(edge, threshold):
                chosen.remove_edge(key)
        return chosen

    def recommend_tools_actions(
        self, actions: Iterable[str], threshold: float = 0.5, hops: int = 0
    ) -> tuple[list[Node], list[Node]]:
        """The tools and the actions of `recommend`."""
        nodes = self.recommend(actions, threshold, hops).nodes.values()
        return (
            [node for node in nodes if node.kind is NodeKind.CALLABLE],
            [node for node in nodes if node.kind is NodeKind.ACTION],
        )

    def _strong(self, id: str, kind: EdgeKind, threshold: float) -> Iterator[EdgeKey]:
        return (key for key, edge in self.outgoing(id, kind) if _reaches(edge, threshold))


def _reaches(edge: Edge, threshold: float) -> bool:
    return (1.0 if edge.score is None else edge.score) >= threshold


def _pairs(scored: Scored) -> list[tuple[str, float | None]]:
    pairs = list(scored.items() if isinstance(scored, Mapping) else scored)
    for _, score in pairs:
        _checked(score)
    return pairs


def _checked(score: float | None) -> None:
    if score is not None and not 0 <= score <= 1:
        raise UsageError(f"a score of {score:g}", hint="scores are from 0 to 1")


def _larger(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else max(one, other)


def _merged(one: Node, other: Node) -> Node:
    descriptions = (one.description, other.description)
    return Node(
        one.id,
        one.kind,
        description=max(descriptions, key=lambda text: (len(text), text)),
        score=_larger(one.score, other.score),
        calls=one.calls + other.calls,
        successes=one.successes + other.successes,
        seconds=one.seconds + other.seconds,
        measured=one.measured + other.measured,
        last_use=max(one.last_use, other.last_use),
        check=min(one.check, other.check),
        days=summed(one.days, other.days),
    )


def summed(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """The counts of both by name."""
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}
