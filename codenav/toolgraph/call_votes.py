"""The votes of a tool graph for single callables, under names by which others know them: `protocols.CallVotes`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Protocol, runtime_checkable

from codenav.toolgraph.graph import NodeKind, ToolGraph
from codenav.toolgraph.relations import RESOURCES

TOOLS = "tools."
"""The package of the stubs of tools, which ids leave out."""
MOST = 1_000
"""The callables to call next that are asked for: those after them have hardly a vote."""


class Suggested(Protocol):
    """A callable to call next."""

    @property
    def name(self) -> str:
        """The id of its node."""
        ...

    @property
    def score(self) -> float:
        """The sum of its votes; 1 is as much as the best match for a request."""
        ...


@runtime_checkable
class Suggesting(Protocol):
    """A source of callables to call next: the ranker of a tool graph."""

    def next(self, request: str, calls: Sequence[str], *, limit: int) -> Sequence[Suggested]:
        """The callables to call next, best first. It may raise."""
        ...


class GraphVotes:
    """A `protocols.CallVotes` by the resource edges of a graph, and by what its ranker suggests to call next."""

    def __init__(self, graph: ToolGraph, ranker: Suggesting | None = None) -> None:
        """`ranker`: that of the same graph. Without it nothing is voted for to follow."""
        self._graph, self._ranker, self._weight = graph, ranker, graph.weighing()
        self._found: dict[str, str] = {}
        self._givers: dict[tuple[str, str], Mapping[str, float]] = {}
        self._asked: tuple[object, Mapping[str, float]] = (None, {})

    def follows(self, name: str, request: str, calls: Sequence[str]) -> float:
        """The votes for calling it next. See `protocols.CallVotes`."""
        asked = (request, tuple(calls))
        if self._asked[0] != asked:
            self._asked = asked, self._suggested(request, [known for call in calls if (known := self._id(call))])
        return self._asked[1].get(self._id(name), 0.0)

    def gives(self, name: str, target: str, parameter: str) -> float:
        """How often a parameter of `target` takes its result. See `protocols.CallVotes`."""
        taken = (self._id(target), parameter)
        if taken not in self._givers:
            self._givers[taken] = self._given(*taken)
        return self._givers[taken].get(self._id(name), 0.0)

    def _given(self, target: str, parameter: str) -> Mapping[str, float]:
        """The callables whose results a parameter takes, with how often it does."""
        found: dict[str, float] = {}
        for key, _ in self._graph.incoming(target, *RESOURCES) if target else ():
            if key.resource == parameter:
                found[key.source] = max(self._weight(key), found.get(key.source, 0.0))
        return found

    def _suggested(self, request: str, calls: Sequence[str]) -> Mapping[str, float]:
        if self._ranker is None:
            return {}
        try:
            return {one.name: one.score for one in self._ranker.next(request, calls, limit=MOST)}
        except Exception:
            # A request is never given up for want of votes.
            return {}

    def _id(self, name: str) -> str:
        """The id of the callable of that name, else of the only one that it can be; empty if there is none."""
        if name not in self._found:
            plain = name.removeprefix(TOOLS)
            node = self._graph.nodes.get(plain)
            known = node is not None and node.kind is NodeKind.CALLABLE
            self._found[name] = plain if known else self._likely(plain)
        return self._found[name]

    def _likely(self, name: str) -> str:
        """The only callable of that last name within the module, or of the last two names in the package."""
        module, _, own = name.rpartition(".")
        named = self._named.get((name.partition(".")[0], own), ())
        inside = [id for id in named if id.startswith(f"{module}.")]
        ends = [id for id in named if id.endswith(f".{module.rpartition('.')[2]}.{own}")]
        return next((found[0] for found in (inside, ends) if len(found) == 1), "")

    @cached_property
    def _named(self) -> Mapping[tuple[str, str], Sequence[str]]:
        """The ids of callables by package and last name."""
        found: dict[tuple[str, str], list[str]] = {}
        for id, node in self._graph.nodes.items():
            if node.kind is NodeKind.CALLABLE:
                found.setdefault((id.partition(".")[0], id.rpartition(".")[2]), []).append(id)
        return found
