"""Searches limited to what a tool graph recommends for a stage of work."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from codenav.core.blocks import BlockKind, CodeBlock, IndexStats, SearchResult
from codenav.core.errors import NotFound, UsageError
from codenav.core.options import near_one
from codenav.core.protocols import Index
from codenav.core.system.terminal_text import few
from codenav.retrieval.source_index import SourceIndex
from codenav.toolgraph import storage
from codenav.toolgraph.callables import CallableNames, links_of
from codenav.toolgraph.folders import GraphFolder
from codenav.toolgraph.graph import ToolGraph

FIRST = 4
"""The first search looks through this many times the hits that are wanted."""
NAMED = 20
"""Tools that are named in the description of the code base."""


@dataclass(frozen=True)
class GraphScope:
    """The part of a tool graph that a run may find: what is recommended for actions."""

    actions: str | Sequence[str]
    """The stages of work, by their names in the graph."""
    graph: str | Path | ToolGraph
    """A graph, or a file with one: written by hand (YAML, JSON), or by codenav."""
    threshold: float = 0.5
    """The least score of an edge that is followed, 0 to 1."""
    hops: int = 0
    """The steps along `next` edges, to the actions that follow."""

    def tools(self) -> list[str]:
        """The names of the recommended tools.

        Raises:
            NotFound: there is no such file, or no such action in the graph.
            UsageError: the file holds no graph, no tool is recommended, or the threshold is none.
            MissingExtra: as `storage.read`.
        """
        if not 0 <= self.threshold <= 1:
            raise UsageError(f"the threshold {self.threshold} is not from 0 to 1", hint="the default is 0.5")
        graph = self.graph if isinstance(self.graph, ToolGraph) else storage.read(Path(self.graph))
        actions = [self.actions] if isinstance(self.actions, str) else list(self.actions)
        known = [id for id in graph.nodes if graph.get_action(id)]
        for action in actions:
            if action not in known:
                raise NotFound(f"the graph has no action {action!r}", hint=near_one(action, known))
        tools, _ = graph.recommend_tools_actions(actions, self.threshold, self.hops)
        if not tools:
            raise UsageError(
                f"no tool is recommended within {', '.join(actions)}",
                hint="a lower --set graph.threshold, or more --set graph.hops",
            )
        return [tool.id for tool in tools]


class LimitedIndex:
    """An index of which only some blocks are found. Implements `protocols.Index`."""

    def __init__(self, index: Index, blocks: Collection[str]) -> None:
        """`blocks`: the ids of those that are found."""
        self._index = index
        self._blocks = frozenset(blocks)

    def search(self, query: str, *, kinds: Collection[BlockKind] | None = None, limit: int = 100) -> SearchResult:
        """Those of the matches that may be found, best first, with their number. See `protocols.Index.search`."""
        found = self._index.search(query, kinds=kinds, limit=max(100, FIRST * limit))
        if found.total > len(found.hits):
            found = self._index.search(query, kinds=kinds, limit=found.total)
        hits = [hit for hit in found.hits if hit.id in self._blocks]
        return replace(found, hits=hits[:limit], total=len(hits))

    def get(self, id: str) -> CodeBlock | None:
        """The block with that id, if it may be found."""
        return self._index.get(id) if id in self._blocks else None

    def blocks(self) -> Iterator[CodeBlock]:
        """Every block that may be found."""
        return (block for block in self._index.blocks() if block.id in self._blocks)

    def stats(self) -> IndexStats:
        """The statistics of the whole index."""
        return self._index.stats()

    def close(self) -> None:
        """Close the index."""
        self._index.close()


def limit_index(
    index: Index,
    indexes: Sequence[SourceIndex],
    tools: Sequence[str],
    *,
    tell: Callable[[str], None] = lambda text: None,
) -> LimitedIndex:
    """The part of an index that is of some tools. `tell` gets those that the sources do not have.

    A tool is what `CallableNames.meant` knows by its name, and what is inside of it: the methods of a class, the
    functions of a module.

    Raises:
        UsageError: the sources have none of the tools.
        IndexUnavailable: an index cannot be read.
    """
    found: dict[str, set[str]] = {tool: set() for tool in tools}
    for source in indexes:
        names = links_of(source, GraphFolder.of(source.source).path)
        known = CallableNames(names.values(), source)
        for tool in tools:
            meant = known.meant(tool)
            inside = tuple(f"{name}." for name in (tool, *meant))
            found[tool].update(id for id, name in names.items() if name in meant or name.startswith(inside))
    missing = [tool for tool in tools if not found[tool]]
    if len(missing) == len(tools):
        raise UsageError(
            f"the sources have none of the tools that are recommended: {', '.join(tools[:5])}",
            hint="tools have the names that code has: module.function, its end, or as it is imported",
        )
    if missing:
        tell(f"not in the sources, of the tools that are recommended: {', '.join(missing[:10])}")
    return LimitedIndex(index, {id for ids in found.values() for id in ids})


def limit_text(tools: Sequence[str]) -> str:
    """A sentence for the model, and for the record, on what searches find."""
    return f"Searches find only what is of use at this stage: {few(tools, NAMED)}."
